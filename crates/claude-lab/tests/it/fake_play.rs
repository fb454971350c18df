//! A recorded session folder can be played back, with the ids of whoever talks to it now.

use serde_json::{Value, json};

use super::fake_child::{Fake, Place, uuid};

const RECORDED: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const NOW: &str = "bbbbbbbb-0000-4000-8000-000000000001";
const OLD_PROMPT: &str = "cccccccc-0000-4000-8000-000000000001";

/// A generation: a prompt, a permission, `end_session`.
fn record(place: &Place) {
    let folder = place.path("gen");
    std::fs::create_dir(&folder).expect("a folder");
    let out = [
        format!("{{\"type\":\"command_lifecycle\",\"command_uuid\":\"{OLD_PROMPT}\",\"state\":\"started\",\"session_id\":\"{RECORDED}\"}}\n"),
        "{\"type\":\"control_request\",\"request_id\":\"ask-1\",\"request\":{\"subtype\":\"can_use_tool\"}}\n".to_owned(),
        "{\"type\":\"result\",\"result\":\"\\ud99c done\"}\n".to_owned(),
        "{\"type\":\"control_response\",\"response\":{\"subtype\":\"success\",\"request_id\":\"old-end\"}}\n".to_owned(),
    ];
    let ends: Vec<usize> = out
        .iter()
        .scan(0, |sum, line| {
            *sum += line.len();
            Some(*sum)
        })
        .collect();
    let row = |off: usize, ev: Value| format!("{}\n", json!({"at": 1, "off": off, "ev": ev}));
    let begin = |off: usize, write: u8, line: Value| {
        row(off, json!({"kind": "begin", "write": write, "line": line, "len": 1, "hash": ""}))
            + &row(off, json!({"kind": "done", "write": write}))
    };
    let ctl = [
        row(0, json!({"kind": "spawn", "generation": 1, "conversation": RECORDED, "resume": false})),
        begin(0, 1, json!({"is": "user", "delivery": OLD_PROMPT})),
        begin(ends[1], 2, json!({"is": "answer", "request_id": "ask-1"})),
        begin(ends[2], 3, json!({"is": "request", "request_id": "old-end", "subtype": "end_session"})),
    ];
    std::fs::write(folder.join("out"), out.concat()).expect("out");
    std::fs::write(folder.join("ctl"), ctl.concat()).expect("ctl");
    std::fs::write(folder.join("exit"), "code 4\n").expect("exit");
}

fn start(place: &Place) -> Fake {
    let mut command = place.command("", &["--session-id", NOW]);
    command.env("FAKE_CLAUDE_PLAY", place.path("gen"));
    Fake::of(command.spawn().expect("it starts"))
}

#[test]
fn a_recording_waits_for_its_lines_and_takes_the_new_ids() {
    let place = Place::new();
    record(&place);
    let mut child = start(&place);
    child.say(1, "anything");
    let first: Value = serde_json::from_slice(&child.line()).expect("JSON");
    assert_eq!((&first["command_uuid"], &first["session_id"]), (&json!(uuid(1)), &json!(NOW)));
    let asked: Value = serde_json::from_slice(&child.line()).expect("JSON");
    assert_eq!(asked["request_id"], "ask-1");
    child.send(
        &json!({"type": "control_response", "response": {"subtype": "success", "request_id": "ask-1"}}),
    );
    assert_eq!(child.line(), b"{\"type\":\"result\",\"result\":\"\\ud99c done\"}");
    child.control("new-end", json!({"subtype": "end_session"}));
    let (rest, status, _) = child.rest();
    assert!(String::from_utf8_lossy(&rest).contains("\"request_id\":\"new-end\""));
    assert_eq!(status.code(), Some(4));
}

#[test]
fn a_line_that_the_recording_was_not_sent_is_refused() {
    let place = Place::new();
    record(&place);
    let mut child = start(&place);
    child.control("x", json!({"subtype": "interrupt"}));
    let (bytes, status, stderr) = child.rest();
    assert!(bytes.is_empty() && status.code() == Some(1) && stderr.contains("User"), "{stderr}");
}
