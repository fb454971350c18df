//! What the child says about itself: start, state, hooks, retries, limits.

use super::Common;
use crate::read::object;

object! {
    /// `system/init`: opens every turn, not only the first.
    pub struct Init {
        /// The model that was asked for, not the one that ran (protocol page, "Turn anatomy").
        pub model: Option<String> = "model",
        /// Working directory.
        pub cwd: Option<String> = "cwd",
        /// Tools the model has.
        pub tools: Vec<String> = "tools",
        /// MCP servers and how they are.
        pub mcp_servers: Vec<McpServer> = "mcp_servers",
        /// Permission mode.
        pub permission_mode: Option<String> = "permissionMode",
        /// Who pays.
        pub api_key_source: Option<String> = "apiKeySource",
        /// Version of the CLI.
        pub version: Option<String> = "claude_code_version",
        /// What this CLI can do, e.g. `msg_lifecycle_v1`; the way to detect features.
        pub capabilities: Vec<String> = "capabilities",
        /// Agents it found.
        pub agents: Vec<String> = "agents",
        /// Slash commands it found.
        pub slash_commands: Vec<String> = "slash_commands",
        /// Skills it found.
        pub skills: Vec<String> = "skills",
        /// Plugins it loaded.
        pub plugins: Vec<Plugin> = "plugins",
        /// Output style.
        pub output_style: Option<String> = "output_style",
        /// Further directories it may work in.
        pub additional_directories: Vec<String> = "additional_directories",
        /// The user lines that this turn answers, where the CLI says so.
        pub user_message_uuids: Vec<String> = "user_message_uuids",
    }
    rest: /// Ids.
    pub common: Common;
}

object! {
    /// An MCP server in [`Init`].
    #[derive(PartialEq, Eq)]
    pub struct McpServer {
        /// Its name.
        pub name: String = "name",
        /// `connected`, `pending`, `failed`, `needs-auth`, …
        pub status: String = "status",
    }
    skip: ["source"];
}

object! {
    /// A plugin in [`Init`].
    #[derive(PartialEq, Eq)]
    pub struct Plugin {
        /// Its name.
        pub name: String = "name",
        /// Where it is.
        pub path: Option<String> = "path",
        /// Its version.
        pub version: Option<String> = "version",
    }
    skip: ["source"];
}

object! {
    /// `system/session_state_changed`, or the old top-level line of that name.
    #[derive(PartialEq, Eq)]
    pub struct SessionState {
        /// `running`, `requires_action` or `idle`.
        pub state: String = "state",
    }
    rest: /// Ids.
    pub common: Common;
}

object! {
    /// `system/status`.
    #[derive(PartialEq, Eq)]
    pub struct Status {
        /// `requesting`, `compacting`; `None` when that is over.
        pub status: Option<String> = "status",
        /// The permission mode, when it changed.
        pub permission_mode: Option<String> = "permissionMode",
        /// After a compaction: `success` or `failed`.
        pub compact_result: Option<String> = "compact_result",
        /// Why a compaction failed.
        pub compact_error: Option<String> = "compact_error",
        /// The user lines that are being worked on.
        pub user_message_uuids: Vec<String> = "user_message_uuids",
    }
    rest: /// Ids.
    pub common: Common;
}

/// Where a hook is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HookPhase {
    /// `hook_started`.
    #[default]
    Started,
    /// `hook_progress`.
    Progress,
    /// `hook_response`: it is over.
    Response,
}

/// `system/hook_started`, `hook_progress`, `hook_response`. May come before `init`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hook {
    /// Ids.
    pub common: Common,
    /// Which of the three lines it is.
    pub phase: HookPhase,
    /// One run of one hook.
    pub hook_id: String,
    /// The hook's name.
    pub hook_name: String,
    /// What it hangs on, e.g. `SessionStart`.
    pub hook_event: String,
    /// At the end: `success`, `error`, `cancelled`.
    pub outcome: Option<String>,
    /// At the end, where it was a command.
    pub exit_code: Option<i64>,
}

object! {
    pub(crate) struct HookBody {
        hook_id: String = "hook_id",
        hook_name: String = "hook_name",
        hook_event: String = "hook_event",
        outcome: Option<String> = "outcome",
        exit_code: Option<i64> = "exit_code",
    }
    rest: common: Common;
    skip: ["output", "stdout", "stderr"];
}

impl HookBody {
    pub(crate) fn at(self, phase: HookPhase) -> Hook {
        Hook {
            common: self.common,
            phase,
            hook_id: self.hook_id,
            hook_name: self.hook_name,
            hook_event: self.hook_event,
            outcome: self.outcome,
            exit_code: self.exit_code,
        }
    }
}

object! {
    /// `system/plugin_install`. May come before `init`.
    #[derive(PartialEq, Eq)]
    pub struct PluginInstall {
        /// `started`, `installed`, `failed`, `completed`.
        pub status: String = "status",
        /// The plugin; `None` on lines about all of them.
        pub name: Option<String> = "name",
        /// Why it failed.
        pub error: Option<String> = "error",
    }
    rest: /// Ids.
    pub common: Common;
}

