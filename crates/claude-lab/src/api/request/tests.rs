use serde_json::{Value, json};

use super::*;

fn turn(messages: Value) -> Turn {
    Turn::read(messages.as_array().unwrap())
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

#[test]
fn the_last_text_block_that_is_no_reminder_is_the_prompt() {
    let turn = turn(json!([
        {"role": "user", "content": [text("<system-reminder>\nx\n</system-reminder>"), text("hello")]},
        {"role": "system", "content": "# Environment"},
    ]));
    assert_eq!((turn.text.as_str(), turn.number, turn.round, turn.notice), ("hello", 1, 0, false));
}

#[test]
fn tool_results_go_on_in_the_same_turn() {
    let turn = turn(json!([
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": [text("1")]},
        {"role": "user", "content": [text("<system-reminder>tokens</system-reminder>"), text("two")]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t",
            "content": "ok\n\n<system-reminder>\nThe user sent a new message while you were working:\na steer\n</system-reminder>"}]},
        {"role": "user", "content": [text("<system-reminder>more</system-reminder>")]},
    ]));
    assert_eq!((turn.text.as_str(), turn.number, turn.round), ("two", 2, 1));
    assert!(turn.result.starts_with("ok"));
}

#[test]
fn an_interrupted_prompt_is_not_the_prompt() {
    let turn = turn(json!([{"role": "user", "content": [
        text("old"), text("[Request interrupted by user]"), text("new")]}]));
    assert_eq!((turn.text.as_str(), turn.number), ("new", 1));
    let after_tool = self::turn(json!([
        {"role": "user", "content": "old"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "rejected", "is_error": true},
            text("[Request interrupted by user for tool use]"), text("new")]},
    ]));
    assert_eq!((after_tool.text.as_str(), after_tool.number, after_tool.round), ("new", 2, 0));
}

/// A newer CLI wraps the notice in a reminder, an older one sends it plain.
#[test]
fn a_notice_opens_a_turn_that_is_no_prompt() {
    for notice in ["<system-reminder>\n[SYSTEM NOTIFICATION]", "<task-notification>\n<task-id>b</task-id>"] {
        let turn = turn(json!([
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": [text("started")]},
            {"role": "user", "content": [text(notice)]},
        ]));
        assert!(turn.notice && turn.text == notice);
        assert_eq!((turn.number, turn.round), (1, 0));
    }
}

#[test]
fn bad_bodies_are_explained() {
    let read = |body: &str| Request::read(&HeaderMap::new(), body.as_bytes()).unwrap_err();
    assert!(read("{").contains("not JSON"));
    assert!(read("[]").contains("model"));
    assert!(read("{\"model\":\"m\"}").contains("messages"));
    assert!(read("{\"model\":\"m\",\"messages\":[]}").contains("at least one"));
}
