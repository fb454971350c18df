//! The terminal: is there one, how large, and single keys from it.

use std::io::{self, IsTerminal};
use std::time::Instant;

/// One of the standard streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard input.
    Stdin,
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// A size in character cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Columns.
    pub columns: u16,
    /// Rows.
    pub rows: u16,
}

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// Return.
    Enter,
    /// Backspace.
    Backspace,
    /// Escape by itself.
    Escape,
    /// A control character, by its letter in lower case (never Ctrl-C: that is a signal).
    Control(char),
    /// Any other sequence (arrows, function keys), already read whole.
    Other,
}

/// True when the stream is a terminal.
#[must_use]
pub fn is_tty(stream: Stream) -> bool {
    match stream {
        Stream::Stdin => io::stdin().is_terminal(),
        Stream::Stdout => io::stdout().is_terminal(),
        Stream::Stderr => io::stderr().is_terminal(),
    }
}

/// The size of the terminal behind a stream; `None` when it is none or doesn't say.
#[must_use]
pub fn size(stream: Stream) -> Option<Size> {
    todo!()
}

/// Stdin's terminal gives single keys without echo while this lives; Ctrl-C stays a signal. What was before comes
/// back on drop, also in a panic.
#[derive(Debug)]
pub struct RawMode {
    lent: (),
}

impl RawMode {
    /// Switches.
    ///
    /// # Errors
    /// When stdin is no terminal.
    pub fn enter() -> io::Result<Self> {
        todo!()
    }

    /// The next key, `None` at the deadline.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] when the terminal is gone.
    pub fn read_key(&mut self, deadline: Option<Instant>) -> io::Result<Option<Key>> {
        todo!()
    }
}
