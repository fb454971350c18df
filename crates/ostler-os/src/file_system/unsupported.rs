//! No code for this platform yet.

use super::FileSystem;
use crate::Unsupported;
use std::io;
use std::path::Path;

pub(super) fn file_system(_path: &Path) -> io::Result<FileSystem> {
    Err(Unsupported { what: "finding the file system of a path" }.into())
}
