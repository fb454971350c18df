//! What the model says: blocks that stream, and the lines that hold them.

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::engine::{Engine, Flow};
use super::script::{Piece, Usage};
use super::stamp;
use super::tools::{Call, CallKind};

/// A message of the model that is streaming.
#[derive(Debug)]
pub(super) struct Open {
    id: String,
    blocks: u64,
    pub(super) calls: Vec<Call>,
    /// What has streamed of a text block that is not finished.
    pub(super) partial: Option<String>,
}

/// What a message costs where the script says nothing.
const MESSAGE_USD: f64 = 0.000_511_5;

impl Engine {
    /// Streams a text block; it may wait in the middle.
    pub(super) fn say(&mut self, pieces: &[Piece]) -> Flow {
        self.open_message()?;
        self.stream_block_start(&json!({"type": "text", "text": ""}));
        self.set_partial(Some(String::new()));
        let mut text = String::new();
        for piece in pieces {
            match piece {
                Piece::Text(part) => {
                    let part = self.fill(part);
                    for word in part.split_inclusive(' ') {
                        self.stream_delta(&json!({"type": "text_delta", "text": word}));
                    }
                    text.push_str(&part);
                    self.set_partial(Some(text.clone()));
                }
                Piece::Pause(pause) => self.wait(pause)?,
            }
            self.check()?;
        }
        self.set_partial(None);
        self.block(&json!({"type": "text", "text": text}), false);
        if let Some(live) = &mut self.live {
            live.text = text;
        }
        Ok(())
    }

    pub(super) fn think(&mut self, text: &str) -> Flow {
        self.open_message()?;
        self.stream_block_start(&json!({"type": "thinking", "thinking": "", "signature": ""}));
        self.stream_delta(&json!({"type": "thinking_delta", "thinking": text}));
        self.stream_delta(&json!({"type": "signature_delta", "signature": "c2ln"}));
        self.block(&json!({"type": "thinking", "thinking": text, "signature": "c2ln"}), false);
        Ok(())
    }

    /// A tool call: it runs when the message is complete.
    pub(super) fn call(&mut self, kind: CallKind) -> Flow {
        if self.open().is_none() {
            self.open_message()?;
        }
        let id = format!("toolu_{}", &Uuid::new_v4().simple().to_string()[..20]);
        let (name, input) = match &kind {
            CallKind::Tool(tool) => (tool.name.clone(), tool.input.clone()),
            CallKind::Background(task) if task.agent => {
                ("Agent".to_owned(), json!({"description": task.what, "prompt": task.what}))
            }
            CallKind::Background(task) => {
                ("Bash".to_owned(), json!({"command": task.what, "run_in_background": true}))
            }
        };
        self.stream_block_start(&json!({"type": "tool_use", "id": id, "name": name, "input": {}}));
        self.stream_delta(&json!({"type": "input_json_delta", "partial_json": input.to_string()}));
        self.block(&json!({"type": "tool_use", "id": id, "name": name, "input": input}), false);
        if let Some(open) = self.open() {
            open.calls.push(Call { id, kind });
        }
        Ok(())
    }

    /// Begins a message unless one is open that can go on.
    fn open_message(&mut self) -> Flow {
        if self.open().is_some() {
            return Ok(());
        }
        if self.options.partial {
            self.requesting();
        }
        self.check()?;
        let id = format!("msg_{}", &Uuid::new_v4().simple().to_string()[..20]);
        let message = json!({
            "id": id, "type": "message", "role": "assistant", "model": self.options.model, "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": self.usage(1),
        });
        self.stream(&json!({"type": "message_start", "message": message}));
        if let Some(live) = &mut self.live {
            live.open = Some(Open { id, blocks: 0, calls: Vec::new(), partial: None });
        }
        self.transcript.flush();
        Ok(())
    }

    /// Completes the open message if it has calls.
    pub(super) fn finish_calls(&mut self) -> Flow {
        if self.open().is_some_and(|open| !open.calls.is_empty()) { self.close_message() } else { Ok(()) }
    }

    /// Says that the API is being asked.
    pub(super) fn requesting(&mut self) {
        let mut line = json!({"type": "system", "subtype": "status", "status": "requesting"});
        if self.habits.names_requests {
            self.name_prompts(&mut line, false);
        }
        self.emit(line);
    }

    /// Completes the open message and runs its calls.
    pub(super) fn close_message(&mut self) -> Flow {
        let Some(open) = self.live.as_mut().and_then(|live| live.open.take()) else { return Ok(()) };
        let reason = if open.calls.is_empty() { "end_turn" } else { "tool_use" };
        self.pay();
        let over = if open.calls.is_empty() { Ok(()) } else { self.over_budget() };
        self.stream_end(reason, if over.is_err() { self.habits.budget_stream_events } else { 2 });
        if let Some(live) = &mut self.live {
            live.stop_reason = Some(reason);
        }
        if open.calls.is_empty() {
            return Ok(());
        }
        over?;
        self.pump(Some(std::time::Instant::now()))?;
        if let Some(live) = &mut self.live {
            live.in_tools = true;
        }
        self.run_calls(open.calls)?;
        if let Some(live) = &mut self.live {
            live.in_tools = false;
        }
        self.over_turns()?;
        self.steer();
        Ok(())
    }

