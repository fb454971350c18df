//! What a reply says, ready to be streamed or sent whole.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::cache::blocks;
use crate::price::bill::Tokens;
use crate::script::fill::Values;
use crate::script::{Hold, Reply, Step, Usage};

/// An answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) message_id: String,
    pub(super) model: String,
    pub(super) parts: Vec<Part>,
    pub(super) stop_reason: String,
    pub(super) tokens: Tokens,
}

/// One part, in order.
#[derive(Debug)]
pub(super) enum Part {
    Text(String),
    Thinking { text: String, signature: String },
    Tool { id: String, name: String, input: Value },
    Pause(Hold),
    Cut,
    Garble(String),
    Event { name: String, data: Value },
}

impl Answer {
    /// Fills in a reply. `identity` makes the ids: the same request gets the same ones.
    pub(super) fn new(reply: &Reply, values: &Values, identity: &str, input: Tokens) -> Answer {
        let id = |what: &str| format!("{what}_{}", short_hash(&format!("{what} {identity}")));
        let parts: Vec<Part> = reply
            .steps
            .iter()
            .enumerate()
            .map(|(index, step)| match step {
                Step::Say(text) => Part::Text(values.fill(text)),
                Step::Think(text) => {
                    Part::Thinking { text: values.fill(text), signature: id(&format!("signature{index}")) }
                }
                Step::Tool { name, input } => Part::Tool {
                    id: format!("toolu_{}", short_hash(&format!("tool{index} {identity}"))),
                    name: name.clone(),
                    input: values.fill_json(input),
                },
                Step::Pause(hold) => Part::Pause(hold.clone()),
                Step::Cut => Part::Cut,
                Step::Garble(text) => Part::Garble(values.fill(text)),
                Step::Event { name, data } => {
                    Part::Event { name: name.clone(), data: values.fill_json(data) }
                }
            })
            .collect();
        let calls_tool = parts.iter().any(|part| matches!(part, Part::Tool { .. }));
        let natural = if calls_tool { "tool_use" } else { "end_turn" };
        let output =
            parts.iter().filter_map(Part::content).map(|block| blocks::tokens(&block.to_string())).sum();
        Answer {
            message_id: id("msg"),
            model: values.model.clone(),
            stop_reason: reply.stop.clone().unwrap_or_else(|| natural.to_owned()),
            tokens: overridden(Tokens { output, ..input }, reply.usage),
            parts,
        }
    }

    /// Whether its client can't read it to the end: whether it counts what it read differs from version to version.
    pub(super) fn is_broken(&self) -> bool {
        self.parts.iter().any(|part| match part {
            Part::Cut | Part::Garble(_) => true,
            Part::Event { name, .. } => name == "error",
            _ => false,
        })
    }

    /// The usage object; `output` differs between the start of a stream and its end.
    pub(super) fn usage(&self, output: u64) -> Value {
        let t = &self.tokens;
        json!({
            "input_tokens": t.input,
            "cache_creation_input_tokens": t.cache_write_5m + t.cache_write_1h,
            "cache_read_input_tokens": t.cache_read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": t.cache_write_5m,
                "ephemeral_1h_input_tokens": t.cache_write_1h,
            },
            "output_tokens": output,
            "service_tier": "standard",
        })
    }

    /// The message with these contents.
    pub(super) fn message(&self, content: Vec<Value>, stop_reason: Option<&str>, output: u64) -> Value {
        json!({
            "id": self.message_id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": stop_reason,
            "stop_sequence": null,
            "usage": self.usage(output),
        })
    }
}

impl Part {
    /// The content block, for parts that are one.
    pub(super) fn content(&self) -> Option<Value> {
        match self {
            Part::Text(text) => Some(json!({"type": "text", "text": text})),
            Part::Thinking { text, signature } => {
                Some(json!({"type": "thinking", "thinking": text, "signature": signature}))
            }
            Part::Tool { id, name, input } => {
                Some(json!({"type": "tool_use", "id": id, "name": name, "input": input}))
            }
            Part::Pause(_) | Part::Cut | Part::Garble(_) | Part::Event { .. } => None,
        }
    }
}

fn overridden(counted: Tokens, said: Usage) -> Tokens {
    Tokens {
        input: said.input.unwrap_or(counted.input),
        output: said.output.unwrap_or(counted.output),
        cache_read: said.cache_read.unwrap_or(counted.cache_read),
        cache_write_5m: said.cache_write_5m.unwrap_or(counted.cache_write_5m),
        cache_write_1h: said.cache_write_1h.unwrap_or(counted.cache_write_1h),
    }
}

/// 24 letters that stand for a text.
pub(super) fn short_hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(12).map(|byte| format!("{byte:02x}")).collect()
}