object! {
    /// `system/api_retry`: a request failed and is going to be sent again.
    #[derive(PartialEq)]
    pub struct ApiRetry {
        /// Which retry this is, from 1.
        pub attempt: u64 = "attempt",
        /// How many there can be.
        pub max_retries: u64 = "max_retries",
        /// Milliseconds until it is sent.
        pub retry_delay_ms: f64 = "retry_delay_ms",
        /// HTTP status; `None` where there was no answer.
        pub error_status: Option<i64> = "error_status",
        /// Kind of the error, e.g. `rate_limit`, `overloaded`.
        pub error: Option<String> = "error",
    }
    rest: /// Ids.
    pub common: Common;
    skip: ["no_response"];
}

object! {
    /// `system/permission_denied`: a tool call was denied without asking.
    #[derive(PartialEq, Eq)]
    pub struct PermissionDenied {
        /// The tool.
        pub tool_name: String = "tool_name",
        /// The call.
        pub tool_use_id: String = "tool_use_id",
        /// What the model was told.
        pub message: Option<String> = "message",
        /// Why.
        pub decision_reason: Option<String> = "decision_reason",
        /// Kind of the reason, e.g. `rule`, `mode`.
        pub decision_reason_type: Option<String> = "decision_reason_type",
        /// The subagent that called it.
        pub agent_id: Option<String> = "agent_id",
    }
    rest: /// Ids.
    pub common: Common;
}

/// `system/compact_boundary`: the conversation was summarised.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompactBoundary {
    /// Ids.
    pub common: Common,
    /// `manual` or `auto`.
    pub trigger: Option<String>,
    /// Tokens before.
    pub pre_tokens: Option<u64>,
    /// Tokens after.
    pub post_tokens: Option<u64>,
    /// How long it took, in milliseconds.
    pub duration_ms: Option<u64>,
}

object! {
    pub(crate) struct CompactBoundaryBody {
        metadata: CompactMetadata = "compact_metadata",
    }
    rest: common: Common;
    skip: ["logical_parent_uuid"];
}

object! {
    struct CompactMetadata {
        trigger: Option<String> = "trigger",
        pre_tokens: Option<u64> = "pre_tokens",
        post_tokens: Option<u64> = "post_tokens",
        duration_ms: Option<u64> = "duration_ms",
    }
}

impl From<CompactBoundaryBody> for CompactBoundary {
    fn from(body: CompactBoundaryBody) -> Self {
        Self {
            common: body.common,
            trigger: body.metadata.trigger,
            pre_tokens: body.metadata.pre_tokens,
            post_tokens: body.metadata.post_tokens,
            duration_ms: body.metadata.duration_ms,
        }
    }
}

object! {
    /// `conversation_reset`: from here on the child is on another conversation, with another transcript and totals
    /// from 0 (protocol page, "Identity").
    #[derive(PartialEq, Eq)]
    pub struct ConversationReset {
        /// The new conversation id as this line says it.
        pub new_conversation_id: Option<String> = "new_conversation_id",
        /// `clear`, …
        pub trigger: Option<String> = "trigger",
        /// The user line that asked for it.
        pub user_message_uuid: Option<String> = "user_message_uuid",
    }
    rest: /// Ids; the conversation is still the old one.
    pub common: Common;
    skip: ["timestamp"];
}

object! {
    /// `system/session_writes_lost`: the child could not write to its disk.
    #[derive(PartialEq, Eq)]
    pub struct WritesLost {
        /// `ENOSPC` or `EDQUOT`.
        pub error_code: Option<String> = "error_code",
        /// What was lost, e.g. `transcript`.
        pub lost: Vec<String> = "lost",
    }
    rest: /// Ids.
    pub common: Common;
    skip: ["transcript_session_ids"];
}

object! {
    /// `system/worker_shutting_down`: the child leaves.
    #[derive(PartialEq, Eq)]
    pub struct WorkerShuttingDown {
        /// Why.
        pub reason: Option<String> = "reason",
    }
    rest: /// Ids.
    pub common: Common;
}

/// `rate_limit_event`. Comes in healthy sessions too: only `status` tells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RateLimit {
    /// Ids.
    pub common: Common,
    /// `allowed`, `allowed_warning`, `rejected`.
    pub status: String,
    /// When the limit ends, in seconds since 1970.
    pub resets_at: Option<i64>,
    /// Which limit, e.g. `five_hour`.
    pub kind: Option<String>,
    /// How much of it is used, 1.0 being all.
    pub utilization: Option<f64>,
    /// The same as `status`, for paid overage.
    pub overage_status: Option<String>,
    /// When the overage limit ends, in seconds since 1970.
    pub overage_resets_at: Option<i64>,
}

object! {
    pub(crate) struct RateLimitBody {
        info: RateLimitInfo = "rate_limit_info",
    }
    rest: common: Common;
}

object! {
    struct RateLimitInfo {
        status: String = "status",
        resets_at: Option<i64> = "resetsAt",
        kind: Option<String> = "rateLimitType",
        utilization: Option<f64> = "utilization",
        overage_status: Option<String> = "overageStatus",
        overage_resets_at: Option<i64> = "overageResetsAt",
    }
}

impl From<RateLimitBody> for RateLimit {
    fn from(body: RateLimitBody) -> Self {
        Self {
            common: body.common,
            status: body.info.status,
            resets_at: body.info.resets_at,
            kind: body.info.kind,
            utilization: body.info.utilization,
            overage_status: body.info.overage_status,
            overage_resets_at: body.info.overage_resets_at,
        }
    }
}
