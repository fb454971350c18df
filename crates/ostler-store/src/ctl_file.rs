//! Appending to `gen/N/ctl`. Only the holder of the session's `lock` may.

use ostler_core::ctl::Row;
use ostler_core::ids::GenerationNo;
use std::io;
use std::path::{Path, PathBuf};

/// One generation's `ctl`, open for appending.
#[derive(Debug)]
pub struct CtlFile {}

/// A line of a `ctl` file.
#[derive(Clone, Debug, PartialEq)]
pub enum CtlLine {
    /// A row.
    Row(Row),
    /// Something that is no row: byte range in the file, newline included.
    Garbled {
        /// Where it begins.
        start: u64,
        /// Where the next line begins.
        end: u64,
    },
}

impl CtlFile {
    /// Opens or creates `ctl` at `path` and cuts off a torn last row. `reserve` bytes are kept allocated ahead of its
    /// end, so that a full disk still leaves room for the rows that say so; 0 asks for none.
    ///
    /// # Errors
    /// It can't be opened, read, cut, or the reserve can't be had.
    pub fn open(path: &Path, reserve: u64) -> Result<Self, CtlError> {
        todo!("{path:?} {reserve}")
    }

    /// Appends one row with one `write(2)`. It is seen by every reader at once; it survives a loss of power after
    /// [`CtlFile::sync`].
    ///
    /// # Errors
    /// [`CtlError::OffsetWentBack`] and [`CtlError::Closed`] when the row breaks the rules of the journal;
    /// [`CtlError::DiskFull`]; other trouble. After an error the file is as it was before.
    pub fn append(&mut self, row: &Row) -> Result<(), CtlError> {
        todo!("{row:?}")
    }

    /// Tops the reserve up again.
    ///
    /// # Errors
    /// [`CtlError::DiskFull`].
    pub fn top_up(&mut self) -> Result<(), CtlError> {
        todo!()
    }

    /// Every line there is, from the beginning.
    ///
    /// # Errors
    /// The file can't be read.
    pub fn rows(&self) -> Result<Vec<CtlLine>, CtlError> {
        todo!()
    }

    /// Waits until everything appended is on the disk.
    ///
    /// # Errors
    /// It could not be brought there.
    pub fn sync(&self) -> Result<(), CtlError> {
        todo!()
    }

    /// The `off` of the last row; 0 without one. No later row may carry less.
    #[must_use]
    pub fn last_off(&self) -> u64 {
        todo!()
    }

    /// How long the file is: the `ctl` offset of a cursor behind the last row.
    #[must_use]
    pub fn len(&self) -> u64 {
        todo!()
    }

    /// True before the first row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What can go wrong with a `ctl` file.
#[derive(Debug, thiserror::Error)]
pub enum CtlError {
    /// Some operation failed.
    #[error("cannot {operation} {}", path.display())]
    Io {
        /// `open`, `read`, `append to`, `cut`, `sync`.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// No room for a row, or for the reserve.
    #[error("no space left for {}; free some and go on", path.display())]
    DiskFull {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The row's offset is less than that of the row before.
    #[error("a row for {} carries offset {off} after one that carried {last}", path.display())]
    OffsetWentBack {
        /// The file.
        path: PathBuf,
        /// The row's.
        off: u64,
        /// The one before.
        last: u64,
    },
    /// A later generation exists: nothing may be added to this file any more.
    #[error("{} is closed: generation {later} exists", path.display())]
    Closed {
        /// The file.
        path: PathBuf,
        /// The generation that exists.
        later: GenerationNo,
    },
    /// The row can't be written as JSON.
    #[error("cannot write a row for {}", path.display())]
    Encode {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
}
