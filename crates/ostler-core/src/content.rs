//! What a message says: text, or content blocks that were found good before anything was accepted.
//!
//! The API answers a block that it doesn't take with an error, and so does every later request of that conversation,
//! for the block stays in the transcript. So what can be known beforehand is checked here: `content/check.rs`.
//!
//! | file | subject |
//! | --- | --- |
//! | `content/check.rs` | which blocks are good |
//! | `content/command.rs` | which texts the CLI would take for commands |
//! | `content/kind.rs` | what bytes are, by how they begin |
//! | `content/shown.rs` | what a person is shown of a message |

mod check;
mod command;
mod kind;
mod shown;

pub use check::{BlockError, MAX_IMAGE};
pub use command::{SWAPPING, literally, swapping_command};
pub use kind::Kind;
pub use shown::{Attached, Shown, shown};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The longest message that is accepted, in bytes: of text, or of blocks as JSON. Older CLIs send more on to the API and
/// newer ones answer "Prompt is too long" (protocol page).
pub const MAX_MESSAGE: usize = 8 << 20;

/// What a message says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Plain text.
    Text(String),
    /// Text, images, documents.
    Blocks(Blocks),
}

/// A list of content blocks that was found good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// A JSON array without white space or doubtful fields: the same blocks are the same bytes.
    json: String,
}

/// One block.
#[derive(Clone, Debug)]
pub struct Block(Value);

/// Why something is no list of blocks that can be sent.
#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    /// Not JSON; a lone surrogate is none either.
    #[error("the content is not JSON")]
    NotJson(#[source] serde_json::Error),
    /// JSON, but something else.
    #[error("the content is no JSON array of blocks")]
    NotAnArray,
    /// Nothing to say.
    #[error("the content has no blocks")]
    NoBlocks,
    /// One of them.
    #[error("block {index} of the content can't be sent")]
    Block {
        /// Its place, from 0.
        index: usize,
        /// Why.
        #[source]
        source: BlockError,
    },
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl Content {
    /// Nothing is said. Blocks always say something.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        matches!(self, Self::Text(text) if text.trim().is_empty())
    }

    /// Its length in bytes, as [`MAX_MESSAGE`] counts.
    #[must_use]
    pub fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Blocks(blocks) => blocks.json.len(),
        }
    }

    /// As it is stored: a JSON string, or the JSON array.
    #[must_use]
    pub fn to_stored(&self) -> Vec<u8> {
        match self {
            Self::Text(text) => Value::from(text.as_str()).to_string().into_bytes(),
            Self::Blocks(blocks) => blocks.json.clone().into_bytes(),
        }
    }

    /// What was stored, to be sent again. It is not checked again.
    #[must_use]
    pub fn from_stored(stored: &[u8]) -> Self {
        let text = String::from_utf8_lossy(stored).into_owned();
        match serde_json::from_str::<String>(&text) {
            Ok(text) => Self::Text(text),
            Err(_) => Self::Blocks(Blocks { json: text }),
        }
    }
}

/// What was stored, as it is written to a child: the same each time. It is not checked again: what was accepted is
/// delivered.
#[must_use]
pub fn to_wire(stored: &[u8]) -> claude_wire::Content {
    let text = String::from_utf8_lossy(stored).into_owned();
    match serde_json::from_str::<String>(&text) {
        Ok(text) => claude_wire::Content::Text(text),
        Err(_) => match RawValue::from_string(text) {
            Ok(raw) => claude_wire::Content::Blocks(raw),
            Err(_) => claude_wire::Content::Text(String::from_utf8_lossy(stored).into_owned()),
        },
    }
}

impl Blocks {
    /// Reads a JSON array of blocks as the Messages API has them.
    ///
    /// # Errors
    /// It is no such array, or holds a block that is not good.
    pub fn parse(json: &str) -> Result<Self, ContentError> {
        let value: Value = serde_json::from_str(json).map_err(ContentError::NotJson)?;
        let Value::Array(blocks) = value else { return Err(ContentError::NotAnArray) };
        Self::of(blocks.into_iter().map(Block).collect())
    }

    /// A list of blocks.
    ///
    /// # Errors
    /// It is empty, or holds a block that is not good.
    pub fn of(blocks: Vec<Block>) -> Result<Self, ContentError> {
        if blocks.is_empty() {
            return Err(ContentError::NoBlocks);
        }
        for (index, block) in blocks.iter().enumerate() {
            check::block(&block.0).map_err(|source| ContentError::Block { index, source })?;
        }
        let all = Value::Array(blocks.into_iter().map(|block| block.0).collect());
        Ok(Self { json: all.to_string() })
    }

    /// The JSON array.
    #[must_use]
    pub fn json(&self) -> &str {
        &self.json
    }

    /// The texts of its text blocks.
    #[must_use]
    pub fn texts(&self) -> Vec<String> {
        let blocks: Vec<Value> = serde_json::from_str(&self.json).unwrap_or_default();
        blocks.iter().filter_map(|block| block["text"].as_str().map(str::to_owned)).collect()
    }
}

impl Block {
    /// Text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self(json!({"type": "text", "text": text}))
    }

    /// An image, by what its bytes are.
    ///
    /// # Errors
    /// It is none that the API takes, or too large.
    pub fn image(bytes: &[u8]) -> Result<Self, BlockError> {
        let found = Kind::of(bytes);
        let Some(kind) = found.filter(|kind| kind.is_image()) else {
            return Err(BlockError::NoImage { found });
        };
        let data = STANDARD.encode(bytes);
        let source = json!({"type": "base64", "media_type": kind.media_type(), "data": data});
        Self(json!({"type": "image", "source": source})).checked()
    }

    /// A document, by what its bytes are: a PDF, or text; `title` is its name.
    ///
    /// # Errors
    /// It is neither, or there is nothing in it.
    pub fn document(title: &str, bytes: &[u8]) -> Result<Self, BlockError> {
        let source = match (Kind::of(bytes), std::str::from_utf8(bytes)) {
            (Some(Kind::Pdf), _) => {
                json!({"type": "base64", "media_type": Kind::Pdf.media_type(), "data": STANDARD.encode(bytes)})
            }
            (None, Ok(text)) if !text.contains('\0') => {
                json!({"type": "text", "media_type": "text/plain", "data": text})
            }
            (found, _) => return Err(BlockError::NoDocument { found }),
        };
        Self(json!({"type": "document", "title": title, "source": source})).checked()
    }

    fn checked(self) -> Result<Self, BlockError> {
        check::block(&self.0)?;
        Ok(self)
    }
}
