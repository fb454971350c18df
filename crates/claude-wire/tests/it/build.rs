//! The lines that we write. Faults 29 and 44; protocol page, "Framing" and "Permissions".

use claude_wire::{Block, Content, Message, Request, build};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use uuid::Uuid;

const U: Uuid = Uuid::from_u128(7);

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).expect("the test's JSON is JSON")
}

/// Checks that it is one line and gives what it says.
fn value(line: &[u8]) -> Value {
    let (last, body) = line.split_last().expect("not empty");
    assert_eq!(*last, b'\n');
    assert!(!body.contains(&b'\n') && !body.contains(&b'\r'));
    let text = str::from_utf8(body).expect("UTF-8");
    assert!(!text.contains(['\u{2028}', '\u{2029}']), "{text}");
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn user_lines() {
    let line = build::user_line(U, &Content::Text("hi\n\u{2028}\u{2029}\u{85}\"\\".into()), None);
    assert_eq!(
        value(&line),
        json!({"type": "user", "uuid": U, "session_id": "", "parent_tool_use_id": null,
               "message": {"role": "user", "content": "hi\n\u{2028}\u{2029}\u{85}\"\\"}})
    );
    let Message::User(view) = Message::parse(&line).0 else { panic!("not a user line") };
    assert!(matches!(&view.blocks[..], [Block::Text(text)] if text == "hi\n\u{2028}\u{2029}\u{85}\"\\"));
    assert_eq!(view.common.uuid, Some(U.to_string()));
    assert_eq!(
        value(&build::user_line(U, &Content::Text(String::new()), Some("later")))["priority"],
        "later"
    );
}

#[test]
fn blocks_are_taken_as_they_are_but_on_one_line() {
    let pretty = "[\n  {\"type\": \"text\",\r\n   \"text\": \"a\u{2028}b €\\ud800\"}\n]";
    let line = build::user_line(U, &Content::Blocks(raw(pretty)), None);
    let text = str::from_utf8(&line).expect("UTF-8");
    assert!(text.contains(r#""text": "a\u2028b €\ud800"}"#), "{text}");
    assert_eq!(line.iter().filter(|&&b| b == b'\n').count(), 1);
    assert!(matches!(Message::parse(&line).0, Message::User(view) if view.blocks.len() == 1));
}

#[test]
fn requests() {
    let inner = |line: &[u8]| {
        let line = value(line);
        assert_eq!((&line["type"], &line["request_id"]), (&json!("control_request"), &json!("R")));
        line["request"].clone()
    };
    assert_eq!(inner(&build::initialize("R")), json!({"subtype": "initialize"}));
    assert_eq!(inner(&build::interrupt("R", false)), json!({"subtype": "interrupt"}));
    assert_eq!(inner(&build::interrupt("R", true)), json!({"subtype": "interrupt", "cancel_queued": true}));
    assert_eq!(inner(&build::end_session("R")), json!({"subtype": "end_session"}));
    assert_eq!(inner(&build::other_request("R", "mcp_status")), json!({"subtype": "mcp_status"}));
    assert_eq!(
        inner(&build::cancel_async_message("R", U)),
        json!({"subtype": "cancel_async_message", "message_uuid": U})
    );
}

#[test]
fn requests_are_read_back_as_what_they_are() {
    let read = |line: &[u8]| match Message::parse(line).0 {
        Message::ControlRequest(view) => view.request,
        other => panic!("not a request: {other:?}"),
    };
    assert!(matches!(read(&build::initialize("R")), Request::Initialize));
    assert!(matches!(read(&build::end_session("R")), Request::EndSession));
    assert!(matches!(read(&build::interrupt("R", true)), Request::Interrupt { cancel_queued: true }));
}

#[test]
fn answers() {
    let inner = |line: &[u8]| {
        let line = value(line);
        assert_eq!(line["type"], "control_response");
        let response = &line["response"];
        assert_eq!((&response["subtype"], &response["request_id"]), (&json!("success"), &json!("R")));
        response["response"].clone()
    };
    assert_eq!(
        inner(&build::allow("R", &raw(r#"{"command":"ls"}"#), None)),
        json!({"behavior": "allow", "updatedInput": {"command": "ls"}})
    );
    assert_eq!(inner(&build::deny("R", "no", false)), json!({"behavior": "deny", "message": "no"}));
    assert_eq!(
        inner(&build::deny("R", "", true)),
        json!({"behavior": "deny", "message": "", "interrupt": true})
    );
    assert_eq!(inner(&build::hook_ok("R")), json!({}));
    assert_eq!(inner(&build::elicitation("R", "decline", None)), json!({"action": "decline"}));
    assert_eq!(
        inner(&build::elicitation("R", "accept", Some(&raw(r#"{"a":1}"#)))),
        json!({"action": "accept", "content": {"a": 1}})
    );
    let failed = value(&build::error_response("R", "unsupported"));
    assert_eq!(failed["response"], json!({"subtype": "error", "request_id": "R", "error": "unsupported"}));
}

#[test]
fn suggestions_are_echoed_byte_for_byte() {
    let suggestions = raw(r#"[ {"b":1.0,"a":"\u0041 \ud99c"} ]"#);
    let input = raw(r#"{"z":1e2,"a":"\/"}"#);
    let line = build::allow("R", &input, Some(&suggestions));
    let text = String::from_utf8(line).expect("UTF-8");
    assert!(text.contains(&format!(
        r#""updatedInput":{},"updatedPermissions":{}}}"#,
        input.get(),
        suggestions.get()
    )));
}
