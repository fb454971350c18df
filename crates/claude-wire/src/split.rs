//! Bytes to lines.
//!
//! Lines end at byte `\n` and nowhere else: U+2028, U+2029 and NEL are ordinary characters inside a JSON string
//! (protocol page, "Framing"). Any chunking of the same bytes gives the same lines with the same offsets.

/// Cuts a byte stream into lines and knows the offset of each.
///
/// Take every line with [`next_line`](Self::next_line) after each [`push`](Self::push): then no more is held in
/// memory than one chunk and one line of at most `max_line` bytes.
#[derive(Debug)]
pub struct Splitter {
    /// Longest line that is given out, in bytes, its newline not counted.
    max_line: usize,
    /// What was pushed and not given out yet.
    buf: Vec<u8>,
    /// Offset of `buf[0]` in the stream.
    base: u64,
    /// Where in `buf` the current line starts.
    pos: usize,
    /// Up to here `buf` holds no newline behind `pos`: a long line that comes in small chunks is searched once.
    scanned: usize,
    /// Start of a line that is already too long; its bytes were dropped.
    dropping: Option<u64>,
}

/// Capacity that an empty buffer may keep. One long line must not stay in memory for ever.
const KEEP_CAPACITY: usize = 256 * 1024;

impl Splitter {
    /// Starts at `base_offset` of the stream, which must be the start of a line. A line of more than `max_line`
    /// bytes (newline not counted) becomes [`Split::Oversized`].
    #[must_use]
    pub fn new(base_offset: u64, max_line: usize) -> Self {
        Self { max_line, buf: Vec::new(), base: base_offset, pos: 0, scanned: 0, dropping: None }
    }

    /// Adds the next bytes of the stream.
    pub fn push(&mut self, chunk: &[u8]) {
        self.forget_given_out();
        self.buf.extend_from_slice(chunk);
    }

    /// The next complete line, or `None` until more is pushed.
    pub fn next_line(&mut self) -> Option<Split> {
        let Some(len) = self.buf[self.scanned..].iter().position(|&b| b == b'\n') else {
            self.scanned = self.buf.len();
            self.drop_if_too_long();
            return None;
        };
        let newline = self.scanned + len;
        let start = self.base + self.pos as u64;
        let end = self.base + newline as u64 + 1;
        let line = self.pos..newline;
        self.pos = newline + 1;
        self.scanned = self.pos;
        Some(match self.dropping.take() {
            Some(start) => Split::Oversized { start, end },
            None if line.len() > self.max_line => Split::Oversized { start, end },
            None => Split::Line { start, end, bytes: self.buf[line].to_vec() },
        })
    }

    /// Offset just after the last complete line that was given out.
    #[must_use]
    pub fn consumed(&self) -> u64 {
        self.dropping.unwrap_or(self.base + self.pos as u64)
    }

    /// What came after the last line that was given out. Once [`next_line`](Self::next_line) has said `None` this is
    /// the unterminated end of the stream.
    #[must_use]
    pub fn tail(&self) -> Tail {
        let start = self.consumed();
        Tail { start, len: self.base + self.buf.len() as u64 - start }
    }

    /// Frees what was given out. Done once a chunk, not once a line: moving the rest costs its length.
    fn forget_given_out(&mut self) {
        self.buf.drain(..self.pos);
        self.base += self.pos as u64;
        self.scanned -= self.pos;
        self.pos = 0;
        if self.buf.capacity() > KEEP_CAPACITY && self.buf.len() < KEEP_CAPACITY {
            self.buf.shrink_to(KEEP_CAPACITY);
        }
    }

    /// No newline is in sight: drops a line's bytes as soon as there are too many of them.
    fn drop_if_too_long(&mut self) {
        if self.dropping.is_none() && self.buf.len() - self.pos <= self.max_line {
            return;
        }
        self.dropping.get_or_insert(self.base + self.pos as u64);
        self.pos = self.buf.len();
        self.forget_given_out();
    }
}

/// A line of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Split {
    /// A whole line.
    Line {
        /// Offset of its first byte.
        start: u64,
        /// Offset just after its newline.
        end: u64,
        /// Its bytes without the newline; a `\r` before it is still there.
        bytes: Vec<u8>,
    },
    /// A line that was too long to hold; its bytes are to be read by range.
    Oversized {
        /// Offset of its first byte.
        start: u64,
        /// Offset just after its newline.
        end: u64,
    },
}

/// The unterminated end of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    /// Offset of its first byte.
    pub start: u64,
    /// Its length in bytes; 0 when the stream ends with a newline.
    pub len: u64,
}
