//! The control channel, both ways (protocol page, "Control channel").

use crate::read::{Mode, Read, object};
use serde_json::value::RawValue;

/// `control_request`: somebody asks and waits for a [`ControlResponse`] with the same id.
#[derive(Clone, Debug, Default)]
pub struct ControlRequest {
    /// The asker's id.
    pub request_id: String,
    /// What is asked.
    pub request: Request,
}

/// What a `control_request` asks.
#[derive(Clone, Debug)]
pub enum Request {
    /// From the child: may this tool run?
    CanUseTool(CanUseTool),
    /// From the child: a hook that was registered by `initialize` is due.
    HookCallback(HookCallback),
    /// From the child: a message for an MCP server that lives in this process.
    McpMessage(McpMessage),
    /// From the child: an MCP server has a question.
    Elicitation(Elicitation),
    /// To the child: register; also lists again what is pending.
    Initialize,
    /// To the child: break the running turn off.
    Interrupt {
        /// Cancel what is queued too, instead of running it next.
        cancel_queued: bool,
    },
    /// To the child: leave.
    EndSession,
    /// To the child: take a queued user line back.
    CancelAsyncMessage {
        /// The user line's uuid.
        message_uuid: String,
    },
    /// To the child: change the model.
    SetModel {
        /// Its id; `None` is the default one.
        model: Option<String>,
    },
    /// To the child: change the permission mode.
    SetPermissionMode {
        /// The mode.
        mode: String,
    },
    /// To the child: change the thinking budget.
    SetMaxThinkingTokens {
        /// Tokens; `None` is the default.
        max_thinking_tokens: Option<u64>,
    },
    /// To the child: how full is the context?
    GetContextUsage,
    /// To the child: how are the MCP servers?
    McpStatus,
    /// To the child: send what runs to the background.
    BackgroundTasks {
        /// One call only.
        tool_use_id: Option<String>,
    },
    /// To the child: end a background task.
    StopTask {
        /// The task.
        task_id: String,
    },
    /// To the child: put files back as they were at a user line.
    RewindFiles {
        /// The user line's uuid.
        user_message_id: String,
        /// Only say what would change.
        dry_run: bool,
    },
    /// A subtype that has no view. From the child it must be answered with an error at once, unless
    /// [`stays_unanswered`](Self::stays_unanswered).
    Other {
        /// The subtype; empty where there is none.
        subtype: String,
    },
}

impl Default for Request {
    fn default() -> Self {
        Self::Other { subtype: String::new() }
    }
}

impl Request {
    /// The `remote_*` subtypes want no answer; every other request of the child waits for one for ever (protocol
    /// page, "Control channel").
    #[must_use]
    pub fn stays_unanswered(&self) -> bool {
        matches!(self, Self::Other { subtype } if subtype.starts_with("remote_"))
    }
}

/// `can_use_tool`; AskUserQuestion and ExitPlanMode come this way too.
#[derive(Clone, Debug)]
pub struct CanUseTool {
    /// The tool.
    pub tool_name: String,
    /// Its name for people.
    pub display_name: Option<String>,
    /// A title for the question.
    pub title: Option<String>,
    /// The call's input as it stands on the line, to be echoed when the call is allowed unchanged; `{}` where there
    /// is none.
    pub input: Box<RawValue>,
    /// The call.
    pub tool_use_id: String,
    /// What the model says that it is for.
    pub description: Option<String>,
    /// Rules that would allow it from now on; to be echoed byte for byte.
    pub suggestions: Option<Box<RawValue>>,
    /// The path that made it ask.
    pub blocked_path: Option<String>,
    /// Why it asks.
    pub decision_reason: Option<String>,
    /// The subagent that asks.
    pub agent_id: Option<String>,
    /// It is a question to a person: a policy can't answer it.
    pub requires_user_interaction: bool,
}

impl Default for CanUseTool {
    fn default() -> Self {
        RequestBody::default().into_can_use_tool()
    }
}

/// `hook_callback`.
#[derive(Clone, Debug, Default)]
pub struct HookCallback {
    /// Which registered callback.
    pub callback_id: String,
    /// What the hook is told.
    pub input: Option<Box<RawValue>>,
    /// The call that it is about.
    pub tool_use_id: Option<String>,
}

