//! Alive locks: "is that child still there?", answered by the kernel.
//!
//! The file is locked before the fork and the locked descriptor is inherited by the child. The lock belongs to the
//! open file description, so it is busy as long as anybody who inherited it lives, and free at the moment of death:
//! for zombies, across pid namespaces, and whatever became of the pid. (Protocol page: background shells of the
//! child don't hold it.)

use crate::PathError;
use std::fs::File;
use std::path::{Path, PathBuf};

/// An alive file, created and locked, ready to be inherited by a child.
///
/// Dropping it closes this process's copy; copies that a child inherited stay locked.
#[derive(Debug)]
pub struct AliveLock {
    file: File,
    path: PathBuf,
}

/// Why there is no alive lock.
#[derive(Debug, thiserror::Error)]
pub enum AliveError {
    /// Somebody who holds it lives.
    #[error("{} is held by a live process", path.display())]
    Busy {
        /// The alive file.
        path: PathBuf,
    },
    /// The file could not be opened or locked.
    #[error(transparent)]
    Path(#[from] PathError),
}

impl AliveLock {
    /// Creates `path` (mode 0600) if it isn't there, and locks it.
    ///
    /// # Errors
    /// [`AliveError::Busy`] when a live process holds it.
    pub fn create(path: &Path) -> Result<Self, AliveError> {
        todo!()
    }

    /// The locked descriptor.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// True while a process that inherited the lock lives. A file that doesn't exist was never locked: false.
///
/// Probes with a shared lock, so that two who ask at once don't take each other for the child.
///
/// # Errors
/// When the file exists and cannot be opened or probed.
pub fn is_busy(path: &Path) -> std::io::Result<bool> {
    todo!()
}