    /// Counts what a message costs.
    pub(super) fn pay(&mut self) {
        if let Some(live) = &mut self.live {
            live.calls += 1;
            live.usd += MESSAGE_USD;
        }
    }

    /// The two events that end a message, or only the first `count` of them.
    pub(super) fn stream_end(&mut self, reason: &str, count: u8) {
        let delta = json!({"stop_reason": reason, "stop_sequence": null});
        if count > 0 {
            self.stream(&json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 7}}));
        }
        if count > 1 {
            self.stream(&json!({"type": "message_stop"}));
        }
    }

    /// The `assistant` line of a finished block, and the end of its stream.
    pub(super) fn block(&mut self, block: &Value, aborted: bool) {
        let (id, index) = match self.open() {
            Some(open) => {
                open.blocks += 1;
                (open.id.clone(), open.blocks - 1)
            }
            None => (Uuid::new_v4().to_string(), 0),
        };
        let message = json!({
            "id": id, "type": "message", "role": "assistant", "model": self.options.model, "content": [block],
            "stop_reason": null, "stop_sequence": null, "usage": self.usage(1), "context_management": null,
        });
        let first = self.live.as_ref().is_some_and(|live| !live.spoke);
        let mut line = json!({"type": "assistant", "message": message, "parent_tool_use_id": null});
        if aborted && self.habits.lifecycle {
            line["aborted"] = json!(true);
        }
        self.assistant(line, first);
        if !aborted {
            self.stream(&json!({"type": "content_block_stop", "index": index}));
        }
    }

    /// Writes an `assistant` line and its row.
    pub(super) fn assistant(&mut self, mut line: Value, names: bool) {
        let uuid = Uuid::new_v4().to_string();
        line["uuid"] = json!(uuid);
        if self.habits.lifecycle {
            line["timestamp"] = json!(stamp::now());
        }
        if names {
            self.name_prompts(&mut line, true);
        }
        let message = line["message"].clone();
        self.emit(line);
        self.transcript.message("assistant", &uuid, &message, Map::new());
        self.transcript.flush();
        if let Some(live) = &mut self.live {
            live.spoke = true;
        }
    }

    fn open(&mut self) -> Option<&mut Open> {
        self.live.as_mut().and_then(|live| live.open.as_mut())
    }

    fn set_partial(&mut self, text: Option<String>) {
        if let Some(open) = self.open() {
            open.partial = text;
        }
    }

    fn stream_block_start(&mut self, block: &Value) {
        let index = self.open().map_or(0, |open| open.blocks);
        self.stream(&json!({"type": "content_block_start", "index": index, "content_block": block}));
    }

    fn stream_delta(&mut self, delta: &Value) {
        let index = self.open().map_or(0, |open| open.blocks);
        self.stream(&json!({"type": "content_block_delta", "index": index, "delta": delta}));
    }

    pub(super) fn stream(&mut self, event: &Value) {
        if self.options.partial {
            self.emit(json!({"type": "stream_event", "event": event, "parent_tool_use_id": null}));
        }
    }

    /// The usage of one message.
    pub(super) fn usage(&self, output: u64) -> Value {
        let usage = self.live.as_ref().map_or_else(Usage::default, |live| live.usage);
        usage_of(usage, usage.output.unwrap_or(output), 1)
    }

    /// Text with `$text` (the prompt) and `$session` filled in.
    fn fill(&self, text: &str) -> String {
        if !text.contains('$') {
            return text.to_owned();
        }
        let prompt =
            self.live.as_ref().and_then(|live| live.prompts.first()).map_or("", |prompt| prompt.text());
        text.replace("$text", prompt).replace("$session", &self.session)
    }
}

/// Usage as the API writes it, of `times` messages.
pub(super) fn usage_of(usage: Usage, output: u64, times: u64) -> Value {
    let (short, long) = (usage.cache_write_5m.unwrap_or(100), usage.cache_write_1h.unwrap_or(0));
    json!({
        "input_tokens": usage.input.unwrap_or(10) * times,
        "cache_creation_input_tokens": (short + long) * times,
        "cache_read_input_tokens": usage.cache_read.unwrap_or(5) * times,
        "output_tokens": output * times,
        "cache_creation": {
            "ephemeral_5m_input_tokens": short * times, "ephemeral_1h_input_tokens": long * times,
        },
    })
}
