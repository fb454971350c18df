//! What a journal folds to: the records that the store keeps and can rebuild.

use crate::ctl::{Decision, Exit};
use crate::ids::{ConversationId, DeliveryId, GenerationNo, Millis, TurnNo};
use serde::{Deserialize, Serialize};

/// Everything that one session's journal says, as rows. Folding the same files again gives an equal value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Projection {
    /// One for each generation, in order.
    pub generations: Vec<Generation>,
    /// One for each turn, in order.
    pub turns: Vec<Turn>,
    /// One for each delivery that was ever written to a child, in the order of the first write.
    pub deliveries: Vec<Delivery>,
    /// One for each question of a child, in order.
    pub permissions: Vec<Permission>,
    /// One for each generation and model.
    pub spend: Vec<Spend>,
}

/// One child process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Generation {
    /// Its number.
    pub no: GenerationNo,
    /// The conversation it was started on.
    pub conversation: ConversationId,
    /// Started with `--resume`.
    pub resumed: bool,
    /// What `init` said it is, else what the launcher said.
    pub version: String,
    /// The model that its `init` announced.
    pub model: Option<String>,
    /// Who pays, as `init` says (`apiKeySource`).
    pub credential: Option<String>,
    /// When its start was decided.
    pub started_at: Millis,
    /// When it was found dead; None while it lives.
    pub ended_at: Option<Millis>,
    /// How it ended.
    pub exit: Option<Exit>,
    /// Lines of `out` that could not be read, a torn last one included.
    pub garbled: u32,
    /// Processes killed at teardown besides the child.
    pub killed: u32,
    /// The whole tree was proven gone.
    pub proven: bool,
    /// What its first request found in the cache, where it had to find something: a fork's first generation.
    pub cache: Option<CacheSeen>,
}

/// What a fork's first request found in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheSeen {
    /// Tokens that it was to find.
    pub expected: u64,
    /// Tokens that it read.
    pub read: u64,
    /// Tokens that it wrote.
    pub written: u64,
}

/// How a fork's first request compares with what it was to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheVerdict {
    /// All of it, or more.
    Hit,
    /// Half of it, or more.
    Partial,
    /// Less.
    Miss,
}

impl CacheVerdict {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Partial => "partial",
            Self::Miss => "miss",
        }
    }
}

impl CacheSeen {
    /// How it compares.
    #[must_use]
    pub const fn verdict(self) -> CacheVerdict {
        if self.read >= self.expected {
            CacheVerdict::Hit
        } else if self.read >= self.expected.div_ceil(2) {
            CacheVerdict::Partial
        } else {
            CacheVerdict::Miss
        }
    }
}

/// The last request of a conversation's main lane: what a fork of it can find in the cache.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastRequest {
    /// The model that answered.
    pub model: String,
    /// Its input; the output count is the child's placeholder.
    pub tokens: Tokens,
}

impl LastRequest {
    /// What a copy of the conversation reads when everything is still there: all that this request read or wrote.
    #[must_use]
    pub const fn expected_read(&self) -> u64 {
        let t = self.tokens;
        t.cache_read.saturating_add(t.cache_write_5m).saturating_add(t.cache_write_1h)
    }
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The model finished.
    Completed,
    /// Somebody interrupted it.
    Interrupted,
    /// It failed; [`Turn::failure`] says how.
    Failed,
    /// The child was gone before any result.
    Unfinished,
}

/// One turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// Its number.
    pub no: TurnNo,
    /// The generation it ran in.
    pub generation: GenerationNo,
    /// When its first line was written (or it began by itself).
    pub started_at: Millis,
    /// When it settled; None while it runs.
    pub settled_at: Option<Millis>,
    /// None while it runs.
    pub outcome: Option<Outcome>,
    /// For [`Outcome::Failed`]: `api_error`, `max_turns`, `max_budget`, `execution`, … For
    /// [`Outcome::Unfinished`]: `exit 1`, `signal 9`, `unknown`.
    pub failure: Option<String>,
    /// What the failing line said, for people.
    pub message: Option<String>,
    /// `result` lines seen.
    pub results: u32,
    /// The model's own count of its rounds, summed over the results.
    pub rounds: u32,
    /// Tool calls that were denied: a lower bound.
    pub denials: u32,
    /// Background tasks that were given up on or killed.
    pub killed_tasks: u32,
    /// The child ended uncleanly after its last result.
    pub unclean: bool,
    /// Something in its output could not be read.
    pub garbled: bool,
    /// Where its last main-lane answer stands: byte range of a `result` line in the generation's `out`, newline not
    /// included.
    pub answer: Option<(u64, u64)>,
}

/// How far a delivery has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// Stored; nothing was written yet.
    Accepted,
    /// In the child's pipe.
    Written,
    /// The child has it in its queue.
    Queued,
    /// The child works on it.
    Started,
    /// Answered. Final.
    Completed,
    /// Taken back before it ran, or its turn was interrupted. Final.
    Cancelled,
    /// Its turn failed. Final.
    Failed,
    /// The child threw it away at its end. Final.
    Discarded,
    /// It is in the transcript, but its turn was cut off by a crash. Final.
    Cut,
}

impl DeliveryState {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Written => "written",
            Self::Queued => "queued",
            Self::Started => "started",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
            Self::Discarded => "discarded",
            Self::Cut => "cut",
        }
    }

    /// Nothing more will happen to it.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Cancelled | Self::Failed | Self::Discarded | Self::Cut)
    }
}