/// `mcp_message`.
#[derive(Clone, Debug, Default)]
pub struct McpMessage {
    /// The server.
    pub server_name: String,
    /// A JSON-RPC message.
    pub message: Option<Box<RawValue>>,
}

/// `elicitation`.
#[derive(Clone, Debug, Default)]
pub struct Elicitation {
    /// The server that asks.
    pub mcp_server_name: String,
    /// Its question.
    pub message: String,
    /// `form` or `url`.
    pub mode: Option<String>,
    /// Where to go, in `url` mode.
    pub url: Option<String>,
    /// What the answer must look like, in `form` mode: a JSON schema.
    pub requested_schema: Option<Box<RawValue>>,
}

object! {
    pub(crate) struct ControlRequestBody {
        request_id: String = "request_id",
        request: RequestBody = "request",
    }
    skip: ["type", "uuid", "session_id"];
}

object! {
    /// All subtypes at once: which fields count is decided by `subtype` when the whole object was read. `message`
    /// is text in one of them and an object in another, so it stays raw.
    struct RequestBody {
        subtype: String = "subtype",
        tool_name: String = "tool_name",
        display_name: Option<String> = "display_name",
        title: Option<String> = "title",
        input: Option<Box<RawValue>> = "input",
        tool_use_id: Option<String> = "tool_use_id",
        description: Option<String> = "description",
        suggestions: Option<Box<RawValue>> = "permission_suggestions",
        blocked_path: Option<String> = "blocked_path",
        decision_reason: Option<String> = "decision_reason",
        agent_id: Option<String> = "agent_id",
        requires_user_interaction: bool = "requires_user_interaction",
        callback_id: String = "callback_id",
        server_name: String = "server_name",
        message: Option<Box<RawValue>> = "message",
        mcp_server_name: String = "mcp_server_name",
        mode: Option<String> = "mode",
        url: Option<String> = "url",
        requested_schema: Option<Box<RawValue>> = "requested_schema",
        cancel_queued: bool = "cancel_queued",
        message_uuid: String = "message_uuid",
        model: Option<String> = "model",
        max_thinking_tokens: Option<u64> = "max_thinking_tokens",
        task_id: String = "task_id",
        user_message_id: String = "user_message_id",
        dry_run: bool = "dry_run",
    }
    skip: ["decision_reason_type", "elicitation_id"];
}

impl From<ControlRequestBody> for ControlRequest {
    fn from(body: ControlRequestBody) -> Self {
        Self { request_id: body.request_id, request: body.request.into() }
    }
}

impl From<RequestBody> for Request {
    fn from(body: RequestBody) -> Self {
        match body.subtype.as_str() {
            "can_use_tool" => Self::CanUseTool(body.into_can_use_tool()),
            "hook_callback" => Self::HookCallback(HookCallback {
                callback_id: body.callback_id,
                input: body.input,
                tool_use_id: body.tool_use_id,
            }),
            "mcp_message" => {
                Self::McpMessage(McpMessage { server_name: body.server_name, message: body.message })
            }
            "elicitation" => Self::Elicitation(body.into_elicitation()),
            "initialize" => Self::Initialize,
            "interrupt" => Self::Interrupt { cancel_queued: body.cancel_queued },
            "end_session" => Self::EndSession,
            "cancel_async_message" => Self::CancelAsyncMessage { message_uuid: body.message_uuid },
            "set_model" => Self::SetModel { model: body.model },
            "set_permission_mode" => Self::SetPermissionMode { mode: body.mode.unwrap_or_default() },
            "set_max_thinking_tokens" => {
                Self::SetMaxThinkingTokens { max_thinking_tokens: body.max_thinking_tokens }
            }
            "get_context_usage" => Self::GetContextUsage,
            "mcp_status" => Self::McpStatus,
            "background_tasks" => Self::BackgroundTasks { tool_use_id: body.tool_use_id },
            "stop_task" => Self::StopTask { task_id: body.task_id },
            "rewind_files" => {
                Self::RewindFiles { user_message_id: body.user_message_id, dry_run: body.dry_run }
            }
            _ => Self::Other { subtype: body.subtype },
        }
    }
}

