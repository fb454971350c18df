//! A place in a session's journal: exact, durable, opaque to clients.

use ostler_core::ids::GenerationNo;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A place between two entries of a journal; written `<generation>.<out offset>.<ctl offset>`.
///
/// Both offsets stand at line ends. After an unterminated last line of a finished generation `out` is the length of
/// the file. In generation 0, which has no `out`, the middle number is the generation that was read last: `0.3.120` is
/// "everything of generation 3 and the first 120 bytes of `gen/0000/ctl`".
///
/// The order of cursors is not the order of a journal; compare cursors for equality only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cursor {
    /// Which generation; 0 is outside any.
    pub generation: GenerationNo,
    /// Bytes of its `out` that came before.
    pub out: u64,
    /// Bytes of its `ctl` that came before.
    pub ctl: u64,
}

impl Cursor {
    /// Before everything.
    pub const START: Self = Self { generation: 0, out: 0, ctl: 0 };
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.generation, self.out, self.ctl)
    }
}

impl FromStr for Cursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        let malformed = || CursorError::Malformed { text: text.chars().take(80).collect() };
        let mut parts = text.split('.');
        let (Some(generation), Some(out), Some(ctl), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(malformed());
        };
        Ok(Self {
            generation: number(generation).and_then(|n| u32::try_from(n).ok()).ok_or_else(malformed)?,
            out: number(out).ok_or_else(malformed)?,
            ctl: number(ctl).ok_or_else(malformed)?,
        })
    }
}

/// Digits only: `u64::from_str` would take `+5` as well, and one place must have one spelling.
fn number(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|b| b.is_ascii_digit()) && (text.len() == 1 || !text.starts_with('0'));
    if plain { text.parse().ok() } else { None }
}

/// Why a cursor can't be used.
#[derive(Debug, thiserror::Error)]
pub enum CursorError {
    /// The text is not a cursor.
    #[error("{text:?} is not a cursor; use one that was given with an entry, like 3.1048576.2048")]
    Malformed {
        /// What was given, cut at 80 characters.
        text: String,
    },
    /// It names a generation that this session doesn't have.
    #[error("cursor {cursor} names a generation that this session does not have; start without a cursor")]
    NoGeneration {
        /// The cursor.
        cursor: Cursor,
    },
    /// It points behind the end of a file.
    #[error("cursor {cursor} points behind the end of {} ({len} bytes); start without a cursor", path.display())]
    BehindEnd {
        /// The cursor.
        cursor: Cursor,
        /// The file.
        path: PathBuf,
        /// How long the file is.
        len: u64,
    },
    /// It points into the middle of a line.
    #[error("cursor {cursor} points into the middle of a line of {}; use one that was given with an entry", path.display())]
    InsideLine {
        /// The cursor.
        cursor: Cursor,
        /// The file.
        path: PathBuf,
    },
}
