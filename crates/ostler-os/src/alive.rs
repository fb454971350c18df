//! Alive locks: "is that child still there?", answered by the kernel.
//!
//! The file is locked before the fork and the locked descriptor is inherited by the child. The lock belongs to the
//! open file description, so it is busy as long as anybody who inherited it lives, and free at the moment of death:
//! for zombies, across pid namespaces, and whatever became of the pid. (Protocol page: background shells of the
//! child don't hold it.)

use crate::PathError;
use crate::durable::open_private;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long [`AliveLock::create`] puts up with probes, which hold a shared lock for microseconds.
const PROBES_END: Duration = Duration::from_millis(500);

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
        let file = open_private(path)?;
        let deadline = Instant::now() + PROBES_END;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { file, path: path.to_owned() }),
                Err(TryLockError::WouldBlock) if is_shared(&file) && Instant::now() < deadline => {
                    std::thread::yield_now();
                }
                Err(TryLockError::WouldBlock) => return Err(AliveError::Busy { path: path.to_owned() }),
                Err(TryLockError::Error(source)) => return Err(PathError::new("lock", path, source).into()),
            }
        }
    }

    /// The locked descriptor.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The locked descriptor, to be given away.
    pub(crate) fn into_file(self) -> File {
        self.file
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
pub fn is_busy(path: &Path) -> io::Result<bool> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// True when whoever is in the way holds it shared, or just stopped: a probe, not a child.
fn is_shared(file: &File) -> bool {
    let shared = file.try_lock_shared().is_ok();
    // Unlocking what isn't locked is no error; any other one shows again at the next try.
    let _ = file.unlock();
    shared
}
