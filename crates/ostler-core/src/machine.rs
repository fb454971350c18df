//! The turn machine: what a session's conversation is doing, as a fold over its journal.
//!
//! # Theory of operation
//!
//! There are two halves, both pure.
//!
//! *Apply* folds what happened into state. What happened is either a line of the child's `out` ([`Machine::out`]) or
//! a row of `ctl` ([`Machine::row`]): a write of ours, a decision, a death, a deadline that passed. Folding the same
//! journal again gives the same [`Projection`]. Times that matter to the rows come from `ctl`; the arrival times of
//! `out` lines (`now`) are only used for deadlines.
//!
//! *Decide* ([`Machine::decide`]) looks at the state and at the [`World`] (the time, what is waiting in the store,
//! what people asked for) and names the next thing to do, or nothing. The controller does it: it writes the row that
//! says so, applies the row, acts, and asks again. So a decision is never taken twice, and a controller that is
//! killed between any two steps is continued by the next one from the same journal.
//!
//! | file | subject |
//! | --- | --- |
//! | `machine/child.rs` | what is known of the running child |
//! | `machine/out.rs` | a line of the child's is applied |
//! | `machine/ctl.rs` | a row of ours is applied |
//! | `machine/receipts.rs` | how far each delivery has come |
//! | `machine/cancel.rs` | deliveries that somebody wants back |
//! | `machine/tasks.rs` | background tasks and the turns they wake |
//! | `machine/tools.rs` | tool calls under way |
//! | `machine/permissions.rs` | the open set of questions |
//! | `machine/rulings.rs` | who decides them |
//! | `machine/outcome.rs` | what a result line means |
//! | `machine/meter.rs`, `spent.rs` | own spend = total − restored total |
//! | `machine/death.rs` | what a dead child leaves behind |
//! | `machine/settle.rs` | when a turn is over |
//! | `machine/poison.rs` | what must not be tried again by itself |
//! | `machine/watch.rs` | a child that owes a message and says nothing |
//! | `machine/cache.rs` | what a fork found in the cache; what its own forks can find |
//! | `machine/route.rs` | a delivery becomes a steer, a feed or a wake |
//! | `machine/decide.rs` | what to do next |

mod cache;
mod cancel;
mod child;
mod ctl;
mod death;
mod decide;
mod meter;
mod out;
mod outcome;
mod permissions;
mod poison;
mod receipts;
mod route;
mod rulings;
mod seen;
mod settle;
mod spent;
mod tasks;
mod tools;
mod watch;

use crate::ctl::{Given, Reply};
use crate::ids::{ConversationId, DeliveryId, GenerationNo, Millis, TurnNo};
use crate::limits::Limits;
use crate::record::Declaration;
use crate::rows::{LastRequest, Outcome, Projection};
use std::collections::{BTreeMap, BTreeSet};

pub use cancel::CancelStatus;
pub use child::{Activity, InterruptStatus};
pub use decide::{Action, Mode, Pending, Policy, Stored, Wish, World};
pub use out::Span;
pub use outcome::{Verdict, classify};
pub use rulings::{BY_AUTO_CONTINUE, BY_PIPE, BY_POLICY, BY_TIMEOUT, by_rule};
pub use watch::STALLED;

use child::Child;
use seen::Seen;

/// The kind of failure of a turn that the API refused for a while.
pub const RATE_LIMIT: &str = "rate_limit";
/// The kind of failure of a turn whose credential the API does not take.
pub const AUTHENTICATION: &str = "authentication";

