//! A line and what it says.

use crate::message::Message;

/// A line that keeps its bytes and gives them out unchanged.
#[derive(Clone, Debug)]
pub struct Frame {
    bytes: Vec<u8>,
    message: Message,
    tolerant: bool,
}

impl Frame {
    /// Reads a line; never fails. What can't be read is [`Message::Noise`].
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Self {
        Self::from_vec(bytes.to_vec())
    }

    /// The same without a copy.
    #[must_use]
    pub fn from_vec(bytes: Vec<u8>) -> Self {
        let (message, tolerant) = Message::parse(&bytes);
        Self { bytes, message, tolerant }
    }

    /// The bytes that it was made from.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes that it was made from.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// What the line says.
    #[must_use]
    pub const fn message(&self) -> &Message {
        &self.message
    }

    /// What the line says.
    #[must_use]
    pub fn into_message(self) -> Message {
        self.message
    }

    /// The strict try failed and the tolerant one did not: a lone surrogate, bytes that aren't UTF-8, or a number
    /// beyond double precision stood where a view reads. The view has U+FFFD, or nothing, there.
    #[must_use]
    pub const fn tolerant(&self) -> bool {
        self.tolerant
    }
}
