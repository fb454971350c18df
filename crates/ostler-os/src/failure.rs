//! The two errors that every module shares.

use std::io;
use std::path::{Path, PathBuf};

/// An operation on a path that failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {operation} {}", path.display())]
pub struct PathError {
    /// What was tried, as a verb phrase that fits "cannot …".
    pub operation: &'static str,
    /// On which path.
    pub path: PathBuf,
    /// What the operating system said.
    #[source]
    pub source: io::Error,
}

impl PathError {
    pub(crate) fn new(operation: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        Self { operation, path: path.to_owned(), source: source.into() }
    }

    /// The kind of the underlying error.
    #[must_use]
    pub fn kind(&self) -> io::ErrorKind {
        self.source.kind()
    }
}

impl From<PathError> for io::Error {
    /// Keeps the kind and the path.
    fn from(error: PathError) -> Self {
        Self::new(error.kind(), error)
    }
}

/// This platform cannot do that (yet). Reaches callers inside an [`io::Error`] of kind
/// [`io::ErrorKind::Unsupported`], or as its own variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} is not supported on {}", std::env::consts::OS)]
pub struct Unsupported {
    /// What was asked for.
    pub what: &'static str,
}

impl From<Unsupported> for io::Error {
    fn from(error: Unsupported) -> Self {
        Self::new(io::ErrorKind::Unsupported, error)
    }
}
