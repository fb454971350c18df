//! Prompts, their receipts, and what is known of their uuids.

use serde_json::{Value, json};

use super::engine::Engine;
use super::script::Receipts;

/// A `user` line.
#[derive(Debug, Clone)]
pub(super) struct Prompt {
    pub(super) uuid: Option<String>,
    pub(super) content: Value,
    /// `priority: "now"`: ends the running turn.
    pub(super) now: bool,
}

impl Prompt {
    pub(super) fn read(line: &Value) -> Self {
        Self {
            uuid: line["uuid"].as_str().map(str::to_owned),
            content: line["message"]["content"].clone(),
            now: line["priority"] == "now",
        }
    }

    /// Its text: of blocks, the last text block.
    pub(super) fn text(&self) -> &str {
        match &self.content {
            Value::String(text) => text,
            Value::Array(blocks) => {
                blocks.iter().rev().find_map(|block| block["text"].as_str()).unwrap_or_default()
            }
            _ => "",
        }
    }
}

impl Engine {
    /// Takes a prompt from stdin.
    pub(super) fn accept(&mut self, prompt: Prompt) {
        if let Some(uuid) = &prompt.uuid {
            let again = !self.seen.insert(uuid.clone());
            let answered = self.past.answered.contains(uuid);
            if again || answered {
                // Read before by this process: no line for it. Answered in the transcript: completed at once, and with
                // `--replay-user-messages` it is replayed all the same.
                if !again {
                    if self.options.replays {
                        let message = json!({"role": "user", "content": prompt.content});
                        self.emit(json!({
                            "type": "user", "message": message, "parent_tool_use_id": null, "uuid": uuid,
                            "isReplay": true,
                        }));
                    }
                    self.receipt(&prompt, "completed");
                }
                if self.live.is_none() && self.queue.is_empty() {
                    self.state("idle");
                }
                return;
            }
        }
        if self.live.is_none() && self.queue.is_empty() {
            self.running();
        }
        self.receipt(&prompt, "queued");
        if prompt.now && self.live.is_some() {
            self.stop = Some(super::engine::Why::Now);
        }
        self.queue.push_back(prompt);
    }

    /// Says what became of a prompt, where this version does.
    pub(super) fn receipt(&mut self, prompt: &Prompt, state: &str) {
        let Some(uuid) = &prompt.uuid else { return };
        if !self.habits.lifecycle || self.receipts() == Receipts::Never {
            return;
        }
        let line = json!({"type": "command_lifecycle", "command_uuid": uuid, "state": state});
        self.emit_ending(line);
    }

    /// How the receipts of the running turn come.
    pub(super) fn receipts(&self) -> Receipts {
        self.live.as_ref().map(|live| live.receipts.clone()).unwrap_or_default()
    }

    /// Drops what is queued, and says so.
    pub(super) fn drop_queue(&mut self, state: &str) -> Vec<Value> {
        let dropped: Vec<Prompt> = self.queue.drain(..).collect();
        for prompt in &dropped {
            self.receipt(prompt, state);
        }
        dropped.into_iter().filter_map(|prompt| prompt.uuid.map(Value::from)).collect()
    }

    /// The uuids of what is queued.
    pub(super) fn queued(&self) -> Vec<Value> {
        self.queue.iter().filter_map(|prompt| prompt.uuid.clone().map(Value::from)).collect()
    }
}
