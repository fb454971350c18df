//! Reading a session's journal: complete lines of `out` and rows of `ctl` in folding order, over all generations.
//!
//! # Order
//!
//! A `ctl` row comes after every `out` line that ends at or before its `off`, and before the next one. So the order
//! of a finished journal is a pure function of its files, and every reader sees the same. While a child runs, a reader
//! may have given out a line before the row that belongs in front of it was written; it then gets the row as soon as
//! it is there. An effect is never given out before its cause: `out` is always read before `ctl`, so that the row
//! that announced a write is there when the child's reaction is.
//!
//! # Bounds
//!
//! Files are read in chunks; of a line nothing more than the line limit is held. A longer one is passed by range
//! ([`Entry::OutOversized`], [`read_range`]).

mod follower;
mod inside;
mod outside;
mod rows;

pub use follower::{Follower, Found};

use crate::cursor::{Cursor, CursorError};
use crate::session_dir::{GenDir, SessionDir};
use ostler_core::ctl::Row;
use ostler_core::ids::GenerationNo;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The longest line that is held in memory, unless told otherwise: 64 MiB.
pub const MAX_LINE: usize = 64 << 20;

/// All generations of a session, for reading. Takes no lock: any process may read at any time.
#[derive(Clone, Debug)]
pub struct Journal {
    dir: SessionDir,
    max_line: usize,
}

impl Journal {
    /// A reader for the session in `dir`. Nothing is opened yet.
    #[must_use]
    pub fn open(dir: &SessionDir) -> Self {
        Self { dir: dir.clone(), max_line: MAX_LINE }
    }

    /// The same with another line limit in bytes, newline not included.
    #[must_use]
    pub fn with_max_line(self, max_line: usize) -> Self {
        Self { max_line, ..self }
    }

    /// A follower that goes on behind `cursor`; [`Cursor::START`] is the beginning.
    ///
    /// # Errors
    /// [`JournalError::Cursor`] when the place is not one that a follower of this journal gave out.
    pub fn read_from(&self, cursor: Cursor) -> Result<Follower, JournalError> {
        Follower::new(self.dir.clone(), cursor, self.max_line)
    }
}

/// One thing that a journal says.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// Everything after this is about generation `no`.
    Generation {
        /// Which.
        no: GenerationNo,
    },
    /// A complete line of the child's stdout.
    Out {
        /// The generation.
        no: GenerationNo,
        /// Where it begins in `out`.
        start: u64,
        /// Where the next one begins.
        end: u64,
        /// Its bytes as they came, without the newline.
        bytes: Vec<u8>,
        /// The place behind it.
        cursor: Cursor,
    },
    /// A complete line that is longer than the limit; read it by range.
    OutOversized {
        /// The generation.
        no: GenerationNo,
        /// Where it begins in `out`.
        start: u64,
        /// Where the next one begins.
        end: u64,
        /// The place behind it.
        cursor: Cursor,
    },
    /// A row of `ctl`.
    Ctl {
        /// The generation; 0 for what happened outside any.
        no: GenerationNo,
        /// What it says.
        row: Row,
        /// Its bytes, without the newline.
        raw: Vec<u8>,
        /// The place behind it.
        cursor: Cursor,
    },
    /// A complete line of `ctl` that is no row. Reading goes on behind it.
    CtlGarbled {
        /// The generation.
        no: GenerationNo,
        /// Where it begins in `ctl`.
        start: u64,
        /// Where the next one begins.
        end: u64,
        /// The place behind it.
        cursor: Cursor,
    },
    /// The generation is over and its `out` ends without a newline. Folded like a line that ends at the end of the
    /// file: a row written after it was seen carries `off` = `start + len`.
    Tail {
        /// The generation.
        no: GenerationNo,
        /// Where the unterminated line begins in `out`.
        start: u64,
        /// How many bytes it has.
        len: u64,
        /// The place behind it.
        cursor: Cursor,
    },
}

/// The bytes `start..end` of a generation's `out`.
///
/// # Errors
/// The file can't be read or is shorter.
pub fn read_range(dir: &GenDir, start: u64, end: u64) -> Result<Vec<u8>, JournalError> {
    let path = dir.out();
    let fail = |operation, source| JournalError::io(operation, &path, source);
    let mut file = File::open(&path).map_err(|e| fail("open", e))?;
    let len = file.metadata().map_err(|e| fail("read", e))?.len();
    // Checked before anything is allocated: the range may come from a client.
    let wanted = if start <= end && end <= len { usize::try_from(end - start).ok() } else { None };
    let Some(wanted) = wanted else {
        return Err(JournalError::Range { path, start, end });
    };
    let mut bytes = vec![0; wanted];
    file.seek(SeekFrom::Start(start)).map_err(|e| fail("read", e))?;
    file.read_exact(&mut bytes).map_err(|e| fail("read", e))?;
    Ok(bytes)
}

/// What can go wrong while reading a journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The cursor is not a place in this journal.
    #[error(transparent)]
    Cursor(#[from] CursorError),
    /// A file can't be read.
    #[error("cannot {operation} {}", path.display())]
    Io {
        /// `open`, `read`, `list`.
        operation: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A range that the file doesn't have.
    #[error("{} has no bytes {start} to {end}", path.display())]
    Range {
        /// The file.
        path: PathBuf,
        /// First byte asked for.
        start: u64,
        /// Byte behind the last one asked for.
        end: u64,
    },
}

impl JournalError {
    fn io(operation: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { operation, path: path.to_owned(), source }
    }
}
