//! The control channel. Faults 27, 34, 50; protocol page, "Control channel" and "Permissions".

use claude_wire::{ControlRequest, ControlResponse, Message, Request};

fn response(line: &str) -> ControlResponse {
    match Message::parse(line.as_bytes()).0 {
        Message::ControlResponse(view) => view,
        other => panic!("not a response: {other:?}"),
    }
}

fn request(line: &str) -> ControlRequest {
    match Message::parse(line.as_bytes()).0 {
        Message::ControlRequest(view) => view,
        other => panic!("not a request: {other:?}"),
    }
}

fn request_with(inner: &str) -> Request {
    request(&format!(r#"{{"type":"control_request","request_id":"R","request":{inner}}}"#)).request
}

const ASK: &str = r#"{"type":"control_request","request_id":"1892b096","request":{"subtype":"can_use_tool","tool_name":"Bash","display_name":"Bash","input":{"command":"touch /x1","description":"d"},"description":"d","permission_suggestions":[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"touch /x1"}],"behavior":"allow","destination":"localSettings"}],"blocked_path":"/x1","tool_use_id":"toolu_1"}}"#;

#[test]
fn the_child_asks_to_use_a_tool() {
    let ask = request(ASK);
    assert_eq!(ask.request_id, "1892b096");
    let Request::CanUseTool(tool) = ask.request else { panic!("{ask:?}") };
    assert_eq!((tool.tool_name.as_str(), tool.tool_use_id.as_str()), ("Bash", "toolu_1"));
    assert_eq!(tool.input.get(), r#"{"command":"touch /x1","description":"d"}"#);
    assert_eq!(tool.blocked_path.as_deref(), Some("/x1"));
    assert!(tool.suggestions.expect("is there").get().starts_with(r#"[{"type":"addRules""#));
    assert!(!tool.requires_user_interaction);
    assert_eq!((tool.agent_id, tool.decision_reason), (None, None));
}

#[test]
fn a_request_without_an_input_can_still_be_allowed() {
    let Request::CanUseTool(tool) =
        request_with(r#"{"subtype":"can_use_tool","tool_name":"X","input":null}"#)
    else {
        panic!("not can_use_tool")
    };
    assert_eq!(tool.input.get(), "{}");
}

#[test]
fn other_requests_of_the_child() {
    let hook =
        request_with(r#"{"subtype":"hook_callback","callback_id":"h1","input":{"a":1},"tool_use_id":"t"}"#);
    assert!(
        matches!(&hook, Request::HookCallback(h) if h.callback_id == "h1" && h.input.is_some()),
        "{hook:?}"
    );

    let mcp = request_with(r#"{"subtype":"mcp_message","server_name":"s","message":{"jsonrpc":"2.0"}}"#);
    let Request::McpMessage(mcp) = mcp else { panic!("{mcp:?}") };
    assert_eq!(mcp.message.expect("is there").get(), r#"{"jsonrpc":"2.0"}"#);

    let ask = request_with(
        r#"{"subtype":"elicitation","mcp_server_name":"s","message":"Which \ud800?","mode":"form","requested_schema":{}}"#,
    );
    let Request::Elicitation(ask) = ask else { panic!("{ask:?}") };
    assert_eq!((ask.mcp_server_name.as_str(), ask.message.as_str()), ("s", "Which \u{fffd}?"));

    let unknown = request_with(r#"{"subtype":"brand_new","x":1}"#);
    assert!(matches!(&unknown, Request::Other { subtype } if subtype == "brand_new"));
    assert!(!unknown.stays_unanswered());
    assert!(request_with(r#"{"subtype":"remote_control_status"}"#).stays_unanswered());
    for broken in ["{}", "null", "[1]", r#""x""#, r#"{"subtype":7}"#] {
        assert!(matches!(request_with(broken), Request::Other { subtype } if subtype.is_empty()), "{broken}");
    }
}

#[test]
fn requests_to_the_child() {
    assert!(matches!(request_with(r#"{"subtype":"initialize"}"#), Request::Initialize));
    assert!(matches!(request_with(r#"{"subtype":"end_session"}"#), Request::EndSession));
    assert!(matches!(
        request_with(r#"{"subtype":"interrupt"}"#),
        Request::Interrupt { cancel_queued: false }
    ));
    assert!(matches!(
        request_with(r#"{"subtype":"interrupt","cancel_queued":true}"#),
        Request::Interrupt { cancel_queued: true }
    ));
    assert!(matches!(
        request_with(r#"{"subtype":"cancel_async_message","message_uuid":"u"}"#),
        Request::CancelAsyncMessage { message_uuid } if message_uuid == "u"
    ));
    assert!(matches!(
        request_with(r#"{"subtype":"set_model","model":"m"}"#),
        Request::SetModel { model: Some(model) } if model == "m"
    ));
    assert!(matches!(
        request_with(r#"{"subtype":"set_permission_mode","mode":"plan"}"#),
        Request::SetPermissionMode { mode } if mode == "plan"
    ));
    assert!(matches!(
        request_with(r#"{"subtype":"set_max_thinking_tokens","max_thinking_tokens":5}"#),
        Request::SetMaxThinkingTokens { max_thinking_tokens: Some(5) }
    ));
    assert!(matches!(request_with(r#"{"subtype":"get_context_usage"}"#), Request::GetContextUsage));
    assert!(matches!(request_with(r#"{"subtype":"mcp_status"}"#), Request::McpStatus));
    assert!(matches!(
        request_with(r#"{"subtype":"background_tasks"}"#),
        Request::BackgroundTasks { tool_use_id: None }
    ));
    assert!(matches!(
        request_with(r#"{"subtype":"stop_task","task_id":"b1"}"#),
        Request::StopTask { task_id } if task_id == "b1"
    ));
    assert!(matches!(
        request_with(r#"{"subtype":"rewind_files","user_message_id":"u","dry_run":true}"#),
        Request::RewindFiles { user_message_id, dry_run: true } if user_message_id == "u"
    ));
}

#[test]
fn success_and_error_responses() {
    let ok = response(r#"{"type":"control_response","response":{"subtype":"success","request_id":"e1"}}"#);
    assert!(ok.ok && ok.request_id == "e1" && ok.body.is_none() && ok.error.is_none());
    let failed = response(
        r#"{"type":"control_response","response":{"subtype":"error","request_id":"z","error":"Unsupported control request subtype: what","error_code":"unsupported_request"}}"#,
    );
    assert!(!failed.ok);
    assert_eq!(failed.error.as_deref(), Some("Unsupported control request subtype: what"));
    assert_eq!(failed.error_code.as_deref(), Some("unsupported_request"));
}

#[test]
fn the_shape_with_response_id_beside_response_has_no_request_id() {
    let wrong = response(
        r#"{"type":"control_response","response_id":"R","response":{"subtype":"success","response":{}}}"#,
    );
    assert_eq!(wrong.request_id, "");
}

#[test]
fn answers_to_interrupt_and_cancel() {
    let with = |answer: &str| {
        response(&format!(
            r#"{{"type":"control_response","response":{{"subtype":"success","request_id":"R","response":{answer}}}}}"#
        ))
    };
    assert_eq!(with(r#"{"still_queued":["a","b"]}"#).still_queued, ["a", "b"]);
    let both = with(r#"{"still_queued":[],"cancelled":["c"]}"#);
    assert_eq!((both.still_queued.len(), both.cancelled), (0, vec!["c".to_owned()]));
    assert_eq!(both.was_cancelled, None);
    let one = with(r#"{"cancelled":true,"message_uuid":"u"}"#);
    assert_eq!((one.was_cancelled, one.cancelled.len()), (Some(true), 0));
    assert_eq!(with(r#"{"cancelled":false}"#).was_cancelled, Some(false));
    assert_eq!(
        with(r#"{"behavior":"deny","message":"m"}"#).body.expect("is there").get(),
        r#"{"behavior":"deny","message":"m"}"#
    );
}

#[test]
fn pending_requests_are_listed_beside_the_answer() {
    let line = format!(
        r#"{{"type":"control_response","response":{{"subtype":"success","request_id":"i1","response":{{"commands":[{{"name":"x"}}],"session_state":"requires_action"}},"pending_permission_requests":[{ASK}],"pending_user_dialog_requests":[]}}}}"#
    );
    let view = response(&line);
    assert!(view.ok);
    assert_eq!(view.session_state.as_deref(), Some("requires_action"));
    let [pending] = &view.pending[..] else { panic!("{view:?}") };
    assert_eq!(pending.request_id, "1892b096");
    assert!(matches!(&pending.request, Request::CanUseTool(tool) if tool.tool_name == "Bash"));
}

#[test]
fn pending_requests_are_listed_beside_an_error_too() {
    let line = format!(
        r#"{{"type":"control_response","response":{{"subtype":"error","request_id":"i1","error":"Already initialized","pending_permission_requests":[{ASK},null,7]}}}}"#
    );
    let view = response(&line);
    assert!(!view.ok);
    assert_eq!(view.error.as_deref(), Some("Already initialized"));
    assert_eq!(view.pending.len(), 1);
}

#[test]
fn pending_dialogs_and_questions_are_pending_too() {
    let line = r#"{"type":"control_response","response":{"subtype":"success","request_id":"i","response":{},"pending_user_dialog_requests":[{"type":"control_request","request_id":"d","request":{"subtype":"request_user_dialog"}}],"pending_elicitation_requests":[{"type":"control_request","request_id":"e","request":{"subtype":"elicitation","message":"m"}}]}}"#;
    let ids: Vec<_> = response(line).pending.into_iter().map(|ask| ask.request_id).collect();
    assert_eq!(ids, ["d", "e"]);
}

#[test]
fn cancel_of_a_request() {
    let (message, _) = Message::parse(br#"{"type":"control_cancel_request","request_id":"R"}"#);
    assert!(matches!(message, Message::ControlCancel(cancel) if cancel.request_id == "R"));
}