impl RequestBody {
    fn into_can_use_tool(self) -> CanUseTool {
        CanUseTool {
            tool_name: self.tool_name,
            display_name: self.display_name,
            title: self.title,
            input: self.input.unwrap_or_else(empty_object),
            tool_use_id: self.tool_use_id.unwrap_or_default(),
            description: self.description,
            suggestions: self.suggestions,
            blocked_path: self.blocked_path,
            decision_reason: self.decision_reason,
            agent_id: self.agent_id,
            requires_user_interaction: self.requires_user_interaction,
        }
    }

    fn into_elicitation(self) -> Elicitation {
        Elicitation {
            mcp_server_name: self.mcp_server_name,
            message: self.message.as_deref().map(tolerant).unwrap_or_default(),
            mode: self.mode,
            url: self.url,
            requested_schema: self.requested_schema,
        }
    }
}

fn empty_object() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).expect("an empty object is JSON")
}

/// `control_response`: the answer to a [`ControlRequest`].
#[derive(Clone, Debug, Default)]
pub struct ControlResponse {
    /// The asker's id. Empty in the shape that the CLI ignores, with `response_id` beside `response`.
    pub request_id: String,
    /// `subtype` is `success`.
    pub ok: bool,
    /// Why it is not.
    pub error: Option<String>,
    /// Kind of the error, e.g. `unsupported_request`.
    pub error_code: Option<String>,
    /// To `interrupt`: user lines that are still queued and run next. Older CLIs say nothing.
    pub still_queued: Vec<String>,
    /// To `interrupt` with `cancel_queued`: user lines that were cancelled.
    pub cancelled: Vec<String>,
    /// To `cancel_async_message`: whether it was still queued and is cancelled.
    pub was_cancelled: Option<bool>,
    /// To `initialize`: how the session is, on newer CLIs.
    pub session_state: Option<String>,
    /// To `initialize`: requests of the child that still wait for an answer, of every kind that it lists. Hook
    /// callbacks are not listed.
    pub pending: Vec<ControlRequest>,
    /// The answer itself.
    pub body: Option<Box<RawValue>>,
}

object! {
    pub(crate) struct ControlResponseBody {
        response: ResponseBody = "response",
        pending: Vec<ControlRequestBody> = "pending_permission_requests",
    }
    skip: ["type", "uuid", "session_id"];
}

object! {
    struct ResponseBody {
        subtype: String = "subtype",
        request_id: String = "request_id",
        error: Option<String> = "error",
        error_code: Option<String> = "error_code",
        body: Option<Box<RawValue>> = "response",
        pending: Vec<ControlRequestBody> = "pending_permission_requests",
        pending_dialogs: Vec<ControlRequestBody> = "pending_user_dialog_requests",
        pending_elicitations: Vec<ControlRequestBody> = "pending_elicitation_requests",
    }
}

object! {
    struct AnswerBody {
        still_queued: Vec<String> = "still_queued",
        cancelled: Option<Box<RawValue>> = "cancelled",
        session_state: Option<String> = "session_state",
    }
}

impl From<ControlResponseBody> for ControlResponse {
    fn from(line: ControlResponseBody) -> Self {
        let reply = line.response;
        let answer: AnswerBody = reply.body.as_deref().map(tolerant).unwrap_or_default();
        let cancelled = answer.cancelled.as_deref();
        let lists = [reply.pending, reply.pending_dialogs, reply.pending_elicitations, line.pending];
        Self {
            request_id: reply.request_id,
            ok: reply.subtype == "success",
            error: reply.error,
            error_code: reply.error_code,
            still_queued: answer.still_queued,
            cancelled: cancelled.map(tolerant).unwrap_or_default(),
            was_cancelled: cancelled.and_then(|raw| raw.get().parse().ok()),
            session_state: answer.session_state,
            pending: lists.into_iter().flatten().map(Into::into).collect(),
            body: reply.body,
        }
    }
}

/// Reads a part of a line that was taken as text before.
fn tolerant<'de, T: Read<'de> + Default>(raw: &'de RawValue) -> T {
    T::read(raw, Mode::Tolerant).ok().flatten().unwrap_or_default()
}

object! {
    /// `control_cancel_request`: the asker doesn't want an answer any more.
    #[derive(PartialEq, Eq)]
    pub struct ControlCancel {
        /// The id in its [`ControlRequest`].
        pub request_id: String = "request_id",
    }
    skip: ["type", "uuid", "session_id"];
}