/// The state of one session's conversation.
#[derive(Clone, Debug)]
pub struct Machine {
    limits: Limits,
    rows: Projection,
    conversation: ConversationId,
    child: Option<Child>,
    /// How many generations each unfinished delivery was offered to.
    attempts: BTreeMap<DeliveryId, u32>,
    /// How many generations were started for each.
    starts: BTreeMap<DeliveryId, u32>,
    seen: Seen,
    /// Why nothing is started any more, and since when.
    parked: Option<Parked>,
    /// Deliveries without an end that a dead child had begun with.
    begun: BTreeSet<DeliveryId>,
    /// Deliveries that somebody took back from a dead child.
    unwanted: BTreeSet<DeliveryId>,
    /// What speaks against trying again.
    refused: poison::Refused,
    /// What the agent declared, until a later turn begins.
    declared: Option<Declared>,
    /// The conversation that the CLI has already, though it was told to begin it.
    in_use: Option<ConversationId>,
    /// Questions whose answer may have been written, of this generation and the one before.
    told: BTreeSet<Given>,
    /// Questions whose decision served a later one, of the same.
    given: BTreeSet<Given>,
    /// The last request of the main lane.
    last_request: Option<LastRequest>,
    /// The tools of the last `init`, sorted.
    tools: Option<Vec<String>>,
}

/// What an agent said of its session, and in which turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// What it said.
    pub kind: Declaration,
    /// In its own words.
    pub note: Option<String>,
    /// In this turn.
    pub turn: TurnNo,
}

/// Why nothing can be declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undeclarable {
    /// The generation that wants to is not the one that lives.
    OtherGeneration,
    /// No turn is running.
    NoTurn,
    /// Only a subagent can have said it: the main agent calls nothing.
    Subagent,
}

/// Nothing is started any more by itself.
#[derive(Clone, Debug)]
struct Parked {
    reason: String,
    at: Millis,
    /// The newest delivery that was known then.
    seen: Option<u64>,
}

/// What a process of a session is, as far as its journal knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// No generation was ever started, or the last one is dead.
    Cold,
    /// Decided, not yet proven running.
    Starting,
    /// Running.
    Resident,
    /// Told to leave.
    Ending,
}

impl Phase {
    /// The word for it in listings.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Cold => "cold",
            Self::Starting => "starting",
            Self::Resident => "resident",
            Self::Ending => "ending",
        }
    }
}

impl Machine {
    /// A session that was never started.
    #[must_use]
    pub fn new(conversation: ConversationId, limits: Limits) -> Self {
        Self {
            limits,
            rows: Projection::default(),
            conversation,
            child: None,
            attempts: BTreeMap::new(),
            starts: BTreeMap::new(),
            begun: BTreeSet::new(),
            unwanted: BTreeSet::new(),
            seen: Seen::default(),
            parked: None,
            declared: None,
            in_use: None,
            last_request: None,
            tools: None,
            refused: poison::Refused::default(),
            told: BTreeSet::new(),
            given: BTreeSet::new(),
        }
    }

    /// Everything the journal says so far, as rows; spend of the running generation included.
    #[must_use]
    pub fn project(&self) -> Projection {
        let mut rows = self.rows.clone();
        if let Some(child) = &self.child {
            rows.spend.extend(child.meter.rows(child.no));
        }
        rows
    }

    /// The deadlines it was made with.
    #[must_use]
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The rows so far; spend of the running generation not included.
    #[must_use]
    pub const fn rows(&self) -> &Projection {
        &self.rows
    }

    /// The conversation that the next start is about.
    #[must_use]
    pub const fn conversation(&self) -> ConversationId {
        self.conversation
    }

    /// The CLI has that conversation, wherever its transcript is: it can only be resumed.
    #[must_use]
    pub fn is_in_use(&self) -> bool {
        self.in_use == Some(self.conversation)
    }

    /// The number of the last generation; 0 before the first.
    #[must_use]
    pub fn generation(&self) -> GenerationNo {
        self.rows.generations.last().map_or(0, |g| g.no)
    }

    /// How far this machine has consumed the current generation's `out`.
    #[must_use]
    pub fn consumed(&self) -> u64 {
        self.child.as_ref().map_or(0, |c| c.consumed)
    }

