//! What a line says: one struct for each kind of message.
//!
//! Views own their strings. A field that is missing or of another type is `None` or its default; it never fails the
//! line. Field names follow the wire in snake case, shortened where the wire repeats itself.

mod content;
mod control;
mod process;
mod result;
mod stream;
mod task;
mod turn;
mod usage;

pub use content::{Block, TEXT_HEAD};
pub use control::{
    CanUseTool, ControlCancel, ControlRequest, ControlResponse, Elicitation, HookCallback, McpMessage,
    Request,
};
pub(crate) use control::{ControlRequestBody, ControlResponseBody};
pub use process::{
    ApiRetry, CompactBoundary, ConversationReset, Hook, HookPhase, Init, McpServer, PermissionDenied, Plugin,
    PluginInstall, RateLimit, SessionState, Status, WorkerShuttingDown, WritesLost,
};
pub(crate) use process::{CompactBoundaryBody, HookBody, RateLimitBody};
pub(crate) use result::ResultBody;
pub use result::{PermissionDenial, ResultLine, SubagentStats};
pub(crate) use stream::StreamEventBody;
pub use stream::{Event, StreamEvent};
pub(crate) use task::TaskUpdatedBody;
pub use task::{
    BackgroundTasks, Task, TaskNotification, TaskProgress, TaskStarted, TaskUpdated, TaskUsage, ToolProgress,
};
pub use turn::{Assistant, Legacy, Lifecycle, LifecycleState, UserLine};
pub(crate) use turn::{AssistantBody, LegacyBody, LifecycleBody, UserBody};
pub use usage::{ModelUsage, Usage, plain_model};

use crate::read::object;

object! {
    /// What nearly every line carries.
    #[derive(PartialEq, Eq)]
    pub struct Common {
        /// The line's own id. A line with an id that was there before says nothing new.
        pub uuid: Option<String> = "uuid",
        /// The conversation, as the child says. Lines before `init` may name another one; the id that was asked for
        /// is the truth (protocol page, "Turn anatomy").
        pub session_id: Option<String> = "session_id",
        /// The tool call whose subagent speaks; `None` in the main lane.
        pub parent_tool_use_id: Option<String> = "parent_tool_use_id",
    }
    skip: ["type", "subtype"];
}

/// A line of a type that has no view.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unknown {
    /// Ids.
    pub common: Common,
    /// Its `type`; `None` where there is none, or one that isn't a string.
    pub kind: Option<String>,
    /// Its `subtype`.
    pub subtype: Option<String>,
}

/// A `system` line of a subtype that has no view.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OtherSystem {
    /// Ids.
    pub common: Common,
    /// Its `subtype`; empty where there is none.
    pub subtype: String,
}
