//! The rows of `gen/N/ctl`: what ostler wrote to a child and what it decided.
//!
//! A session's state is the fold of `out` and `ctl`; nothing else may change it. So whatever happens outside the
//! child's own output (a write, a decision, a death, a deadline that passed) becomes a row here *before* it is acted
//! on, and folding the files again gives the same state.
//!
//! Rows are NDJSON: `{"at":1796053215000,"off":4096,"ev":{"kind":"done","write":3}}`. Kinds are only ever added;
//! a reader keeps an unknown kind as [`Event::Unknown`] and goes on.

use crate::ids::{ConversationId, DeliveryId, GenerationNo, Millis, TurnNo};
use crate::record::Declaration;
use serde::{Deserialize, Serialize};

/// One row of a `ctl` file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// When it was written.
    pub at: Millis,
    /// How many bytes of this generation's `out` the writer had consumed; never less than in the row before. The
    /// row is folded after every `out` line that ends at or before this offset.
    pub off: u64,
    /// What happened.
    pub ev: Event,
}

/// What a row says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Event {
    /// A generation is about to be started. Written before the fork.
    Spawn {
        /// Which generation.
        generation: GenerationNo,
        /// The delivery that it is started for.
        delivery: DeliveryId,
        /// The conversation that the child is started on.
        conversation: ConversationId,
        /// True for `--resume`, false for `--session-id`.
        resume: bool,
        /// What the conversation had cost before this process, as its transcript says; see [`Baseline`].
        baseline: Baseline,
        /// The version that the launcher reported when it was resolved.
        version: String,
    },
    /// The generation begins as a copy of another conversation; follows its [`Event::Spawn`], before the fork.
    Forks {
        /// The conversation that is copied.
        from: ConversationId,
        /// Tokens that its first request must find in the cache to count as a hit.
        expected_read: u64,
        /// A turn that misses is interrupted at once.
        #[serde(default, skip_serializing_if = "is_false")]
        interrupt: bool,
    },
    /// What a fork's first request found in the cache. The interrupt that may follow has a row of its own.
    Cache {
        /// What was found.
        seen: crate::rows::CacheSeen,
    },
    /// The child was started.
    Child {
        /// Its process id.
        pid: u32,
        /// Its start time in clock ticks since boot (Linux: field 22 of `/proc/<pid>/stat`).
        start: u64,
        /// The boot that both are valid in.
        boot: String,
    },
    /// A line is about to be written to the child. Without a later [`Event::Done`] of the same number nobody knows
    /// whether it arrived; writing it again is harmless.
    Begin {
        /// Number of the write in this generation, from 1.
        write: u64,
        /// What the line is.
        line: Line,
        /// Its length in bytes, newline included.
        len: u64,
        /// SHA-256 of those bytes, the first 16 bytes in hex.
        hash: String,
    },
    /// The whole line of that number is in the pipe.
    Done {
        /// The number in its [`Event::Begin`].
        write: u64,
    },
    /// A permission was decided; written before the answer's [`Event::Begin`].
    Decided {
        /// The child's request.
        request_id: String,
        /// Allow or deny.
        decision: Decision,
        /// Who: `rule <id>`, `policy`, `timeout`, `auto-continue`, `terminal`, `cli`, …
        by: String,
        /// What a denied child is told.
        message: Option<String>,
        /// JSON: what the tool gets instead of its own input, the answers to a question, what an elicitation asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<String>,
        /// An allow that the child is to remember: its own suggestions are sent back with it.
        #[serde(default, skip_serializing_if = "is_false")]
        always: bool,
        /// A deny that also ends the turn.
        #[serde(default, skip_serializing_if = "is_false")]
        interrupt: bool,
        /// A person had decided the same call of an earlier child, which died before it was told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        given: Option<Box<Given>>,
    },
    /// The child has asked something; this row says when. Written before anybody is told of the question.
    Asked {
        /// The child's request.
        request_id: String,
    },
    /// A question that ostler would have answered itself waits for a person: it has answered too many in this turn.
    Exhausted {
        /// The child's request.
        request_id: String,
    },
    /// A controller took over a running child.
    Adopted {
        /// Its process id.
        pid: u32,
        /// Its ostler version.
        version: String,
    },
    /// A deadline passed; the action that follows has its own row.
    Expired {
        /// Which.
        deadline: Deadline,
    },
    /// Teardown was decided: nothing but `end_session` is written to this child after it.
    Ending {
        /// Why.
        why: EndReason,
    },
    /// The child's tree is about to be killed.
    Kill {
        /// Why.
        why: KillReason,
    },
    /// The child is dead: its `alive` lock was free. Last row about the process of a generation.
    Dead {
        /// What is known of its exit.
        exit: Exit,
        /// True when the whole tree is proven gone.
        proven: bool,
        /// How many processes had to be killed, the child itself not counted.
        killed: u32,
        /// The end of what it said on stderr, at most 2 000 characters; only when it ended without a result.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<String>,
    },
    /// A turn began without a delivery of ours (a background task woke the model).
    TurnBegan {
        /// Which turn.
        turn: TurnNo,
    },
    /// A turn is over. The state that follows from it is in the store only after `out`, `ctl` and transcript are on
    /// disk.
    Settled {
        /// Which turn.
        turn: TurnNo,
        /// What background tasks were given up on: the flag *killed tasks*.
        gave_up_tasks: u32,
    },
    /// A delivery that no living child has was taken back: it is not offered again.
    Cancelled {
        /// Which.
        delivery: DeliveryId,
    },
    /// Nothing will be started or written until a person acts.
    Parked {
        /// The reason, for people.
        reason: String,
        /// The place of the newest delivery that whoever decided this knew of: a later one wakes the session, even one
        /// that was accepted while this row was being written. Older rows don't say it; there their time decides.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seen: Option<u64>,
    },
    /// The turn says nothing though it should; see the deadlines of that name. For people who look on.
    Slow {
        /// Since when, milliseconds of silence.
        silent: u64,
    },
    /// Somebody else wrote to the conversation since the last generation.
    Foreign {
        /// Bytes by which the transcript has grown; negative where it has shrunk.
        bytes: i64,
    },
    /// The agent said where its session stands.
    Declared {
        /// What it said.
        declaration: Declaration,
        /// In its own words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        /// The turn in which it said so.
        turn: TurnNo,
    },
    /// The session was closed, and its child is dead: whatever has no end is taken back.
    Closed,
    /// A remark for whoever reads the journal.
    Note {
        /// Free text.
        text: String,
    },
    /// A kind that this version doesn't know.
    #[serde(other)]
    Unknown,
}

