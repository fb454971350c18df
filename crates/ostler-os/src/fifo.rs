//! Named pipes: how lines reach a child.
//!
//! The child has the FIFO open for reading *and* writing, so it never sees an end of file, and a writer may come and
//! go. A writer is non-blocking and fails loudly when nobody reads.

use crate::PathError;
use crate::poll::{Pollable, Source};
use std::io;
use std::path::{Path, PathBuf};

/// Why a FIFO could not be opened for writing.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Nobody has it open for reading: the child is gone.
    #[error("nobody reads {}", path.display())]
    NoReader {
        /// The FIFO.
        path: PathBuf,
    },
    /// There is something else at that path.
    #[error("{} is not a FIFO", path.display())]
    NotAFifo {
        /// The path.
        path: PathBuf,
    },
    /// It could not be opened.
    #[error(transparent)]
    Path(#[from] PathError),
}

/// The writing end, non-blocking.
#[derive(Debug)]
pub struct Writer {
    file: std::fs::File,
}

impl Writer {
    /// How many bytes the pipe can hold.
    ///
    /// # Errors
    /// As the operating system says.
    pub fn capacity(&self) -> io::Result<usize> {
        todo!()
    }

    /// How many bytes lie in the pipe, not yet read.
    ///
    /// # Errors
    /// As the operating system says.
    pub fn pending(&self) -> io::Result<usize> {
        todo!()
    }

    /// Makes the pipe hold at least `bytes`, as far as the system lets us; gives the capacity that it has now, which
    /// may be less than asked for.
    ///
    /// # Errors
    /// When even the present capacity cannot be read.
    pub fn grow(&self, bytes: usize) -> io::Result<usize> {
        todo!()
    }

    /// Writes as much as fits now. `Ok(0)`: the pipe is full.
    ///
    /// # Errors
    /// [`io::ErrorKind::BrokenPipe`] when nobody reads any more. The process is never killed by it.
    pub fn write_some(&self, bytes: &[u8]) -> io::Result<usize> {
        todo!()
    }
}

impl Pollable for Writer {
    fn source(&self) -> Source<'_> {
        todo!()
    }
}

/// Creates a FIFO with mode 0600.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] when there is anything at that path: FIFOs are never reused.
pub fn create(path: &Path) -> Result<(), PathError> {
    todo!()
}

/// Opens the writing end without waiting. Makes the process ignore SIGPIPE.
///
/// # Errors
/// [`OpenError::NoReader`] when the child is gone.
pub fn open_writer(path: &Path) -> Result<Writer, OpenError> {
    todo!()
}
