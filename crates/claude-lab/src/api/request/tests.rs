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
    assert_eq!(turn.result, "ok", "without the reminder that hangs on to it");
}

#[test]
fn the_last_call_s_result_counts_whichever_ended_first() {
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "Bash", "input": {}});
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": [text(id)]});
    let turn = turn(json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [call("a"), call("b")]},
        {"role": "user", "content": [result("b"), result("a")]},
    ]));
    assert_eq!(turn.result, "b");
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
    for notice in [
        "<system-reminder>\n[SYSTEM NOTIFICATION - NOT USER INPUT]",
        "<task-notification>\n<task-id>b</task-id>",
    ] {
        let turn = turn(json!([
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": [text("started")]},
            {"role": "user", "content": [text(notice)]},
        ]));
        assert!(turn.notice && turn.text == notice);
        assert_eq!((turn.number, turn.round), (1, 0));
    }
}

/// A newer CLI wraps it in a reminder, an older one sends it plain.
#[test]
fn an_answer_that_broke_off_is_asked_for_again() {
    for resume in [
        "<system-reminder>\nYour response above was cut off mid-stream. Resume",
        "Output token limit hit. Resume",
    ] {
        let turn = turn(json!([
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]},
            {"role": "assistant", "content": [text("half of")]},
            {"role": "user", "content": [text(resume)]},
        ]));
        assert_eq!((turn.text.as_str(), turn.number, turn.round, turn.notice), ("go", 1, 1, false));
    }
}

#[test]
fn side_requests_are_known_by_what_they_lack() {
    let lane = |agent: &str, body: Value| {
        let mut headers = HeaderMap::new();
        headers.insert("user-agent", agent.parse().unwrap());
        Request::read(&headers, body.to_string().as_bytes()).unwrap().lane
    };
    let cli = "claude-cli/2.1.332 (external, sdk-cli)";
    let messages = json!([{"role": "user", "content": "title please"}]);
    assert_eq!(lane(cli, json!({"model": "m", "messages": messages})), Lane::Side);
    assert_eq!(lane("curl/8", json!({"model": "m", "messages": messages})), Lane::Main);
    let no_tools = json!({"model": "m", "messages": messages, "tools": [], "context_management": {}});
    assert_eq!(lane(cli, no_tools), Lane::Main);
    let tools = json!([{"name": "Bash"}]);
    let compact =
        json!([{"role": "user", "content": "CRITICAL\n\nYour task is to create a detailed summary of"}]);
    assert_eq!(lane(cli, json!({"model": "m", "messages": compact, "tools": tools})), Lane::Side);
    let system = "x-anthropic-billing-header: cc_version=1; cc_is_subagent=true;";
    assert_eq!(
        lane(cli, json!({"model": "m", "messages": messages, "tools": tools, "system": system})),
        Lane::Sub
    );
}

#[test]
fn bad_bodies_are_explained() {
    let read = |body: &str| Request::read(&HeaderMap::new(), body.as_bytes()).unwrap_err();
    assert!(read("{").contains("not JSON"));
    assert!(read("[]").contains("model"));
    assert!(read("{\"model\":\"m\"}").contains("messages"));
    assert!(read("{\"model\":\"m\",\"messages\":[]}").contains("at least one"));
}
