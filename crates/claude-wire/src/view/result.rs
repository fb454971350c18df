//! `result`: the end of a turn, not of the run.

use super::Common;
use super::turn::{Origin, merged};
use super::usage::{ModelUsage, ModelUsageBody, Usage, UsageBody};
use crate::read::{Entries, object};
use serde_json::value::RawValue;

/// `result`. One process can print many (protocol page, "Turn anatomy").
#[derive(Clone, Debug, Default)]
pub struct ResultLine {
    /// Ids.
    pub common: Common,
    /// `success`, `error_during_execution`, `error_max_turns`, … A `success` can be an API failure: see `is_error`.
    pub subtype: String,
    /// The turn failed, whatever the subtype says.
    pub is_error: bool,
    /// `completed`, `api_error`, `aborted_streaming`, `aborted_tools`, `budget_exhausted`, …
    pub terminal_reason: Option<String>,
    /// Why the model stopped.
    pub stop_reason: Option<String>,
    /// HTTP status of an API failure.
    pub api_error_status: Option<i64>,
    /// Kind of an API failure as the API names it, e.g. `overloaded_error`; newer CLIs only.
    pub api_error_type: Option<String>,
    /// The answer, or the failure's text.
    pub result: Option<String>,
    /// What went wrong, on the error subtypes.
    pub errors: Vec<String>,
    /// Why the child could not start.
    pub startup_failure_reason: Option<String>,
    /// Rounds of the model in this turn.
    pub num_turns: Option<u64>,
    /// Milliseconds from its start to its end.
    pub duration_ms: Option<u64>,
    /// Milliseconds spent waiting for the API.
    pub duration_api_ms: Option<u64>,
    /// Dollars; cumulative, see [`ModelUsage`].
    pub total_cost_usd: Option<f64>,
    /// The main loop's tokens, this turn's only.
    pub usage: Option<Usage>,
    /// Per model, subagents included; cumulative.
    pub model_usage: Vec<ModelUsage>,
    /// Calls that were denied: a lower bound.
    pub permission_denials: Vec<PermissionDenial>,
    /// Subagents of the turn.
    pub subagent_stats: Option<SubagentStats>,
    /// The user lines that it answers; the plural and the singular field, without doubles.
    pub user_message_uuids: Vec<String>,
    /// 0 even when something is queued: announces nothing (protocol page).
    pub queued_turn_count: Option<u64>,
    /// Number of this result in its process, from 0.
    pub result_index: Option<u64>,
    /// What began the turn, where it was not a user line: `task-notification`, …
    pub origin: Option<String>,
    /// The answer to a `--json-schema`.
    pub structured_output: Option<Box<RawValue>>,
}

object! {
    /// A call that was denied.
    #[derive(PartialEq, Eq)]
    pub struct PermissionDenial {
        /// The tool.
        pub tool_name: String = "tool_name",
        /// The call.
        pub tool_use_id: String = "tool_use_id",
    }
    skip: ["tool_input"];
}

object! {
    /// What a turn's subagents did.
    #[derive(PartialEq, Eq)]
    pub struct SubagentStats {
        /// How many were started.
        pub spawned: u64 = "spawned",
        /// How many of them in the background.
        pub started_in_background: u64 = "started_in_background",
        /// How many finished.
        pub completed: u64 = "completed",
        /// How many failed.
        pub failed: u64 = "failed",
    }
    skip: ["requested", "max_depth", "spawned_by_subagents", "killed", "refused", "by_type"];
}

object! {
    pub(crate) struct ResultBody {
        subtype: String = "subtype",
        is_error: bool = "is_error",
        terminal_reason: Option<String> = "terminal_reason",
        stop_reason: Option<String> = "stop_reason",
        api_error_status: Option<i64> = "api_error_status",
        api_error_type: Option<String> = "api_error_type",
        result: Option<String> = "result",
        errors: Vec<String> = "errors",
        startup_failure_reason: Option<String> = "startup_failure_reason",
        num_turns: Option<u64> = "num_turns",
        duration_ms: Option<u64> = "duration_ms",
        duration_api_ms: Option<u64> = "duration_api_ms",
        total_cost_usd: Option<f64> = "total_cost_usd",
        usage: Option<UsageBody> = "usage",
        model_usage: Entries<ModelUsageBody> = "modelUsage",
        permission_denials: Vec<PermissionDenial> = "permission_denials",
        subagent_stats: Option<SubagentStats> = "subagent_stats",
        user_message_uuid: Option<String> = "user_message_uuid",
        user_message_uuids: Vec<String> = "user_message_uuids",
        queued_turn_count: Option<u64> = "queued_turn_count",
        result_index: Option<u64> = "result_index",
        origin: Origin = "origin",
        structured_output: Option<Box<RawValue>> = "structured_output",
    }
    rest: common: Common;
    skip: [
        "ttft_ms", "ttft_stream_ms", "time_to_request_ms", "first_content_frame_ms", "request_sent_wall_ms",
        "model_usage_since_last_result",
    ];
}

impl From<ResultBody> for ResultLine {
    fn from(body: ResultBody) -> Self {
        Self {
            common: body.common,
            subtype: body.subtype,
            is_error: body.is_error,
            terminal_reason: body.terminal_reason,
            stop_reason: body.stop_reason,
            api_error_status: body.api_error_status,
            api_error_type: body.api_error_type,
            result: body.result,
            errors: body.errors,
            startup_failure_reason: body.startup_failure_reason,
            num_turns: body.num_turns,
            duration_ms: body.duration_ms,
            duration_api_ms: body.duration_api_ms,
            total_cost_usd: body.total_cost_usd,
            usage: body.usage.map(Into::into),
            model_usage: body.model_usage.0.into_iter().map(|(model, usage)| usage.named(model)).collect(),
            permission_denials: body.permission_denials,
            subagent_stats: body.subagent_stats,
            user_message_uuids: merged(body.user_message_uuids, body.user_message_uuid),
            queued_turn_count: body.queued_turn_count,
            result_index: body.result_index,
            origin: body.origin.kind,
            structured_output: body.structured_output,
        }
    }
}
