//! A request as the cache sees it: a row of blocks, each with its tokens and with the hash of everything up to it.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::Ttl;

/// A request's input.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// One entry a block.
    pub(crate) prefixes: Vec<Prefix>,
    /// Where prefixes that may be cached end, in order.
    pub(crate) marks: Vec<Mark>,
}

/// Everything up to and including one block.
#[derive(Debug)]
pub(crate) struct Prefix {
    pub(crate) hash: String,
    pub(crate) tokens: u64,
}

/// A `cache_control`.
#[derive(Debug)]
pub(crate) struct Mark {
    /// How many blocks it covers, at least 1.
    pub(crate) blocks: usize,
    pub(crate) ttl: Ttl,
}

impl Blocks {
    /// Reads the blocks of a request body.
    pub(crate) fn of(body: &Value, model: &str) -> Blocks {
        let mut row = Row { chain: Sha256::digest(model.as_bytes()).into(), blocks: Blocks::default() };
        for tool in items(body.get("tools")) {
            row.add("tool", tool);
        }
        row.add_content("system", body.get("system"));
        for message in items(body.get("messages")) {
            // Only role and content: settings that ride on a message are no part of the text.
            let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
            row.add_content(role, message.get("content"));
        }
        if let (Some(control), Some(_)) = (body.get("cache_control"), row.blocks.prefixes.last()) {
            row.mark(control);
        }
        row.blocks
    }

    /// Tokens of the first `blocks` blocks.
    pub(crate) fn tokens_up_to(&self, blocks: usize) -> u64 {
        blocks.checked_sub(1).map_or(0, |last| self.prefixes[last].tokens)
    }

    /// Hash of the whole request.
    pub(crate) fn whole(&self) -> &str {
        self.prefixes.last().map_or("", |prefix| prefix.hash.as_str())
    }
}

fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

struct Row {
    chain: [u8; 32],
    blocks: Blocks,
}

impl Row {
    /// A string is one text block.
    fn add_content(&mut self, role: &str, content: Option<&Value>) {
        match content {
            Some(Value::String(text)) => {
                let mut block = Map::new();
                block.insert("type".to_owned(), Value::from("text"));
                block.insert("text".to_owned(), Value::from(text.as_str()));
                self.add(role, &Value::Object(block));
            }
            other => {
                for block in items(other) {
                    self.add(role, block);
                }
            }
        }
    }

    fn add(&mut self, role: &str, block: &Value) {
        if is_billing_header(block) {
            return;
        }
        let mut text = String::new();
        canonical(block, &mut text);
        let mut hash = Sha256::new();
        hash.update(self.chain);
        hash.update(role.as_bytes());
        hash.update([0]);
        hash.update(text.as_bytes());
        self.chain = hash.finalize().into();
        let before = self.blocks.prefixes.last().map_or(0, |prefix| prefix.tokens);
        let hash = self.chain.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        self.blocks.prefixes.push(Prefix { hash, tokens: before + tokens(&text) });
        if let Some(control) = block.get("cache_control").filter(|control| !control.is_null()) {
            self.mark(control);
        }
    }

    fn mark(&mut self, control: &Value) {
        let ttl = match control.get("ttl").and_then(Value::as_str) {
            Some("1h") => Ttl::OneHour,
            _ => Ttl::FiveMinutes,
        };
        self.blocks.marks.push(Mark { blocks: self.blocks.prefixes.len(), ttl });
    }
}

/// Claude Code puts a block of its own in front of the system prompt whose end changes with the first message. It is
/// addressed to the API, not to the model: prefixes behind it are shared all the same (many public threads on proxies
/// that took it for prompt text and lost every cache hit).
fn is_billing_header(block: &Value) -> bool {
    let text = block.get("text").and_then(Value::as_str);
    text.is_some_and(|text| text.starts_with("x-anthropic-billing-header:"))
}

/// The lab's tokenizer: a token for every four bytes begun of a block's canonical text. It is fixed, so that the same
/// request always has the same price.
pub(crate) fn tokens(text: &str) -> u64 {
    (text.len() as u64).div_ceil(4)
}

/// JSON with sorted keys and without `cache_control`: equal texts for blocks that the cache takes for equal. A
/// tool result's string and its one text block are equal too.
fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(fields) => {
            out.push('{');
            let mut keys: Vec<&String> = fields.keys().filter(|key| *key != "cache_control").collect();
            keys.sort_unstable();
            for (index, key) in keys.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                canonical(&fields[key], out);
            }
            out.push('}');
        }
        Value::Array(list) => match lone_text(list) {
            Some(text) => out.push_str(&text.to_string()),
            None => {
                out.push('[');
                for (index, item) in list.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    canonical(item, out);
                }
                out.push(']');
            }
        },
        plain => out.push_str(&plain.to_string()),
    }
}

fn lone_text(list: &[Value]) -> Option<&Value> {
    let [Value::Object(block)] = list else { return None };
    let text = block.get("text").filter(|text| text.is_string())?;
    let plain = block.keys().all(|key| matches!(key.as_str(), "type" | "text" | "cache_control"));
    (plain && block.get("type").and_then(Value::as_str) == Some("text")).then_some(text)
}
