//! Shapes of very old CLIs. Design §4.

use claude_wire::{Block, Legacy, Message};

fn legacy(line: &str) -> Legacy {
    match Message::parse(line.as_bytes()).0 {
        Message::Legacy(view) => view,
        other => panic!("not legacy: {other:?}"),
    }
}

fn text(blocks: &[Block]) -> &str {
    match blocks {
        [Block::Text(text)] => text,
        other => panic!("not one text: {other:?}"),
    }
}

#[test]
fn role_and_content_at_top_level() {
    let view =
        legacy(r#"{"role":"assistant","content":[{"type":"text","text":"Done."}],"stop_reason":"end_turn"}"#);
    assert_eq!((view.role.as_str(), text(&view.blocks)), ("assistant", "Done."));
    assert_eq!(view.stop_reason.as_deref(), Some("end_turn"));
    let view = legacy(r#"{"role":"assistant","content":"Done."}"#);
    assert_eq!((text(&view.blocks), view.stop_reason), ("Done.", None));
}

#[test]
fn role_and_content_under_message() {
    let line = r#"{"message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"stop_reason":"end_turn","model":"m","usage":{"input_tokens":3}},"uuid":"u"}"#;
    let view = legacy(line);
    assert_eq!((view.role.as_str(), text(&view.blocks)), ("assistant", "Done."));
    assert_eq!(view.stop_reason, None, "only one at top level can end a turn");
    assert_eq!((view.model.as_deref(), view.usage.map(|u| u.input)), (Some("m"), Some(3)));
    assert_eq!(view.common.uuid.as_deref(), Some("u"));
}

#[test]
fn bare_api_message() {
    let view =
        legacy(r#"{"type":"message","id":"msg_1","role":"assistant","content":[],"stop_reason":"end_turn"}"#);
    assert_eq!((view.role.as_str(), view.message_id.as_deref()), ("assistant", Some("msg_1")));
    assert_eq!(view.stop_reason.as_deref(), Some("end_turn"));
}

#[test]
fn stop_reason_alone() {
    assert_eq!(legacy(r#"{"stop_reason":"end_turn"}"#).stop_reason.as_deref(), Some("end_turn"));
    assert!(matches!(Message::parse(br#"{"stop_reason":null}"#).0, Message::Unknown(_)));
}

#[test]
fn assistant_with_content_at_top_level() {
    let line = r#"{"type":"assistant","content":"Done.","stop_reason":"end_turn"}"#;
    let Message::Assistant(view) = Message::parse(line.as_bytes()).0 else { panic!("not assistant") };
    assert_eq!((text(&view.blocks), view.stop_reason.as_deref()), ("Done.", Some("end_turn")));
}

#[test]
fn session_state_at_top_level() {
    let line = br#"{"type":"session_state_changed","state":"idle","session_id":"s"}"#;
    let Message::SessionState(view) = Message::parse(line).0 else { panic!("not a state") };
    assert_eq!((view.state.as_str(), view.common.session_id.as_deref()), ("idle", Some("s")));
}

#[test]
fn a_type_with_a_role_is_not_legacy() {
    assert!(matches!(Message::parse(br#"{"type":"brand_new","role":"assistant"}"#).0, Message::Unknown(_)));
    assert!(matches!(Message::parse(br#"{"role":"user","type":"result"}"#).0, Message::Result(_)));
}
