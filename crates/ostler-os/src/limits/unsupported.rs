//! No code for this platform yet.

use super::{Inotify, Limit, Memory};
use crate::Unsupported;
use std::io;

pub(super) fn inotify() -> io::Result<Inotify> {
    Err(Unsupported { what: "inotify" }.into())
}

pub(super) fn open_files() -> io::Result<Limit> {
    Err(Unsupported { what: "finding the limit of open files" }.into())
}

pub(super) fn raise_open_files() -> io::Result<()> {
    Err(Unsupported { what: "raising the limit of open files" }.into())
}

pub(super) fn memory() -> io::Result<Memory> {
    Err(Unsupported { what: "finding the memory" }.into())
}
