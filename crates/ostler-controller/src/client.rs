//! The one library interface under every face.
//!
//! Everything here works on the store, the journals and the control sockets of one home; no daemon is needed. A face
//! (the command line, later HTTP) owns an [`Ostler`] and nothing else of a session.

use ostler_core::content::Content;
use ostler_core::ids::{DeliveryId, GenerationNo, Millis, SessionId};
use ostler_core::machine::Mode;
use ostler_core::rows::{Outcome, Turn};
use ostler_store::{Cursor, Db, Durability, Follower, Home, Journal};
use std::path::Path;

mod answer;
mod base;
mod cancel;
mod close;
mod declare;
mod deliver;
mod ensure;
mod error;
mod fork;
mod gc;
mod halt;
mod inside;
mod parked;
mod permissions;
mod process;
mod rebuild;
mod rules;
mod survey;
mod talk;
mod wait;
pub mod worktree;

pub use base::{NewBase, Trained};
pub use declare::{Declarer, MAX_NOTE};
pub use deliver::MAX_KEY;
pub use ensure::Starter;
pub use error::ClientError;
pub use fork::{ForkError, NewFork, Source};
pub use gc::{Rubbish, RubbishKind};
pub use inside::Decider;
pub use permissions::{Choice, MAX_INPUT, Question, QuestionState, Verdict};
pub use process::Process;
pub use rebuild::fold_rows;
pub use rules::{Explained, NewRule, Where};

/// One home, seen by a face.
#[derive(Debug)]
pub struct Ostler {
    home: Home,
    db: Db,
    starter: Starter,
}

impl Ostler {
    /// Opens a home, and creates it where it is missing.
    ///
    /// # Errors
    /// As [`Home::open`]; the database can't be opened.
    pub fn open(home: &Path) -> Result<Self, ClientError> {
        let home = Home::open(home)?;
        let db = home.db(Durability::Full)?;
        Ok(Self { home, db, starter: Starter::current() })
    }

    /// The same, with keepers started in another way.
    #[must_use]
    pub fn with_starter(self, starter: Starter) -> Self {
        Self { starter, ..self }
    }

    /// The home.
    #[must_use]
    pub const fn home(&self) -> &Home {
        &self.home
    }

    /// The records.
    #[must_use]
    pub const fn db(&self) -> &Db {
        &self.db
    }

    /// A follower behind `cursor`.
    ///
    /// # Errors
    /// The cursor doesn't fit the journal.
    pub fn follow(&self, session: SessionId, cursor: Cursor) -> Result<Follower, ClientError> {
        let journal = Journal::open(&self.home.session(session));
        journal.read_from(cursor).map_err(|source| ClientError::Journal { session, source: Box::new(source) })
    }
}

/// What a session is created from.
#[derive(Clone, Debug)]
pub struct NewSession {
    /// Its id; chosen by the caller, so that it is known before anything happens.
    pub id: SessionId,
    /// A name for people; need not be unique.
    pub label: Option<String>,
    /// The whole launch spec.
    pub spec: ostler_core::spec::LaunchSpec,
    /// When.
    pub at: Millis,
}

/// A message to deliver.
#[derive(Clone, Debug)]
pub struct NewMessage {
    /// Its uuid, chosen by the caller.
    pub id: DeliveryId,
    /// What to say.
    pub content: Content,
    /// May it steer?
    pub mode: Mode,
    /// The sender's name for it: the same name again is the same delivery.
    pub idempotency_key: Option<String>,
    /// When.
    pub at: Millis,
}

/// What became of an interrupt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Interrupted {
    /// The child confirmed it; these deliveries were still queued and will run.
    Confirmed(Vec<String>),
    /// No turn was running.
    NothingRunning,
    /// The child refused it, or did not answer and was killed: why.
    Forced(String),
}

/// An interrupt, and what it took back besides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenOff {
    /// What became of the turn.
    pub how: Interrupted,
    /// Messages that were waiting and were taken back, because that was asked for.
    pub cancelled: Vec<DeliveryId>,
}

