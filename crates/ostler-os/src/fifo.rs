//! Named pipes: how lines reach a child.
//!
//! The child has the FIFO open for reading *and* writing, so it never sees an end of file, and a writer may come and
//! go. A writer is non-blocking and fails loudly when nobody reads.

#[cfg_attr(target_os = "linux", path = "fifo/linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "fifo/unsupported.rs")]
mod platform;

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
pub struct Writer(platform::End);

impl Writer {
    /// How many bytes the pipe can hold.
    ///
    /// # Errors
    /// As the operating system says.
    pub fn capacity(&self) -> io::Result<usize> {
        self.0.capacity()
    }

    /// How many bytes lie in the pipe, not yet read.
    ///
    /// # Errors
    /// As the operating system says.
    pub fn pending(&self) -> io::Result<usize> {
        self.0.pending()
    }

    /// Makes the pipe hold at least `bytes`, as far as the system lets us; gives the capacity that it has now, which
    /// may be less than asked for.
    ///
    /// # Errors
    /// When even the present capacity cannot be read.
    pub fn grow(&self, bytes: usize) -> io::Result<usize> {
        self.0.grow(bytes)
    }

    /// Writes as much as fits now. `Ok(0)`: the pipe is full.
    ///
    /// # Errors
    /// [`io::ErrorKind::BrokenPipe`] when nobody reads any more. The process is never killed by it.
    pub fn write_some(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_some(bytes)
    }
}

impl Pollable for Writer {
    fn source(&self) -> Source<'_> {
        self.0.source()
    }
}

/// Creates a FIFO with mode 0600.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] when there is anything at that path: FIFOs are never reused.
pub fn create(path: &Path) -> Result<(), PathError> {
    platform::create(path).map_err(|source| PathError::new("create", path, source))
}

/// Opens the writing end without waiting. Makes the process ignore SIGPIPE.
///
/// # Errors
/// [`OpenError::NoReader`] when the child is gone.
pub fn open_writer(path: &Path) -> Result<Writer, OpenError> {
    crate::signals::ignore_sigpipe();
    platform::End::open(path).map(Writer)
}