/// What the journal knows of a delivery.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delivery {
    /// Which.
    pub id: DeliveryId,
    /// How far it has come.
    pub state: DeliveryState,
    /// The generation it was last written to.
    pub generation: GenerationNo,
    /// The turn it belongs to.
    pub turn: TurnNo,
    /// When it was first written.
    pub written_at: Millis,
    /// Where its answer stands: byte range of a `result` line in that generation's `out`.
    pub answer: Option<(u64, u64)>,
}

/// What a child asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionKind {
    /// May this tool run?
    Tool,
    /// AskUserQuestion.
    Question,
    /// ExitPlanMode.
    Plan,
    /// A hook's callback.
    Hook,
    /// An MCP server's question.
    Elicitation,
    /// Anything else: answered with an error at once.
    Other,
}

/// How far a permission has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionState {
    /// Waits for a decision.
    Open,
    /// Decided; the answer is not proven written.
    Decided,
    /// The answer was written.
    Answered,
    /// Can't be answered any more.
    Withdrawn,
}

/// One question of a child.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Permission {
    /// The generation that asks.
    pub generation: GenerationNo,
    /// The child's id for it.
    pub request_id: String,
    /// What kind of question.
    pub kind: PermissionKind,
    /// The tool, where it is about one.
    pub tool: Option<String>,
    /// The `tool_use_id`, where there is one.
    pub tool_use_id: Option<String>,
    /// Where the request stands: byte range of the `control_request` line in `out`.
    pub line: (u64, u64),
    /// How far it has come.
    pub state: PermissionState,
    /// What was decided.
    pub decision: Option<Decision>,
    /// By whom.
    pub decided_by: Option<String>,
    /// What a denied child is told.
    pub message: Option<String>,
    /// Why it was withdrawn.
    pub withdrawn: Option<String>,
    /// JSON that goes with an allow, as in [`crate::ctl::Event::Decided`].
    pub input: Option<String>,
    /// The child is to remember the allow.
    pub always: bool,
    /// The deny also ends the turn.
    pub interrupt: bool,
    /// When it was asked; None: it was just read, or an older version read it.
    pub asked_at: Option<Millis>,
    /// ostler has answered so many questions of this turn itself that this one waits for a person.
    pub exhausted: bool,
    /// Tool and input, as a hash: the first 16 bytes of their SHA-256 in hex. Two calls that have it in common are the
    /// same call asked again.
    pub call: Option<String>,
}

impl Permission {
    /// When it is denied if nobody answers: so many milliseconds after it was asked.
    #[must_use]
    pub fn deadline(&self, timeout: Option<u64>) -> Option<Millis> {
        let after = i64::try_from(timeout?).unwrap_or(i64::MAX);
        self.asked_at.map(|at| at.plus(after))
    }

    /// What was decided, in full.
    #[must_use]
    pub fn reply(&self) -> Option<crate::ctl::Reply> {
        let (message, input) = (self.message.clone(), self.input.clone());
        let (always, interrupt) = (self.always, self.interrupt);
        self.decision.map(|decision| crate::ctl::Reply { decision, message, input, always, interrupt })
    }
}

/// Tokens by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Uncached input.
    pub input: u64,
    /// Output, thinking included.
    pub output: u64,
    /// Read from the cache.
    pub cache_read: u64,
    /// Written to the cache for five minutes.
    pub cache_write_5m: u64,
    /// Written to the cache for an hour.
    pub cache_write_1h: u64,
}

impl Tokens {
    /// Both together.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write_5m: self.cache_write_5m.saturating_add(other.cache_write_5m),
            cache_write_1h: self.cache_write_1h.saturating_add(other.cache_write_1h),
        }
    }

    /// What is left of each class without `other`; never below 0.
    #[must_use]
    pub const fn less(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_sub(other.input),
            output: self.output.saturating_sub(other.output),
            cache_read: self.cache_read.saturating_sub(other.cache_read),
            cache_write_5m: self.cache_write_5m.saturating_sub(other.cache_write_5m),
            cache_write_1h: self.cache_write_1h.saturating_sub(other.cache_write_1h),
        }
    }

    /// At least as many of every class as `other` has.
    #[must_use]
    pub fn covers(self, other: Self) -> bool {
        other.less(self) == Self::default()
    }

    /// All classes together.
    #[must_use]
    pub const fn sum(self) -> u64 {
        let input = self.input.saturating_add(self.cache_read);
        let written = self.cache_write_5m.saturating_add(self.cache_write_1h);
        input.saturating_add(written).saturating_add(self.output)
    }
}

/// How a spend row was arrived at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpendMethod {
    /// The child's own total of a process that restored nothing.
    Reported,
    /// The child's total less what it restored.
    RestoredDifference,
    /// Partly from the usage on its messages: the child was gone before it could say, or left it out of its totals.
    Estimated,
    /// Tokens are known, the price is not.
    Unattributed,
}

/// What one generation spent on one model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spend {
    /// The generation.
    pub generation: GenerationNo,
    /// The model id as the child reports it.
    pub model: String,
    /// Its own tokens.
    pub tokens: Tokens,
    /// Its own dollars; None is unknown, never free. Of an estimate it is the part that the child reported: at least
    /// this much.
    pub usd: Option<f64>,
    /// How that is known.
    pub method: SpendMethod,
    /// Dollars on this model before the generation began.
    pub baseline_usd: f64,
}