/// What became of a stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The child is dead.
    Ended {
        /// Processes that had to be killed besides it.
        killed: u32,
        /// The whole tree is proven gone.
        proven: bool,
    },
    /// There was no child.
    NothingRunning,
}

/// What became of a close.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    /// Its child.
    pub stopped: Stopped,
    /// Messages that were taken back.
    pub cancelled: u32,
    /// Its worktree, if ostler made one.
    pub tree: Option<Tree>,
    /// Everything of it is deleted.
    pub purged: bool,
}

/// What became of a worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tree {
    /// It is gone.
    Removed {
        /// Where it was.
        path: String,
        /// Its branch, if that stays for the commits that no other one has.
        branch: Option<String>,
    },
    /// It was to be left alone.
    Kept {
        /// Where it is.
        path: String,
    },
    /// Something was to be lost by it after all.
    Refused {
        /// Where it is.
        path: String,
        /// What would be lost.
        why: String,
    },
}

/// What became of a resume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resumed {
    /// False: it was not stopped.
    pub was_stopped: bool,
    /// Messages that were accepted before the stop and go on now.
    pub waiting: u32,
}

/// Why nothing was declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Undeclared {
    /// The token is not that of the session.
    Token,
    /// The process that says so belongs to a child that is gone.
    OtherGeneration,
    /// No turn is running.
    NoTurn,
    /// Only a subagent can have said it.
    Subagent,
    /// The session is stopped or closed.
    Halted,
    /// It could not be written down.
    Store,
}

impl Undeclared {
    /// For people.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Token => "the token is not the session's",
            Self::OtherGeneration => "the claude that says so is not the one that lives; it comes too late",
            Self::NoTurn => "no turn is running",
            Self::Subagent => "a subagent says so; only the main agent speaks for its session",
            Self::Halted => "the session is stopped or closed",
            Self::Store => "it could not be stored; try again",
        }
    }
}

/// What a wait came to.
#[derive(Clone, Debug, PartialEq)]
pub enum Waited {
    /// Nothing is owed any more; the turn that settled last, if there ever was one.
    Settled(Option<Turn>),
    /// The deadline passed first.
    StillRunning,
    /// Nothing can go on until a person acts: the reason.
    Parked(String),
    /// It is stopped, and so many messages wait for a resume.
    Stopped(u32),
}

/// What a session is doing right now.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Status {
    /// `cold`, `starting`, `resident`, `ending`: what the operating system has.
    pub process: String,
    /// The current or last generation; 0 before the first.
    pub generation: GenerationNo,
    /// The running turn.
    pub turn: Option<u32>,
    /// What it is doing: `thinking`, `tool Bash`, `permission`, `background`, …
    pub activity: Option<String>,
    /// Deliveries that are not final.
    pub waiting: u32,
    /// The child's pid, while there is one.
    pub pid: Option<u32>,
    /// Why nothing is started any more, if so.
    pub parked: Option<String>,
    /// That is so in the middle of a turn: its child does not die.
    #[serde(default)]
    pub stuck: bool,
}

/// Everything of one turn that a face prints at its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// How the turn ended; None: no turn ever settled.
    pub outcome: Option<Outcome>,
    /// The turn itself.
    pub turn: Option<Turn>,
    /// The last main-lane answer, as text.
    pub answer: Option<String>,
    /// Turns so far.
    pub turns: u32,
    /// Tokens of the whole session.
    pub tokens: ostler_core::rows::Tokens,
    /// Dollars of the whole session; None: some of it is not known.
    pub usd: Option<f64>,
    /// Dollars that this turn's generation spent itself; None: not known.
    pub turn_usd: Option<f64>,
    /// What a fork's first request found in the cache.
    pub cache: Option<ostler_core::rows::CacheSeen>,
}

/// What folding a session's journal again showed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Rebuilt {
    /// The session.
    pub session: SessionId,
    /// Tables whose rows differ from the fold; empty: equal.
    pub differs: Vec<String>,
}