/// What a written line is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Line {
    /// A delivery's `user` line.
    User {
        /// The delivery: also the line's uuid.
        delivery: DeliveryId,
    },
    /// A control request of ours.
    Request {
        /// Our id for it.
        request_id: String,
        /// `interrupt`, `end_session`, `initialize`, `cancel_async_message`, …
        subtype: String,
        /// The delivery it is about, where it is about one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        about: Option<DeliveryId>,
        /// Of an interrupt: what is queued is taken back as well.
        #[serde(default, skip_serializing_if = "is_false")]
        cancel_queued: bool,
    },
    /// The answer to a request of the child.
    Answer {
        /// The child's id for it.
        request_id: String,
    },
}

/// A question of an earlier child.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Given {
    /// The generation that asked.
    pub generation: GenerationNo,
    /// Its request.
    pub request_id: String,
}

/// What is said to a question, in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Allow or deny.
    pub decision: Decision,
    /// What a denied child is told.
    pub message: Option<String>,
    /// JSON, as in [`Event::Decided`].
    pub input: Option<String>,
    /// The child is to remember an allow.
    pub always: bool,
    /// A deny also ends the turn.
    pub interrupt: bool,
}

impl Reply {
    /// Yes, as it was asked.
    #[must_use]
    pub const fn allow() -> Self {
        Self { decision: Decision::Allow, message: None, input: None, always: false, interrupt: false }
    }

    /// No.
    #[must_use]
    pub const fn deny(message: Option<String>) -> Self {
        Self { decision: Decision::Deny, message, input: None, always: false, interrupt: false }
    }

    /// The row that records it.
    #[must_use]
    pub fn decided(self, request_id: String, by: String, given: Option<Given>) -> Event {
        let Self { decision, message, input, always, interrupt } = self;
        let given = given.map(Box::new);
        Event::Decided { request_id, decision, by, message, input, always, interrupt, given }
    }
}

/// Allow or deny.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The tool may run.
    Allow,
    /// It may not.
    Deny,
}

/// A deadline of the controller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deadline {
    /// From the first delivery written to any sign of life.
    Start,
    /// From a `task_notification` to the `system/init` of the turn that it wakes.
    Notification,
    /// A background shell outlived its limit.
    Shells,
    /// A background agent outlived its limit.
    Agents,
    /// A CLI that reports no state was quiet for long enough after a result.
    Quiet,
    /// An interrupt was not confirmed, or nothing came of it.
    Interrupt,
    /// A child at rest answered nothing and read nothing.
    Answer,
    /// The child did not leave after `end_session`.
    End,
    /// A write could not be finished.
    Write,
    /// The child owes a message and says nothing.
    Stalled,
    /// A compaction takes too long.
    Compaction,
    /// A delivery waited long enough behind a declared record.
    WakeWait,
}

/// Why a child is told to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// Its turn settled and no delivery is waiting.
    Settled,
    /// Somebody asked for it.
    Stop,
    /// The controller can't go on with it (disk full, spoiled pipe).
    Fault,
    /// A delivery wakes a session whose agent has declared, and waited long enough.
    Declared,
}

/// Why a tree is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KillReason {
    /// It had its time to leave.
    EndDeadline,
    /// No sign of life at start.
    StartDeadline,
    /// The interrupt was not confirmed.
    Deaf,
    /// A line was written in part: nothing more can be said through this pipe.
    SpoiledPipe,
    /// The child is gone; what it left behind is killed.
    Leftovers,
    /// The disk is full.
    DiskFull,
    /// It stalled, and did not react to an interrupt.
    Stalled,
}

/// What is known of a child's exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// It returned this status.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
    /// Its parent was gone before it; only the free `alive` lock tells.
    Unknown,
    /// It never ran.
    NotStarted,
}

/// What a conversation had cost before a process was started on it: the last `cost-state` row of its transcript.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// Dollars in total; 0 without a row.
    pub usd: f64,
    /// The same, per model.
    pub models: Vec<ModelBaseline>,
}

/// What a conversation had cost on one model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelBaseline {
    /// The model id, as the row spells it.
    pub model: String,
    /// Tokens so far.
    pub tokens: crate::rows::Tokens,
    /// Dollars so far.
    pub usd: f64,
}

/// For fields that are only written when they are set.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
const fn is_false(b: &bool) -> bool {
    !*b
}
