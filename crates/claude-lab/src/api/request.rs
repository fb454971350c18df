//! A Messages request: who asks, with what text, at which place of which turn.

use axum::http::HeaderMap;
use serde_json::Value;

use crate::price::bill::Lane;

/// What the lab needs to know of a request.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) body: Value,
    pub(crate) model: String,
    pub(crate) stream: bool,
    pub(crate) session_id: Option<String>,
    /// Names the subagent; empty in other lanes.
    pub(crate) agent_id: String,
    pub(crate) lane: Lane,
    pub(crate) turn: Turn,
    pub(crate) system: String,
}

/// Where in a conversation the request stands.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Turn {
    /// What opened the turn: the last user text, or a background task's notice.
    pub(crate) text: String,
    pub(crate) notice: bool,
    /// Prompts so far.
    pub(crate) number: usize,
    /// The model's answers since the turn opened.
    pub(crate) round: usize,
    /// What the tool that was called last gave.
    pub(crate) result: String,
}

impl Request {
    /// Reads a request; the error is what to tell the client.
    pub(crate) fn read(headers: &HeaderMap, bytes: &[u8]) -> Result<Request, String> {
        let body: Value =
            serde_json::from_slice(bytes).map_err(|error| format!("the body is not JSON: {error}"))?;
        let model = body.get("model").and_then(Value::as_str).ok_or("model: field required")?.to_owned();
        let messages = body.get("messages").and_then(Value::as_array).ok_or("messages: field required")?;
        if messages.is_empty() {
            return Err("messages: at least one message is required".to_owned());
        }
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let system = texts(body.get("system")).join("\n");
        let turn = Turn::read(messages);
        let agent_id = header("x-claude-code-agent-id").unwrap_or_default();
        let from_cli = header("user-agent").is_some_and(|agent| agent.starts_with("claude-cli/"));
        let lane = if from_cli && is_side(&body, &turn) {
            Lane::Side
        } else if !agent_id.is_empty() || system.contains("cc_is_subagent=true") {
            Lane::Sub
        } else {
            Lane::Main
        };
        Ok(Request {
            model,
            stream: body.get("stream").and_then(Value::as_bool).unwrap_or(false),
            session_id: header("x-claude-code-session-id").or_else(|| session_of_metadata(&body)),
            agent_id,
            lane,
            turn,
            system,
            body,
        })
    }
}

fn session_of_metadata(body: &Value) -> Option<String> {
    let user_id = body.get("metadata")?.get("user_id")?.as_str()?;
    let user: Value = serde_json::from_str(user_id).ok()?;
    Some(user.get("session_id")?.as_str()?.to_owned())
}

/// Claude Code's requests that are nobody's turn. Measured on 2.1.200 and 2.1.332: titles and classifiers have neither
/// tools nor `context_management`; a turn has the latter even under `--tools ""`.
fn is_side(body: &Value, turn: &Turn) -> bool {
    let no_tools = body.get("tools").and_then(Value::as_array).is_none_or(Vec::is_empty);
    is_compaction(&turn.text) || (no_tools && body.get("context_management").is_none())
}

/// The CLI asks for a summary of the conversation, with all its tools and streaming like a turn.
pub(super) fn is_compaction(text: &str) -> bool {
    text.contains("Your task is to create a detailed summary")
}

impl Turn {
    /// Walks the messages once. Messages of one role in a row count as one; what has the role `system` is no message
    /// of anybody.
    fn read(messages: &[Value]) -> Turn {
        let mut turn = Turn::default();
        let mut group: Vec<&Value> = Vec::new();
        let mut answering = false;
        let mut calls: Vec<&str> = Vec::new();
        for message in messages {
            match message.get("role").and_then(Value::as_str) {
                Some("user") => {
                    answering = false;
                    group.push(message);
                }
                Some("assistant") => {
                    turn.take(&std::mem::take(&mut group), &calls);
                    if !answering {
                        turn.round += 1;
                        calls.clear();
                    }
                    answering = true;
                    let blocks =
                        items(message.get("content")).iter().filter(|block| kind(block) == "tool_use");
                    calls.extend(blocks.filter_map(|block| block.get("id")?.as_str()));
                }
                _ => {}
            }
        }
        turn.take(&group, &calls);
        turn
    }

    /// Reads what the user's side said between two answers; `calls` are the ids of the tools that the last one called.
    fn take(&mut self, group: &[&Value], calls: &[&str]) {
        let contents: Vec<Option<&Value>> = group.iter().map(|message| message.get("content")).collect();
        let blocks = || contents.iter().flat_map(|content| texts(*content));
        let results =
            contents.iter().flat_map(|content| items(*content)).filter(|block| kind(block) == "tool_result");
        // Results come in the order in which the tools ended; the script's order is that of the calls.
        let called = |block: &&&Value| {
            let id = block.get("tool_use_id").and_then(Value::as_str);
            calls.iter().position(|call| Some(*call) == id)
        };
        let results: Vec<&Value> = results.collect();
        if let Some(result) = results.iter().max_by_key(called) {
            self.result = without_reminders(&texts(result.get("content")).join("\n"));
        }
        let prompt = blocks().rfind(|text| !is_reminder(text) && !is_interruption(text) && !is_resume(text));
        if let Some(text) = prompt {
            self.notice = text.starts_with("<task-notification>");
            self.open(text);
        } else if blocks().any(|text| is_resume(&text)) {
            // The answer so far was only a part: the same place is asked for again.
            self.round = self.round.saturating_sub(1);
        } else if let Some(text) = blocks().find(|text| text.contains("[SYSTEM NOTIFICATION")) {
            self.notice = true;
            self.open(text);
        }
    }

    fn open(&mut self, text: String) {
        self.text = text;
        self.round = 0;
        self.result.clear();
        if !self.notice {
            self.number += 1;
        }
    }
}

fn is_interruption(text: &str) -> bool {
    text.starts_with("[Request interrupted by user")
}

/// What the CLI says when an answer broke off in its stream or hit the token limit; newer ones inside a reminder.
fn is_resume(text: &str) -> bool {
    let text = text.trim_start().trim_start_matches("<system-reminder>").trim_start();
    text.starts_with("Your response above was cut off mid-stream")
        || text.starts_with("Output token limit hit.")
}

fn is_reminder(text: &str) -> bool {
    text.trim_start().starts_with("<system-reminder>") || text.trim().is_empty()
}

/// A tool result without what the CLI hung on to it.
fn without_reminders(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<system-reminder>") {
        kept.push_str(before);
        rest = after.split_once("</system-reminder>").map_or("", |(_, after)| after);
    }
    kept.push_str(rest);
    kept.trim_end().to_owned()
}

fn items(content: Option<&Value>) -> &[Value] {
    content.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn kind(block: &Value) -> &str {
    block.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// The texts of a content: a string is one.
fn texts(content: Option<&Value>) -> Vec<String> {
    match content {
        Some(Value::String(text)) => vec![text.clone()],
        other => {
            let texts = items(other).iter().filter(|block| kind(block) == "text");
            texts.filter_map(|block| block.get("text")?.as_str()).map(str::to_owned).collect()
        }
    }
}

#[cfg(test)]
#[path = "request/tests.rs"]
mod tests;
