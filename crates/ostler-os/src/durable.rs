//! Files that survive: durable writes, private modes, and what kind of file system they are on.

use crate::PathError;
use std::fs::File;
use std::path::Path;

/// Writes a file so that after a crash there is either the old one or the whole new one: temporary file beside it
/// (mode 0600), fsync, rename, fsync of the directory.
///
/// # Errors
/// Naming the path and the step that failed. The temporary file is removed.
pub fn replace_file(path: &Path, bytes: &[u8]) -> Result<(), PathError> {
    todo!()
}

/// Makes a file's data durable, and of its metadata what is needed to read them.
///
/// # Errors
/// As the operating system says. After an error the data must be taken for lost.
pub fn fdatasync(file: &File) -> std::io::Result<()> {
    file.sync_data()
}

/// Makes the entries of a directory durable.
///
/// # Errors
/// When it cannot be opened or synced.
pub fn sync_dir(path: &Path) -> Result<(), PathError> {
    todo!()
}

/// Creates a directory with mode 0700, missing parents too. One that exists is left as it is.
///
/// # Errors
/// When it cannot be created or is not a directory.
pub fn create_dir_private(path: &Path) -> Result<(), PathError> {
    todo!()
}

/// Opens a file for reading and appending, created with mode 0600 if missing.
///
/// # Errors
/// When it cannot be opened.
pub fn open_private(path: &Path) -> Result<File, PathError> {
    todo!()
}

/// Bytes that this user can still write on the file system of `path`.
///
/// # Errors
/// When the path doesn't exist.
pub fn free_space(path: &Path) -> Result<u64, PathError> {
    todo!()
}

/// True when this user owns `path` (not following a symbolic link at its end).
///
/// # Errors
/// When the path doesn't exist.
pub fn owner_is_me(path: &Path) -> Result<bool, PathError> {
    todo!()
}

/// What a path lies on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// The magic number of statfs(2).
    pub magic: u64,
    /// The type in the mount table (`ext4`, `fuse.sshfs`, …), where it was needed and found.
    pub kind: Option<String>,
}

impl FileSystem {
    /// The name of the network file system, `None` for a local one.
    #[must_use]
    pub fn network(&self) -> Option<&'static str> {
        todo!()
    }
}

/// What `path` lies on.
///
/// # Errors
/// When the path doesn't exist.
pub fn file_system(path: &Path) -> Result<FileSystem, PathError> {
    todo!()
}

/// True when `path` lies on a network file system, where locks, SQLite and durable writes are not to be trusted.
///
/// # Errors
/// When the path doesn't exist.
pub fn is_network_fs(path: &Path) -> Result<bool, PathError> {
    Ok(file_system(path)?.network().is_some())
}
