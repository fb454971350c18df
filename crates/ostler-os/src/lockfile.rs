//! Exclusive and shared locks on a path, held by an open file.
//!
//! The lock ends with its holder, however that ends. The file itself stays: unlinking a lock file lets two holders
//! hold "the" lock, which is why a lock is only given out when its file is still the one that the path names.

use crate::PathError;
use crate::durable::{is_same_file, open_private};
use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The most of a note that is read, in bytes.
const NOTE_LIMIT: u64 = 4096;
/// Between two looks at a lock that is held.
const LOOK: Duration = Duration::from_micros(500);

/// A lock that is held until it is dropped. Children don't inherit it; a process that another thread is just forking
/// holds a copy until its exec, so that a lock that was dropped may seem held for a moment more.
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// True while `path` still names the file that is locked. False: somebody removed or replaced it, and the lock
    /// protects nothing any more.
    ///
    /// # Errors
    /// When the path cannot be looked up for another reason than that nothing is there.
    pub fn is_current(&self) -> io::Result<bool> {
        is_same_file(&self.file, &self.path)
    }

    /// The locked path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the file's contents, for others to read with [`note`]: who holds it.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn set_note(&self, note: &[u8]) -> io::Result<()> {
        self.file.set_len(0)?;
        (&self.file).write_all(note)
    }
}

/// What the last holder wrote with [`Lock::set_note`]; at most 4 KiB of it. Empty when there is none. Says nothing
/// about whether the lock is held now.
///
/// # Errors
/// When the file exists and cannot be read.
pub fn note(path: &Path) -> io::Result<Vec<u8>> {
    let mut note = Vec::new();
    match File::open(path) {
        Ok(file) => file.take(NOTE_LIMIT).read_to_end(&mut note)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
        Err(error) => return Err(error),
    };
    Ok(note)
}

/// Takes the exclusive lock on `path` (created with mode 0600 if missing); `None` when somebody else holds it,
/// shared or exclusive.
///
/// # Errors
/// When the file cannot be opened or locked.
pub fn try_lock(path: &Path) -> Result<Option<Lock>, PathError> {
    take(path, File::try_lock)
}

/// Like [`try_lock`], but looks again for as long as `patience` when it is held: whoever only wants to know whether it
/// is free (with [`try_lock_shared`]) holds it for a moment.
///
/// # Errors
/// As [`try_lock`].
pub fn lock_within(path: &Path, patience: Duration) -> Result<Option<Lock>, PathError> {
    let deadline = Instant::now() + patience;
    loop {
        let lock = try_lock(path)?;
        if lock.is_some() || Instant::now() >= deadline {
            return Ok(lock);
        }
        std::thread::sleep(LOOK);
    }
}

/// Like [`try_lock`], but shared: any number of holders, none of them exclusive.
///
/// # Errors
/// When the file cannot be opened or locked.
pub fn try_lock_shared(path: &Path) -> Result<Option<Lock>, PathError> {
    take(path, File::try_lock_shared)
}

fn take(path: &Path, attempt: fn(&File) -> Result<(), TryLockError>) -> Result<Option<Lock>, PathError> {
    loop {
        let file = open_private(path)?;
        match attempt(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(source)) => return Err(PathError::new("lock", path, source)),
        }
        let lock = Lock { file, path: path.to_owned() };
        // Somebody may have removed or replaced the file between our open and our lock.
        if lock.is_current().map_err(|source| PathError::new("look up", path, source))? {
            return Ok(Some(lock));
        }
    }
}
