//! No code for this platform yet; what the standard library can do, it does.

use crate::Unsupported;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

/// A new file takes the access rights of its directory.
pub(super) fn private(_options: &mut OpenOptions) {}

/// Directories can't be synced; a rename is as durable as the file system makes it.
pub(super) fn sync_dir(_path: &Path) -> io::Result<()> {
    Ok(())
}

pub(super) fn create_dir_private(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

pub(super) fn protect(_path: &Path) -> io::Result<()> {
    Err(Unsupported { what: "protecting a file" }.into())
}

pub(super) fn free_space(_path: &Path) -> io::Result<u64> {
    Err(Unsupported { what: "finding the free space" }.into())
}

pub(super) fn free_space_of(_file: &File) -> io::Result<u64> {
    Err(Unsupported { what: "finding the free space" }.into())
}

pub(super) fn owner_is_me(_path: &Path) -> io::Result<bool> {
    Err(Unsupported { what: "finding a file's owner" }.into())
}

/// Files are told apart by length and time alone.
pub(super) fn file_id(_metadata: &Metadata) -> (u64, u64) {
    (0, 0)
}

pub(super) fn same_file(_file: &File, path: &Path) -> io::Result<bool> {
    // An open file cannot be replaced here.
    path.try_exists()
}
