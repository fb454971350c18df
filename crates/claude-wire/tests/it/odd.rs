//! Lines that are not as they should be: the view degrades, the line never fails. Faults 75 and 80.

use claude_wire::{Block, Frame, LifecycleState, Message};

fn parse(line: &str) -> Message {
    let frame = Frame::parse(line.as_bytes());
    assert_eq!(frame.bytes(), line.as_bytes());
    frame.into_message()
}

#[test]
fn lone_surrogate_in_a_result() {
    let line = r#"{"type":"result","subtype":"success","result":"broken \ud99c here, whole \ud83d\ude00, \udc00\\ud800","is_error":false,"num_turns":3,"structured_output":{"a":"\ud99c"}}"#;
    let frame = Frame::parse(line.as_bytes());
    assert!(frame.tolerant());
    assert_eq!(frame.bytes(), line.as_bytes());
    let Message::Result(view) = frame.message() else { panic!("{frame:?}") };
    assert_eq!(view.result.as_deref(), Some("broken \u{fffd} here, whole 😀, \u{fffd}\\ud800"));
    assert_eq!(view.num_turns, Some(3));
    let raw = view.structured_output.as_ref().expect("is there");
    assert_eq!(raw.get(), r#"{"a":"\ud99c"}"#, "raw parts keep their own bytes");
}

#[test]
fn lone_surrogate_everywhere_a_view_reads() {
    let parse_tolerant = |line: &str| {
        let frame = Frame::parse(line.as_bytes());
        assert!(frame.tolerant(), "{line}");
        frame.into_message()
    };
    let text = parse_tolerant(
        r#"{"type":"assistant","message":{"content":[{"type":"text","text":"\ud800"},"plain \udfff",{"type":"tool_use","id":"t","name":"Bash","input":{"command":"\ud800"}}]}}"#,
    );
    let Message::Assistant(view) = text else { panic!("{text:?}") };
    let [Block::Text(a), Block::Text(b), Block::ToolUse { input: Some(input), .. }] = &view.blocks[..] else {
        panic!("{view:?}")
    };
    assert_eq!((a.as_str(), b.as_str()), ("\u{fffd}", "plain \u{fffd}"));
    assert_eq!(input.get(), r#"{"command":"\ud800"}"#);

    let delta = parse_tolerant(
        r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\ud99c"}}}"#,
    );
    assert!(matches!(delta, Message::StreamEvent(_)));

    let model = parse_tolerant(
        r#"{"type":"result","result":"\ud800","modelUsage":{"a\ud800b":{"inputTokens":1},"c":{"inputTokens":2}}}"#,
    );
    let Message::Result(view) = model else { panic!("{model:?}") };
    assert_eq!(view.model_usage[0].model, "a\u{fffd}b");
    assert_eq!(view.model_usage[1].input, 2);
}

#[test]
fn lone_surrogate_where_no_view_reads_is_no_reason_for_a_second_try() {
    let line = r#"{"type":"keep_alive","x":"\ud800","y":{"\ud800":1}}"#;
    let frame = Frame::parse(line.as_bytes());
    assert!(matches!(frame.message(), Message::KeepAlive));
    assert!(!frame.tolerant());
}

#[test]
fn lone_surrogate_in_a_key() {
    let line = r#"{"\ud800":1,"type":"result","usage":{"\udfff":[],"input_tokens":4}}"#;
    let Message::Result(view) = parse(line) else { panic!("not a result") };
    assert_eq!(view.usage.expect("is there").input, 4);
}

#[test]
fn lone_surrogate_in_the_input_of_a_request_is_echoed_as_it_came() {
    let line = r#"{"type":"control_request","request_id":"R","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"\ud99c"},"description":"\ud99c","permission_suggestions":[ {"a":1} ]}}"#;
    let frame = Frame::parse(line.as_bytes());
    assert!(frame.tolerant());
    let Message::ControlRequest(ask) = frame.message() else { panic!("{frame:?}") };
    let claude_wire::Request::CanUseTool(ask) = &ask.request else { panic!("{ask:?}") };
    assert_eq!(ask.input.get(), r#"{"command":"\ud99c"}"#);
    assert_eq!(ask.suggestions.as_ref().expect("is there").get(), r#"[ {"a":1} ]"#);
    assert_eq!(ask.description.as_deref(), Some("\u{fffd}"));
}

#[test]
fn invalid_utf8_inside_a_string() {
    let frame = Frame::parse(b"{\"type\":\"result\",\"result\":\"a\xffb\"}");
    assert!(frame.tolerant());
    assert_eq!(frame.bytes(), b"{\"type\":\"result\",\"result\":\"a\xffb\"}");
    let Message::Result(view) = frame.message() else { panic!("{frame:?}") };
    assert_eq!(view.result.as_deref(), Some("a\u{fffd}b"));
}

#[test]
fn unknown_type_subtype_state_block_event_and_field_pass_through() {
    let unknown =
        parse(r#"{"type":"brand_new","subtype":"x","uuid":"u","session_id":"s","deep":{"a":[1,{}]}}"#);
    let Message::Unknown(view) = unknown else { panic!("{unknown:?}") };
    assert_eq!((view.kind.as_deref(), view.subtype.as_deref()), (Some("brand_new"), Some("x")));
    assert_eq!(view.common.uuid.as_deref(), Some("u"));

    let system = parse(r#"{"type":"system","subtype":"brand_new","uuid":"u"}"#);
    let Message::System(view) = system else { panic!("{system:?}") };
    assert_eq!((view.subtype.as_str(), view.common.uuid.as_deref()), ("brand_new", Some("u")));

    let bare = parse(r#"{"type":"system","uuid":"u"}"#);
    assert!(matches!(&bare, Message::System(view) if view.subtype.is_empty()), "{bare:?}");

    let receipt = parse(r#"{"type":"command_lifecycle","command_uuid":"c","state":"parked","new":1}"#);
    let Message::Lifecycle(view) = receipt else { panic!("{receipt:?}") };
    assert_eq!(view.state, LifecycleState::Other("parked".to_owned()));
    assert!(!view.state.is_final());

    let block = parse(
        r#"{"type":"assistant","message":{"content":[{"type":"hologram","text":"t"},{"type":"image"},{}]}}"#,
    );
    let Message::Assistant(view) = block else { panic!("{block:?}") };
    assert!(
        matches!(&view.blocks[..], [Block::Other(kind), Block::Image, Block::Other(_)] if kind == "hologram")
    );

    let event = parse(
        r#"{"type":"stream_event","event":{"type":"content_block_delta","index":1,"delta":{"type":"new_delta"}}}"#,
    );
    let Message::StreamEvent(view) = event else { panic!("{event:?}") };
    assert_eq!(view.event, claude_wire::Event::OtherDelta { index: 1, kind: "new_delta".to_owned() });

    assert!(matches!(parse("{}"), Message::Unknown(_)));
    assert!(matches!(parse(r#"{"type":null}"#), Message::Unknown(_)));
    assert!(matches!(parse(r#"{"type":{"a":1}}"#), Message::Unknown(_)));
}

#[test]
fn fields_of_another_type_are_absent_and_the_rest_is_read() {
    let line = r#"{"type":"result","subtype":7,"is_error":"yes","result":{"a":1},"errors":["a",1,null,"b"],"num_turns":"3","usage":[1],"modelUsage":"none","permission_denials":{"x":1},"uuid":["u"],"session_id":"s","total_cost_usd":null,"origin":"x","structured_output":null,"user_message_uuids":"u","terminal_reason":"completed"}"#;
    let Message::Result(view) = parse(line) else { panic!("not a result") };
    assert_eq!(view.subtype, "");
    assert!(!view.is_error);
    assert_eq!((view.result, view.num_turns, view.total_cost_usd), (None, None, None));
    assert_eq!(view.errors, ["a", "b"]);
    assert!(view.usage.is_none() && view.model_usage.is_empty() && view.permission_denials.is_empty());
    assert!(view.structured_output.is_none() && view.user_message_uuids.is_empty() && view.origin.is_none());
    assert_eq!((view.common.uuid, view.common.session_id.as_deref()), (None, Some("s")));
    assert_eq!(view.terminal_reason.as_deref(), Some("completed"));
}

#[test]
fn whole_numbers_may_come_as_floats_and_absurd_ones_are_absent() {
    let line = r#"{"type":"result","num_turns":3.0,"duration_ms":1.5e3,"api_error_status":529.0,"duration_api_ms":-1,"total_cost_usd":1,"result_index":1e300,"queued_turn_count":1e999,"usage":{"input_tokens":10.0,"output_tokens":18446744073709551615}}"#;
    let Message::Result(view) = parse(line) else { panic!("not a result") };
    assert_eq!((view.num_turns, view.duration_ms, view.api_error_status), (Some(3), Some(1500), Some(529)));
    assert_eq!((view.duration_api_ms, view.result_index, view.queued_turn_count), (None, None, None));
    assert_eq!(view.total_cost_usd, Some(1.0));
    let usage = view.usage.expect("is there");
    assert_eq!((usage.input, usage.output), (10, u64::MAX));
}

#[test]
fn a_key_given_twice_counts_once() {
    let Message::Result(view) =
        parse(r#"{"type":"result","result":"a","result":"b","usage":{},"usage":null}"#)
    else {
        panic!("not a result")
    };
    assert_eq!(view.result.as_deref(), Some("b"));
    assert!(view.usage.is_none());
    // The tag is an exception: its first place counts, wherever it stands.
    assert!(matches!(parse(r#"{"type":"result","type":"user"}"#), Message::Result(_)));
    assert!(matches!(parse(r#"{"a":1,"type":"result","type":"user"}"#), Message::Result(_)));
}

#[test]
fn escaped_keys_and_tags_are_what_they_mean() {
    let line = r#"{"\u0074ype":"\u0072esult","re\u0073ult":"x"}"#;
    let Message::Result(view) = parse(line) else { panic!("not a result") };
    assert_eq!(view.result.as_deref(), Some("x"));
    assert!(matches!(parse(r#"{"type":"res\u0075lt"}"#), Message::Result(_)));
    assert!(matches!(parse("  { \"type\" : \"system\" , \"subtype\" : \"init\" }  "), Message::Init(_)));
}

#[test]
fn deep_nesting_is_skipped_or_kept_but_never_overflows() {
    for field in ["junk", "result", "usage", "structured_output", "errors"] {
        let deep = format!(
            r#"{{"type":"result","{field}":{}1{},"num_turns":1}}"#,
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        let Message::Result(view) = parse(&deep) else { panic!("not a result: {field}") };
        assert_eq!(view.num_turns, Some(1));
    }
    let content = format!(
        r#"{{"type":"assistant","message":{{"content":{}"x"{}}}}}"#,
        "[".repeat(5000),
        "]".repeat(5000)
    );
    assert!(matches!(parse(&content), Message::Assistant(view) if view.blocks.is_empty()));
}
