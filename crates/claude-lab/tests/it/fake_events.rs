//! What a child's lines say, in a form that can be compared: ids by name, times and texts of the CLI's own left out.
//!
//! Not compared by order, because the real CLI does several things at once:
//! - `queued` may come any time between the line that was written and its `started`; it is moved up to where it could
//!   have come first.
//! - stream events and `requesting` are compared apart from the other lines, with the deltas of a block merged.

use std::collections::HashMap;

use serde_json::Value;

/// Two sequences that are compared.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Events {
    pub(crate) lines: Vec<String>,
    pub(crate) stream: Vec<String>,
}

/// Names for ids, in the order in which they came up.
#[derive(Default)]
struct Names(HashMap<String, String>);

impl Names {
    fn of(&mut self, kind: &str, id: &Value) -> String {
        let Some(id) = id.as_str() else { return "-".to_owned() };
        if let Some(number) = id.strip_prefix("11111111-0000-4000-8000-0000000000") {
            return format!("u{}", number.trim_start_matches('0'));
        }
        let next = self.0.keys().filter(|key| key.starts_with(kind)).count() + 1;
        self.0.entry(format!("{kind} {id}")).or_insert(format!("{kind}{next}")).clone()
    }
}

/// Reads what children of one scenario said.
pub(crate) fn events(lines: &[Vec<u8>]) -> Events {
    let mut names = Names::default();
    let mut events = Events::default();
    for line in lines {
        let Ok(line) = serde_json::from_slice::<Value>(line) else {
            events.lines.push("no JSON".to_owned());
            continue;
        };
        if line["type"] == "stream_event" {
            let event = stream_event(&line["event"]);
            if events.stream.last() != Some(&event) {
                events.stream.push(event);
            }
        } else if line["subtype"] == "status" {
            events.stream.push(format!("{} {}", text(&line["status"]), uuids(&line)));
        } else if line["subtype"] != "thinking_tokens" {
            events.lines.push(describe(&line, &mut names));
        }
    }
    events.lines = settle_queued(events.lines);
    events
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("-")
}

fn uuids(line: &Value) -> String {
    let list = line["user_message_uuids"].as_array().cloned().unwrap_or_default();
    let names: Vec<String> = list.iter().map(|uuid| Names::default().of("u", uuid)).collect();
    names.join("+")
}

fn stream_event(event: &Value) -> String {
    let kind = text(&event["type"]);
    match kind {
        "content_block_start" => format!("{kind} {}", text(&event["content_block"]["type"])),
        "content_block_delta" => format!("{kind} {}", text(&event["delta"]["type"])),
        _ => kind.to_owned(),
    }
}

fn describe(line: &Value, names: &mut Names) -> String {
    match text(&line["type"]) {
        "system" => system(line, names),
        "assistant" => assistant(line),
        "user" => user(line),
        "result" => result(line),
        "command_lifecycle" => format!("{} {}", names.of("u", &line["command_uuid"]), text(&line["state"])),
        "control_request" => {
            let request = &line["request"];
            let name = names.of("p", &line["request_id"]);
            format!("asks {name} {} {}", text(&request["subtype"]), text(&request["tool_name"]))
        }
        "control_cancel_request" => format!("withdraws {}", names.of("p", &line["request_id"])),
        "control_response" => response(line, names),
        "conversation_reset" => format!("reset trigger={}", text(&line["trigger"])),
        other => format!("other {other}"),
    }
}

