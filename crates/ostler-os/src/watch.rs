//! Waiting until a file may have changed.
//!
//! One interface over inotify and polling. inotify instances are few (128 a user by default, inotify(7)), so a
//! process takes at most one, and goes without when there is none: then the paths are looked at every interval.

use crate::PathError;
use crate::poll::Source;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Which way to watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// By events where there is an instance to be had, else by polling.
    Auto,
    /// By polling.
    Poll,
}

/// Why [`FileWatch::wait`] returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Woken {
    /// These watched paths may have changed.
    Changed(Vec<PathBuf>),
    /// Events were lost: any watched path may have changed.
    Rescan,
    /// The other source with this index is ready for reading.
    Other(usize),
    /// The deadline came.
    Deadline,
}

/// A set of watched paths. A file has changed when it grew, was written, truncated, replaced or removed; a directory
/// when an entry came, went or was renamed.
#[derive(Debug)]
pub struct FileWatch {
    interval: Duration,
}

impl FileWatch {
    /// An empty set. `interval` is how often polled paths are looked at.
    #[must_use]
    pub fn new(backend: Backend, interval: Duration) -> Self {
        todo!()
    }

    /// Watches a file or directory that exists. Changes from now on are reported, also those before the next wait.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] when there is nothing at that path.
    pub fn add(&mut self, path: &Path) -> Result<(), PathError> {
        todo!()
    }

    /// Stops watching a path. One that isn't watched is ignored.
    pub fn remove(&mut self, path: &Path) {
        todo!()
    }

    /// True when some watched path is polled, so that a change is noticed up to an interval late.
    #[must_use]
    pub fn is_polling(&self) -> bool {
        todo!()
    }

    /// Waits until something changed, one of `others` is ready for reading, or the deadline (`None`: for ever).
    ///
    /// # Errors
    /// As the operating system says.
    pub fn wait(&mut self, deadline: Option<Instant>, others: &[Source<'_>]) -> io::Result<Woken> {
        todo!()
    }
}
