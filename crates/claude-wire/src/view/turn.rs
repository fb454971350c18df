//! What is said in a turn, and the receipts of what was delivered to it.

use super::Common;
use super::content::{Block, Content};
use super::usage::{Usage, UsageBody};
use crate::read::object;

/// `assistant`: one content block; several lines share one `message_id` (protocol page, "Turn anatomy").
#[derive(Clone, Debug, Default)]
pub struct Assistant {
    /// Ids. `parent_tool_use_id` is the lane.
    pub common: Common,
    /// The API message that the block belongs to. Not an identity: many lines have the same.
    pub message_id: Option<String>,
    /// The model that ran; see [`is_synthetic`](Self::is_synthetic).
    pub model: Option<String>,
    /// Its blocks.
    pub blocks: Vec<Block>,
    /// Cache and input tokens are right, output is a placeholder.
    pub usage: Option<Usage>,
    /// Null on most CLIs.
    pub stop_reason: Option<String>,
    /// Kind of an API error, e.g. `rate_limit`; the line then is not the model's.
    pub error: Option<String>,
    /// HTTP status of that error; newer CLIs only.
    pub api_error_status: Option<i64>,
    /// The user lines that it answers; the plural and the singular field, without doubles.
    pub user_message_uuids: Vec<String>,
    /// It was cut off by an interrupt.
    pub aborted: bool,
    /// Lines that it replaces.
    pub supersedes: Vec<String>,
    /// The subagent that speaks.
    pub agent_id: Option<String>,
    /// The kind of that agent.
    pub subagent_type: Option<String>,
    /// When, as the child says (RFC 3339).
    pub timestamp: Option<String>,
}

impl Assistant {
    /// The child wrote it itself, as it does to tell of an API error.
    #[must_use]
    pub fn is_synthetic(&self) -> bool {
        self.model.as_deref() == Some("<synthetic>")
    }
}

object! {
    pub(crate) struct AssistantBody {
        message: MessageBody = "message",
        content: Option<Content> = "content",
        top_stop_reason: Option<String> = "stop_reason",
        error: Option<String> = "error",
        api_error_status: Option<i64> = "api_error_status",
        user_message_uuid: Option<String> = "user_message_uuid",
        user_message_uuids: Vec<String> = "user_message_uuids",
        aborted: bool = "aborted",
        supersedes: Vec<String> = "supersedes",
        agent_id: Option<String> = "agent_id",
        subagent_type: Option<String> = "subagent_type",
        timestamp: Option<String> = "timestamp",
    }
    rest: common: Common;
    skip: ["request_id", "task_description", "context_usage", "usage_report", "resume_reason"];
}

object! {
    /// An API message.
    pub(crate) struct MessageBody {
        id: Option<String> = "id",
        role: Option<String> = "role",
        model: Option<String> = "model",
        content: Option<Content> = "content",
        stop_reason: Option<String> = "stop_reason",
        usage: Option<UsageBody> = "usage",
    }
    skip: ["type", "stop_sequence", "context_management", "container"];
}

impl MessageBody {
    /// What a partial message says at its start.
    pub(crate) fn start(self) -> (Option<String>, Option<String>, Option<Usage>) {
        (self.id, self.model, self.usage.map(Into::into))
    }
}

impl From<AssistantBody> for Assistant {
    fn from(body: AssistantBody) -> Self {
        let message = body.message;
        Self {
            common: body.common,
            message_id: message.id,
            model: message.model,
            blocks: message.content.or(body.content).unwrap_or_default().0,
            usage: message.usage.map(Into::into),
            stop_reason: message.stop_reason.or(body.top_stop_reason),
            error: body.error,
            api_error_status: body.api_error_status,
            user_message_uuids: merged(body.user_message_uuids, body.user_message_uuid),
            aborted: body.aborted,
            supersedes: body.supersedes,
            agent_id: body.agent_id,
            subagent_type: body.subagent_type,
            timestamp: body.timestamp,
        }
    }
}

/// Both spellings of the same thing: a list, and one of it.
pub(crate) fn merged(mut list: Vec<String>, one: Option<String>) -> Vec<String> {
    list.extend(one.filter(|one| !list.contains(one)));
    list
}

/// `user`. From the child: tool results, replays of what was sent, synthetic text; never a question to answer. To
/// the child: a prompt.
#[derive(Clone, Debug, Default)]
pub struct UserLine {
    /// Ids.
    pub common: Common,
    /// The child repeats a line that it was sent.
    pub is_replay: bool,
    /// The child wrote it itself.
    pub is_synthetic: bool,
    /// Its blocks.
    pub blocks: Vec<Block>,
    /// `now`, `next`, `later`.
    pub priority: Option<String>,
    /// Who wrote it, where the child says so: `human`, `task-notification`, …
    pub origin: Option<String>,
    /// The subagent whose tool result it is.
    pub agent_id: Option<String>,
    /// When, as the child says (RFC 3339).
    pub timestamp: Option<String>,
}