fn system(line: &Value, names: &mut Names) -> String {
    let session = names.of("s", &line["session_id"]);
    match text(&line["subtype"]) {
        "init" => format!("init {session} {} {}", text(&line["permissionMode"]), uuids(line)),
        "session_state_changed" => format!("state {}", text(&line["state"])),
        "background_tasks_changed" => {
            let tasks = line["tasks"].as_array().cloned().unwrap_or_default();
            let kinds: Vec<&str> = tasks.iter().map(|task| text(&task["task_type"])).collect();
            format!("tasks [{}]", kinds.join(","))
        }
        "task_started" => {
            format!("task {} started {}", names.of("t", &line["task_id"]), text(&line["task_type"]))
        }
        "task_updated" => {
            format!("task {} {}", names.of("t", &line["task_id"]), text(&line["patch"]["status"]))
        }
        "task_notification" => {
            format!("task {} notifies {}", names.of("t", &line["task_id"]), text(&line["status"]))
        }
        other => format!("system {other} {}", text(&line["tool_name"])),
    }
}

fn blocks(line: &Value) -> String {
    let content = line["message"]["content"].as_array().cloned().unwrap_or_default();
    let blocks: Vec<String> = content
        .iter()
        .map(|block| match text(&block["type"]) {
            "text" => format!("text {:?}", text(&block["text"]).trim()),
            "tool_use" => format!("tool_use {}", text(&block["name"])),
            "tool_result" => format!("tool_result error={}", block["is_error"]),
            other => other.to_owned(),
        })
        .collect();
    blocks.join(" ")
}

fn assistant(line: &Value) -> String {
    let model = if line["message"]["model"] == "<synthetic>" { " synthetic" } else { "" };
    let error = line["error"].as_str().map(|error| format!(" error={error}")).unwrap_or_default();
    let aborted = if line["aborted"] == true { " aborted" } else { "" };
    let parent = if line["parent_tool_use_id"].is_null() { "" } else { " subagent" };
    format!("assistant{model}{error}{aborted}{parent} {} {}", blocks(line), uuids(line))
}

fn user(line: &Value) -> String {
    format!("user {}", blocks(line))
}

fn result(line: &Value) -> String {
    let denials = line["permission_denials"].as_array().map_or(0, Vec::len);
    let errors = line["errors"].as_array().map_or(0, Vec::len);
    format!(
        "result {} error={} reason={} stop={} turns={} status={} text={:?} errors={errors} denials={denials} uuids={} index={} queued={}",
        text(&line["subtype"]),
        line["is_error"],
        text(&line["terminal_reason"]),
        text(&line["stop_reason"]),
        line["num_turns"],
        line["api_error_status"],
        line["result"].as_str().map(str::trim),
        uuids(line),
        line["result_index"],
        line["queued_turn_count"],
    )
}

fn response(line: &Value, names: &mut Names) -> String {
    let (response, body) = (&line["response"], &line["response"]["response"]);
    let mut said = format!("response {} {}", text(&response["request_id"]), text(&response["subtype"]));
    for key in ["still_queued", "cancelled", "message_uuid"] {
        match &body[key] {
            Value::Null => {}
            Value::Array(list) => {
                let list: Vec<String> = list.iter().map(|uuid| names.of("u", uuid)).collect();
                said += &format!(" {key}=[{}]", list.join(","));
            }
            Value::String(_) => said += &format!(" {key}={}", names.of("u", &body[key])),
            other => said += &format!(" {key}={other}"),
        }
    }
    if let Some(pending) = response["pending_permission_requests"].as_array() {
        let ids: Vec<String> = pending.iter().map(|request| names.of("p", &request["request_id"])).collect();
        said += &format!(" pending=[{}]", ids.join(","));
    }
    said
}

/// Moves each `queued` up, but not over what it must come after.
fn settle_queued(lines: Vec<String>) -> Vec<String> {
    let mut settled: Vec<String> = Vec::new();
    for line in lines {
        let fixed = |other: &String| {
            ["state ", "response ", "result "].iter().any(|start| other.starts_with(start))
                || other.ends_with(" queued")
        };
        let at = if line.ends_with(" queued") && line.starts_with('u') {
            settled.iter().rposition(fixed).map_or(0, |at| at + 1)
        } else {
            settled.len()
        };
        settled.insert(at, line);
    }
    settled
}
