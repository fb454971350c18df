//! What a message is made of.

use crate::known::Shape;
use crate::read::{Mode, Piece, Read, Scalar, object, pieces};
use serde::de::Deserializer;
use serde_json::value::RawValue;

/// How much of a tool result's text is kept in a view, in bytes: enough to show and to recognise, while results
/// themselves can be many megabytes.
pub const TEXT_HEAD: usize = 4096;

/// One block of a message.
#[derive(Clone, Debug)]
pub enum Block {
    /// Text of the model or of the user.
    Text(String),
    /// The model's thinking; empty where the child withholds it.
    Thinking(String),
    /// The model calls a tool.
    ToolUse {
        /// The call's id.
        id: String,
        /// The tool.
        name: String,
        /// Its input as it stands on the line; `None` where there is none.
        input: Option<Box<RawValue>>,
    },
    /// What a tool gave.
    ToolResult {
        /// The call that it answers.
        tool_use_id: String,
        /// The call failed, was denied, or was interrupted.
        is_error: bool,
        /// Length of all its text in bytes.
        text_len: usize,
        /// The first [`TEXT_HEAD`] bytes of its text, cut at a character.
        text: String,
    },
    /// An image; its data is not kept.
    Image,
    /// A type that has no view.
    Other(String),
}

object! {
    /// All block types at once: which fields count is decided by `kind` when the whole object was read.
    pub(crate) struct BlockBody {
        kind: String = "type",
        text: Option<String> = "text",
        thinking: Option<String> = "thinking",
        id: Option<String> = "id",
        name: Option<String> = "name",
        input: Option<Box<RawValue>> = "input",
        tool_use_id: Option<String> = "tool_use_id",
        is_error: bool = "is_error",
        content: Head = "content",
    }
    skip: ["signature", "source", "data", "citations", "cache_control", "caller"];
}

impl From<BlockBody> for Block {
    fn from(body: BlockBody) -> Self {
        match body.kind.as_str() {
            "text" => Self::Text(body.text.unwrap_or_default()),
            "thinking" => Self::Thinking(body.thinking.unwrap_or_default()),
            "tool_use" | "server_tool_use" | "mcp_tool_use" => Self::ToolUse {
                id: body.id.unwrap_or_default(),
                name: body.name.unwrap_or_default(),
                input: body.input,
            },
            "tool_result" => Self::ToolResult {
                tool_use_id: body.tool_use_id.unwrap_or_default(),
                is_error: body.is_error,
                text_len: body.content.len,
                text: body.content.text,
            },
            "image" => Self::Image,
            _ => Self::Other(body.kind),
        }
    }
}

/// The `content` of a message: a string is one text block (protocol page, "Getting the real CLI, offline").
#[derive(Clone, Debug, Default)]
pub(crate) struct Content(pub(crate) Vec<Block>);

impl<'de> Read<'de> for Content {
    const SHAPE: Shape = Shape::List(&BlockBody::SHAPE);

    fn read<D: Deserializer<'de>>(from: D, mode: Mode) -> Result<Option<Self>, D::Error> {
        let blocks = pieces::<BlockBody, D>(from, mode)?.into_iter().map(|piece| match piece {
            Piece::Text(text) => Block::Text(text.into_owned()),
            Piece::Object(body) => body.into(),
        });
        Ok(Some(Self(blocks.collect())))
    }
}

/// The text of a tool result, which is a string or a list of blocks: its length and its beginning.
#[derive(Clone, Debug, Default)]
struct Head {
    len: usize,
    text: String,
}

impl Head {
    fn push(&mut self, piece: &str, len: usize) {
        if !self.text.is_empty() && !piece.is_empty() {
            self.text.push('\n');
        }
        self.len += len;
        self.text.push_str(beginning(piece, TEXT_HEAD.saturating_sub(self.text.len())));
    }
}

impl<'de> Read<'de> for Head {
    const SHAPE: Shape = Shape::List(&ResultBlockBody::SHAPE);

    fn read<D: Deserializer<'de>>(from: D, mode: Mode) -> Result<Option<Self>, D::Error> {
        let mut head = Self::default();
        for piece in pieces::<ResultBlockBody, D>(from, mode)? {
            match piece {
                Piece::Text(text) => head.push(&text, text.len()),
                Piece::Object(ResultBlockBody { text: Some(cut) }) => head.push(&cut.text, cut.len),
                Piece::Object(_) => {}
            }
        }
        Ok(Some(head))
    }
}

object! {
    struct ResultBlockBody {
        text: Option<Cut> = "text",
    }
    skip: ["type", "source", "tool_name"];
}

/// A string of which only the beginning is kept.
#[derive(Clone, Debug, Default)]
struct Cut {
    len: usize,
    text: String,
}

impl<'de> Read<'de> for Cut {
    const SHAPE: Shape = Shape::Leaf;

    fn read<D: Deserializer<'de>>(from: D, mode: Mode) -> Result<Option<Self>, D::Error> {
        Ok(match Scalar::read(from, mode)? {
            Scalar::Text(text) => {
                Some(Self { len: text.len(), text: beginning(&text, TEXT_HEAD).to_owned() })
            }
            _ => None,
        })
    }
}

/// At most `max` bytes of `text`, cut at a character.
fn beginning(text: &str, max: usize) -> &str {
    let end = (0..=max.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or(0)]
}
