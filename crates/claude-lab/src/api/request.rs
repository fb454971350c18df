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
    /// The last tool result's text.
    pub(crate) result: String,
}

impl Request {
    /// Reads a request; the error is what to tell the client.
    pub(crate) fn read(headers: &HeaderMap, bytes: &[u8]) -> Result<Request, String> {
        let body: Value = serde_json::from_slice(bytes).map_err(|error| format!("the body is not JSON: {error}"))?;
        let model = body.get("model").and_then(Value::as_str).ok_or("model: field required")?.to_owned();
        let messages = body.get("messages").and_then(Value::as_array).ok_or("messages: field required")?;
        if messages.is_empty() {
            return Err("messages: at least one message is required".to_owned());
        }
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let system = texts(body.get("system")).join("\n");
        let turn = Turn::read(messages);
        let agent_id = header("x-claude-code-agent-id").unwrap_or_default();
        let lane = lane(&body, &system, &turn, &agent_id);
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

fn lane(body: &Value, system: &str, turn: &Turn, agent_id: &str) -> Lane {
    let no_tools = body.get("tools").and_then(Value::as_array).is_none_or(Vec::is_empty);
    let compacts = turn.text.contains("Your task is to create a detailed summary");
    if no_tools || compacts {
        Lane::Side
    } else if !agent_id.is_empty() || system.contains("cc_is_subagent=true") {
        Lane::Sub
    } else {
        Lane::Main
    }
}

impl Turn {
    /// Walks the messages once. Messages of one role in a row count as one; what has the role `system` is no message
    /// of anybody.
    fn read(messages: &[Value]) -> Turn {
        let mut turn = Turn::default();
        let mut group: Vec<&Value> = Vec::new();
        let mut answering = false;
        for message in messages {
            match message.get("role").and_then(Value::as_str) {
                Some("user") => {
                    answering = false;
                    group.push(message);
                }
                Some("assistant") => {
                    turn.take(&std::mem::take(&mut group));
                    if !answering {
                        turn.round += 1;
                    }
                    answering = true;
                }
                _ => {}
            }
        }
        turn.take(&group);
        turn
    }

    /// Reads what the user's side said between two answers.
    fn take(&mut self, group: &[&Value]) {
        let contents: Vec<Option<&Value>> = group.iter().map(|message| message.get("content")).collect();
        let blocks = || contents.iter().flat_map(|content| texts(*content));
        let results = contents.iter().flat_map(|content| items(*content)).filter(|block| kind(block) == "tool_result");
        let last_result = results.last();
        if let Some(result) = last_result {
            self.result = texts(result.get("content")).join("\n");
        }
        let prompt = blocks().rfind(|text| !is_reminder(text) && !text.starts_with("[Request interrupted by user"));
        if let Some(text) = prompt {
            self.notice = text.starts_with("<task-notification>");
            self.open(text);
        } else if last_result.is_none() && blocks().next().is_some() {
            self.notice = true;
            self.open(blocks().collect::<Vec<_>>().join("\n"));
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

fn is_reminder(text: &str) -> bool {
    text.trim_start().starts_with("<system-reminder>") || text.trim().is_empty()
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