    /// Where the process stands.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.child.as_ref().map_or(Phase::Cold, |c| c.phase)
    }

    /// The running turn, if any.
    #[must_use]
    pub fn open_turn(&self) -> Option<TurnNo> {
        self.rows.turns.last().filter(|t| t.settled_at.is_none()).map(|t| t.no)
    }

    /// What the conversation is doing, for people.
    #[must_use]
    pub fn activity(&self) -> Option<Activity> {
        self.child.as_ref().and_then(|c| self.open_turn().map(|_| c.activity(self.has_open_permission())))
    }

    /// The reason why nothing is started any more, if so.
    #[must_use]
    pub fn parked(&self) -> Option<&str> {
        self.parked.as_ref().map(|p| p.reason.as_str())
    }

    /// What the agent has declared, unless a later turn has begun.
    #[must_use]
    pub const fn declared(&self) -> Option<&Declared> {
        self.declared.as_ref()
    }

    /// The turn that a process of this generation may declare something in.
    ///
    /// # Errors
    /// Why it may not.
    pub fn may_declare(&self, generation: GenerationNo) -> Result<TurnNo, Undeclarable> {
        let lives = |c: &&Child| c.no == generation && c.phase == Phase::Resident && !c.killing;
        let child = self.child.as_ref().filter(lives).ok_or(Undeclarable::OtherGeneration)?;
        let turn = self.open_turn().ok_or(Undeclarable::NoTurn)?;
        if child.tools.only_subagents() { Err(Undeclarable::Subagent) } else { Ok(turn) }
    }

    /// How the last settled turn ended.
    #[must_use]
    pub fn last_outcome(&self) -> Option<(Outcome, Option<String>)> {
        let turn = self.rows.turns.iter().rev().find(|t| t.settled_at.is_some())?;
        turn.outcome.map(|o| (o, turn.failure.clone()))
    }

    /// The current child has said something.
    #[must_use]
    pub fn has_spoken(&self) -> bool {
        self.child.as_ref().is_some_and(|c| c.observed.line)
    }

    /// The API has answered the current child with a message of the model.
    #[must_use]
    pub fn api_answers(&self) -> bool {
        self.child.as_ref().is_some_and(|c| c.observed.answer)
    }

    /// When the limit ends that the current child was told of, in seconds since 1970.
    #[must_use]
    pub fn limit_until(&self) -> Option<i64> {
        self.child.as_ref().and_then(|c| c.limit_until)
    }

    /// How the open turn would settle now.
    #[must_use]
    pub fn settles_as(&self) -> Option<Verdict> {
        let child = self.child.as_ref().filter(|_| self.open_turn().is_some())?;
        Some(self.verdict(child, child.phase == Phase::Cold))
    }

    /// The number that the next line written to the child must carry.
    #[must_use]
    pub fn next_write(&self) -> u64 {
        self.child.as_ref().map_or(1, |c| c.next_write)
    }

    /// What became of the interrupt with this request id.
    #[must_use]
    pub fn interrupt_status(&self, request_id: &str) -> InterruptStatus {
        self.child.as_ref().map_or(InterruptStatus::Gone, |c| c.interrupt_status(request_id))
    }

    /// The interrupt that was written to the child and that no result has followed yet.
    #[must_use]
    pub fn outstanding_interrupt(&self) -> Option<&str> {
        self.child.as_ref().and_then(|c| c.interrupt.as_ref()).map(|i| i.request_id.as_str())
    }

    /// What was decided about a question of the current child.
    #[must_use]
    pub fn decided(&self, request_id: &str) -> Option<Reply> {
        let no = self.child.as_ref()?.no;
        let rows = self.rows.permissions.iter().rev();
        rows.take_while(|p| p.generation == no).find(|p| p.request_id == request_id)?.reply()
    }

    /// The child's tree must be killed: it was decided, and it lives.
    #[must_use]
    pub fn killing(&self) -> bool {
        self.child.as_ref().is_some_and(|c| c.killing && c.phase != Phase::Cold)
    }

    fn has_open_permission(&self) -> bool {
        self.rows.permissions.iter().rev().any(|p| p.state == crate::rows::PermissionState::Open)
    }
}