object! {
    pub(crate) struct UserBody {
        message: MessageBody = "message",
        content: Option<Content> = "content",
        is_replay: bool = "isReplay",
        is_synthetic: bool = "isSynthetic",
        priority: Option<String> = "priority",
        origin: Origin = "origin",
        agent_id: Option<String> = "agent_id",
        timestamp: Option<String> = "timestamp",
    }
    rest: common: Common;
    skip: ["tool_use_result", "tool_result_meta", "subagent_type", "task_description", "file_attachments"];
}

object! {
    /// Where a prompt came from.
    pub(crate) struct Origin {
        pub(crate) kind: Option<String> = "kind",
    }
    skip: ["producer", "runId", "subkind"];
}

impl From<UserBody> for UserLine {
    fn from(body: UserBody) -> Self {
        Self {
            common: body.common,
            is_replay: body.is_replay,
            is_synthetic: body.is_synthetic,
            blocks: body.message.content.or(body.content).unwrap_or_default().0,
            priority: body.priority,
            origin: body.origin.kind,
            agent_id: body.agent_id,
            timestamp: body.timestamp,
        }
    }
}

/// A line of a very old CLI: no `type` but a role, with the content at top level or under `message`; or a bare API
/// message (`type` is `message`). A `stop_reason` at top level ends a turn only where no `init` was ever seen.
#[derive(Clone, Debug, Default)]
pub struct Legacy {
    /// Ids.
    pub common: Common,
    /// `assistant` or `user`.
    pub role: String,
    /// The API message's id.
    pub message_id: Option<String>,
    /// The model that ran.
    pub model: Option<String>,
    /// Its blocks.
    pub blocks: Vec<Block>,
    /// At top level only.
    pub stop_reason: Option<String>,
    /// Tokens.
    pub usage: Option<Usage>,
}

object! {
    pub(crate) struct LegacyBody {
        message: MessageBody = "message",
        role: Option<String> = "role",
        id: Option<String> = "id",
        model: Option<String> = "model",
        content: Option<Content> = "content",
        stop_reason: Option<String> = "stop_reason",
        usage: Option<UsageBody> = "usage",
    }
    rest: common: Common;
    skip: ["type", "stop_sequence"];
}

impl From<LegacyBody> for Legacy {
    fn from(body: LegacyBody) -> Self {
        let message = body.message;
        Self {
            common: body.common,
            role: body.role.or(message.role).unwrap_or_default(),
            message_id: body.id.or(message.id),
            model: body.model.or(message.model),
            blocks: body.content.or(message.content).unwrap_or_default().0,
            stop_reason: body.stop_reason,
            usage: body.usage.or(message.usage).map(Into::into),
        }
    }
}

/// `command_lifecycle`: the receipt of a user line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lifecycle {
    /// Ids of this line itself.
    pub common: Common,
    /// The user line's `uuid`.
    pub command_uuid: String,
    /// How far it has come.
    pub state: LifecycleState,
}

/// How far a user line has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LifecycleState {
    /// Read, waits.
    Queued,
    /// Being worked on.
    Started,
    /// Its turn is over. Without `Started` before: the transcript already had it answered.
    Completed,
    /// Taken back, interrupted, or its turn failed.
    Cancelled,
    /// Thrown away at the child's end.
    Discarded,
    /// Not taken.
    Refused,
    /// A state that this version doesn't know.
    Other(String),
}

impl Default for LifecycleState {
    fn default() -> Self {
        Self::Other(String::new())
    }
}

impl LifecycleState {
    /// No other receipt follows for the line. A state we don't know is not final: then other signs decide.
    #[must_use]
    pub const fn is_final(&self) -> bool {
        matches!(self, Self::Completed | Self::Cancelled | Self::Discarded | Self::Refused)
    }
}

impl From<String> for LifecycleState {
    fn from(state: String) -> Self {
        match state.as_str() {
            "queued" => Self::Queued,
            "started" => Self::Started,
            "completed" => Self::Completed,
            "cancelled" => Self::Cancelled,
            "discarded" => Self::Discarded,
            "refused" => Self::Refused,
            _ => Self::Other(state),
        }
    }
}

object! {
    pub(crate) struct LifecycleBody {
        command_uuid: String = "command_uuid",
        state: String = "state",
    }
    rest: common: Common;
}

impl From<LifecycleBody> for Lifecycle {
    fn from(body: LifecycleBody) -> Self {
        Self { common: body.common, command_uuid: body.command_uuid, state: body.state.into() }
    }
}
