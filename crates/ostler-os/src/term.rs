//! The terminal: is there one, how large, and single keys from it.

#[cfg_attr(unix, path = "term/unix.rs")]
#[cfg_attr(not(unix), path = "term/unsupported.rs")]
mod platform;

use crate::poll::{Interest, Pollable, Poller, Source};
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

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
    platform::size(stream)
}

/// Stdin's terminal gives single keys without echo while this lives; Ctrl-C stays a signal. What was before comes
/// back on drop, also in a panic.
#[derive(Debug)]
pub struct RawMode {
    terminal: platform::Raw,
    /// Read and not yet given out.
    bytes: Vec<u8>,
}

/// How long the rest of a sequence may take. Escape alone is told from the start of one only by what doesn't follow.
const SEQUENCE: Duration = Duration::from_millis(50);

impl RawMode {
    /// Switches.
    ///
    /// # Errors
    /// When stdin is no terminal.
    pub fn enter() -> io::Result<Self> {
        Ok(Self { terminal: platform::Raw::enter()?, bytes: Vec::new() })
    }

    /// The next key, `None` at the deadline.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] when the terminal is gone.
    pub fn read_key(&mut self, deadline: Option<Instant>) -> io::Result<Option<Key>> {
        loop {
            match decode(&self.bytes) {
                Decoded::Key(key, length) => {
                    self.bytes.drain(..length);
                    return Ok(Some(key));
                }
                Decoded::Nothing => {
                    if !self.read_more(deadline)? {
                        return Ok(None);
                    }
                }
                Decoded::Unfinished => {
                    if !self.read_more(Some(Instant::now() + SEQUENCE))? {
                        let key = if self.bytes == [ESCAPE] { Key::Escape } else { Key::Other };
                        self.bytes.clear();
                        return Ok(Some(key));
                    }
                }
            }
        }
    }

    /// False at the deadline.
    fn read_more(&mut self, deadline: Option<Instant>) -> io::Result<bool> {
        let mut poller = Poller::new();
        poller.add(self.terminal.source(), Interest::Read);
        if poller.wait(deadline)? == 0 {
            return Ok(false);
        }
        let mut buffer = [0; 256];
        match self.terminal.read(&mut buffer)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            length => {
                self.bytes.extend_from_slice(&buffer[..length]);
                Ok(true)
            }
        }
    }
}

impl Pollable for RawMode {
    /// Readable when keys come in; ask [`RawMode::read_key`] until it has none, for it reads ahead.
    fn source(&self) -> Source<'_> {
        self.terminal.source()
    }
}

const ESCAPE: u8 = 0x1b;

/// What the bytes begin with.
#[derive(Debug, PartialEq, Eq)]
enum Decoded {
    /// A key of that many bytes.
    Key(Key, usize),
    /// There are none.
    Nothing,
    /// Part of a key.
    Unfinished,
}

fn decode(bytes: &[u8]) -> Decoded {
    match bytes {
        [] => Decoded::Nothing,
        [ESCAPE] => Decoded::Unfinished,
        // Control sequences (ECMA-48) end in a letter or one of `@[\]^_`{|}~`; `O` takes one letter.
        [ESCAPE, b'[', rest @ ..] => match rest.iter().position(|byte| (0x40..=0x7e).contains(byte)) {
            Some(end) => Decoded::Key(Key::Other, end + 3),
            None if rest.len() < 32 => Decoded::Unfinished,
            None => Decoded::Key(Key::Other, bytes.len()),
        },
        [ESCAPE, b'O'] => Decoded::Unfinished,
        [ESCAPE, b'O', _, ..] => Decoded::Key(Key::Other, 3),
        [ESCAPE, ESCAPE, ..] => Decoded::Key(Key::Escape, 1),
        [ESCAPE, _, ..] => Decoded::Key(Key::Other, 2),
        [b'\r' | b'\n', ..] => Decoded::Key(Key::Enter, 1),
        [0x7f | 0x08, ..] => Decoded::Key(Key::Backspace, 1),
        [byte @ 1..=26, ..] => Decoded::Key(Key::Control(char::from(byte + b'a' - 1)), 1),
        [byte, ..] if byte.is_ascii_control() => Decoded::Key(Key::Other, 1),
        [first, ..] => decode_character(*first, bytes),
    }
}

fn decode_character(first: u8, bytes: &[u8]) -> Decoded {
    let length = match first {
        0..0x80 => 1,
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0..0xf8 => 4,
        _ => return Decoded::Key(Key::Other, 1),
    };
    let Some(character) = bytes.get(..length) else { return Decoded::Unfinished };
    match str::from_utf8(character).ok().and_then(|text| text.chars().next()) {
        Some(character) => Decoded::Key(Key::Char(character), length),
        None => Decoded::Key(Key::Other, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_apart() {
        assert_eq!(decode(b"y"), Decoded::Key(Key::Char('y'), 1));
        assert_eq!(decode("é!".as_bytes()), Decoded::Key(Key::Char('é'), 2));
        assert_eq!(decode(b"\r"), Decoded::Key(Key::Enter, 1));
        assert_eq!(decode(b"\x7f"), Decoded::Key(Key::Backspace, 1));
        assert_eq!(decode(b"\x04"), Decoded::Key(Key::Control('d'), 1));
    }

    #[test]
    fn a_sequence_is_one_key() {
        assert_eq!(decode(b"\x1b[Ay"), Decoded::Key(Key::Other, 3));
        assert_eq!(decode(b"\x1b[1;5Cy"), Decoded::Key(Key::Other, 6));
        assert_eq!(decode(b"\x1bOPy"), Decoded::Key(Key::Other, 3));
    }

    #[test]
    fn half_a_key_waits_for_the_rest() {
        assert_eq!(decode(b"\x1b"), Decoded::Unfinished);
        assert_eq!(decode(b"\x1b[1;"), Decoded::Unfinished);
        assert_eq!(decode(&"é".as_bytes()[..1]), Decoded::Unfinished);
    }

    #[test]
    fn broken_utf8_is_no_character() {
        assert_eq!(decode(b"\xffy"), Decoded::Key(Key::Other, 1));
        assert_eq!(decode(b"\xc3y"), Decoded::Key(Key::Other, 1));
    }
}
