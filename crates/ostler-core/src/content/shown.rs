//! What a person is shown of a message. Whatever is stored can be shown: it was checked when it was accepted.

use super::Kind;
use serde_json::Value;

/// A message for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Its text blocks, one below the other.
    pub text: String,
    /// What else there is.
    pub attached: Vec<Attached>,
}

/// An image or document of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    /// `image`, `document`, or whatever else its type is.
    pub what: String,
    /// Its title, its address, or what it is: `png`, `pdf`, `text`.
    pub name: String,
    /// Its size in bytes, if it lies in the message.
    pub bytes: Option<u64>,
}

/// A stored message for people.
#[must_use]
pub fn shown(stored: &[u8]) -> Shown {
    match serde_json::from_slice::<Value>(stored) {
        Ok(Value::String(text)) => Shown { text, attached: Vec::new() },
        Ok(Value::Array(blocks)) => of_blocks(&blocks),
        _ => Shown { text: String::from_utf8_lossy(stored).into_owned(), attached: Vec::new() },
    }
}

fn of_blocks(blocks: &[Value]) -> Shown {
    let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    let others = blocks.iter().filter(|block| !block["text"].is_string());
    Shown { text: texts.join("\n"), attached: others.map(attached).collect() }
}

fn attached(block: &Value) -> Attached {
    let source = &block["source"];
    let data = source["data"].as_str();
    let kind = source["media_type"].as_str().map(|name| Kind::of_media_type(name).map_or("text", Kind::word));
    let name = block["title"].as_str().filter(|t| !t.is_empty()).or(source["url"].as_str()).or(kind);
    let bytes = data.map(|data| match source["type"].as_str() {
        Some("base64") => decoded_len(data),
        _ => data.len() as u64,
    });
    Attached {
        what: block["type"].as_str().unwrap_or("block").to_owned(),
        name: name.unwrap_or_default().to_owned(),
        bytes,
    }
}

fn decoded_len(data: &str) -> u64 {
    let padding = data.bytes().rev().take_while(|b| *b == b'=').count();
    (data.len() / 4 * 3).saturating_sub(padding) as u64
}
