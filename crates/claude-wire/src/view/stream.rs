//! `stream_event`: an answer while it is being written. Transient; the `assistant` line is what counts.

use super::Common;
use super::turn::MessageBody;
use super::usage::{Usage, UsageBody};
use crate::read::object;

/// `stream_event`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamEvent {
    /// Ids. `parent_tool_use_id` is the lane.
    pub common: Common,
    /// What happened.
    pub event: Event,
}

/// An event of the Messages API's stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A message begins.
    MessageStart {
        /// Its id.
        message_id: Option<String>,
        /// The model that writes it.
        model: Option<String>,
        /// Input and cache tokens.
        usage: Option<Usage>,
    },
    /// A block begins.
    BlockStart {
        /// Its number in the message.
        index: u64,
        /// `text`, `thinking`, `tool_use`, …
        kind: String,
        /// The call's id, for a tool use.
        id: Option<String>,
        /// The tool's name, for a tool use.
        name: Option<String>,
    },
    /// More text.
    TextDelta {
        /// Its block.
        index: u64,
        /// The text.
        text: String,
    },
    /// More thinking.
    ThinkingDelta {
        /// Its block.
        index: u64,
        /// The text.
        thinking: String,
    },
    /// More of a tool's input.
    InputDelta {
        /// Its block.
        index: u64,
        /// A piece of JSON text.
        partial_json: String,
    },
    /// Another delta: a signature, a citation, or a type that this version doesn't know.
    OtherDelta {
        /// Its block.
        index: u64,
        /// The delta's type.
        kind: String,
    },
    /// A block is complete.
    BlockStop {
        /// Its number in the message.
        index: u64,
    },
    /// The message is nearly over.
    MessageDelta {
        /// Why the model stopped.
        stop_reason: Option<String>,
        /// Output tokens at least.
        usage: Option<Usage>,
    },
    /// The message is complete.
    MessageStop,
    /// An event that this version doesn't know; also `ping` and `error`.
    Other(String),
}

impl Default for Event {
    fn default() -> Self {
        Self::Other(String::new())
    }
}

object! {
    pub(crate) struct StreamEventBody {
        event: EventBody = "event",
    }
    rest: common: Common;
    skip: [
        "ttft_ms", "api_message_id", "user_message_uuid", "user_message_uuids", "thinking_display", "owed_rows",
        "resume_reason",
    ];
}

object! {
    /// All events at once: which fields count is decided by `kind` when the whole object was read.
    struct EventBody {
        kind: String = "type",
        index: u64 = "index",
        delta: DeltaBody = "delta",
        block: StartedBlock = "content_block",
        message: MessageBody = "message",
        usage: Option<UsageBody> = "usage",
    }
    skip: ["context_management"];
}

object! {
    struct DeltaBody {
        kind: String = "type",
        text: String = "text",
        thinking: String = "thinking",
        partial_json: String = "partial_json",
        stop_reason: Option<String> = "stop_reason",
    }
    skip: ["stop_sequence", "signature", "citation", "container"];
}

object! {
    struct StartedBlock {
        kind: String = "type",
        id: Option<String> = "id",
        name: Option<String> = "name",
    }
    skip: ["text", "thinking", "signature", "input", "data", "caller"];
}

impl From<StreamEventBody> for StreamEvent {
    fn from(body: StreamEventBody) -> Self {
        Self { common: body.common, event: body.event.into() }
    }
}

impl From<EventBody> for Event {
    fn from(body: EventBody) -> Self {
        let index = body.index;
        match body.kind.as_str() {
            "message_start" => {
                let (message_id, model, usage) = body.message.start();
                Self::MessageStart { message_id, model, usage }
            }
            "content_block_start" => {
                let block = body.block;
                Self::BlockStart { index, kind: block.kind, id: block.id, name: block.name }
            }
            "content_block_delta" => body.delta.into_event(index),
            "content_block_stop" => Self::BlockStop { index },
            "message_delta" => {
                Self::MessageDelta { stop_reason: body.delta.stop_reason, usage: body.usage.map(Into::into) }
            }
            "message_stop" => Self::MessageStop,
            _ => Self::Other(body.kind),
        }
    }
}

impl DeltaBody {
    fn into_event(self, index: u64) -> Event {
        match self.kind.as_str() {
            "text_delta" => Event::TextDelta { index, text: self.text },
            "thinking_delta" => Event::ThinkingDelta { index, thinking: self.thinking },
            "input_json_delta" => Event::InputDelta { index, partial_json: self.partial_json },
            _ => Event::OtherDelta { index, kind: self.kind },
        }
    }
}
