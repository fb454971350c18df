//! Files that survive, and that are nobody else's: durable writes, private modes, free space.

#[cfg_attr(unix, path = "durable/unix.rs")]
#[cfg_attr(not(unix), path = "durable/unsupported.rs")]
mod platform;

pub use crate::file_system::{FileSystem, file_system, is_network_fs};

use crate::PathError;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// Writes a file so that after a crash there is either the old one or the whole new one: temporary file beside it
/// (mode 0600), fsync, rename, fsync of the directory.
///
/// # Errors
/// Naming the path and the step that failed. The temporary file is removed.
pub fn replace_file(path: &Path, bytes: &[u8]) -> Result<(), PathError> {
    let (temporary, mut file) = create_beside(path)?;
    let written = file
        .write_all(bytes)
        .map_err(|source| PathError::new("write", &temporary, source))
        .and_then(|()| file.sync_all().map_err(|source| PathError::new("sync", &temporary, source)))
        .and_then(|()| {
            fs::rename(&temporary, path).map_err(|source| PathError::new("replace", path, source))
        });
    if let Err(error) = written {
        // The first error is the one to tell; a temporary file that stays is only litter.
        let _ = fs::remove_file(&temporary);
        return Err(error);
    }
    sync_dir(parent(path))
}

/// A new file in the directory of `path`, under a name that nobody else takes.
fn create_beside(path: &Path) -> Result<(PathBuf, File), PathError> {
    static NEXT: AtomicU32 = AtomicU32::new(0);

    let Some(name) = path.file_name() else {
        return Err(PathError::new("write", path, io::ErrorKind::InvalidInput));
    };
    loop {
        let mut unique = std::ffi::OsString::from(".");
        unique.push(name);
        unique.push(format!(".{}-{}.tmp", process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
        let temporary = path.with_file_name(unique);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        platform::private(&mut options);
        match options.open(&temporary) {
            Ok(file) => return Ok((temporary, file)),
            // Litter of a process that had our pid.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(PathError::new("create", &temporary, source)),
        }
    }
}

/// The directory that a path lies in.
pub(crate) fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) => Path::new("."),
        None => path,
    }
}

/// Makes a file's data durable, and of its metadata what is needed to read them.
///
/// # Errors
/// As the operating system says. After an error the data must be taken for lost.
pub fn fdatasync(file: &File) -> io::Result<()> {
    file.sync_data()
}

/// Makes the entries of a directory durable.
///
/// # Errors
/// When it cannot be opened or synced.
pub fn sync_dir(path: &Path) -> Result<(), PathError> {
    platform::sync_dir(path).map_err(|source| PathError::new("sync", path, source))
}

/// Creates a directory with mode 0700, missing parents too. One that exists is left as it is.
///
/// # Errors
/// When it cannot be created or is not a directory.
pub fn create_dir_private(path: &Path) -> Result<(), PathError> {
    platform::create_dir_private(path).map_err(|source| PathError::new("create directory", path, source))
}

/// Opens a file for reading and appending, created with mode 0600 if missing.
///
/// # Errors
/// When it cannot be opened.
pub fn open_private(path: &Path) -> Result<File, PathError> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    platform::private(&mut options);
    options.open(path).map_err(|source| PathError::new("open", path, source))
}

/// Makes an empty file with mode 0600 where there is none. One that is there is not even opened: closing it again would
/// take away every lock of fcntl(2) that this process has on it.
///
/// # Errors
/// When it cannot be made.
pub fn make_private(path: &Path) -> Result<(), PathError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    platform::private(&mut options);
    match options.open(path) {
        Err(source) if source.kind() != io::ErrorKind::AlreadyExists => {
            Err(PathError::new("make", path, source))
        }
        _ => Ok(()),
    }
}

/// Takes away what others may do with a file of ours.
///
/// # Errors
/// When it is not there, or not ours.
pub fn protect(path: &Path) -> Result<(), PathError> {
    platform::protect(path).map_err(|source| PathError::new("protect", path, source))
}

/// Bytes that this user can still write on the file system of `path`.
///
/// # Errors
/// When the path doesn't exist.
pub fn free_space(path: &Path) -> Result<u64, PathError> {
    platform::free_space(path).map_err(|source| PathError::new("find the free space of", path, source))
}

/// Like [`free_space`], of the file system that an open file is on.
pub(crate) fn free_space_of(file: &File) -> io::Result<u64> {
    platform::free_space_of(file)
}

/// True when this user owns `path` (not following a symbolic link at its end).
///
/// # Errors
/// When the path doesn't exist.
pub fn owner_is_me(path: &Path) -> Result<bool, PathError> {
    platform::owner_is_me(path).map_err(|source| PathError::new("find the owner of", path, source))
}

/// Tells files apart while they exist: device and inode.
pub(crate) fn file_id(metadata: &fs::Metadata) -> (u64, u64) {
    platform::file_id(metadata)
}

/// True while `path` names the very file that is open; false when nothing or something else is there.
///
/// # Errors
/// When the path cannot be looked up for another reason.
pub fn is_same_file(file: &File, path: &Path) -> io::Result<bool> {
    match platform::same_file(file, path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        other => other,
    }
}
