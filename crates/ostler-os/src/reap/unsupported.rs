//! No code for this platform yet.

use super::Exit;
use crate::Unsupported;
use std::io;

const REAPING: Unsupported = Unsupported { what: "reaping children" };

pub(super) fn become_subreaper() -> io::Result<()> {
    Err(Unsupported { what: "becoming a subreaper" }.into())
}

pub(super) fn is_subreaper() -> io::Result<bool> {
    Ok(false)
}

pub(super) fn peek() -> io::Result<Option<u32>> {
    Err(REAPING.into())
}

pub(super) fn has_children() -> io::Result<bool> {
    Err(REAPING.into())
}

pub(super) fn take(_pid: u32) -> io::Result<Option<Exit>> {
    Err(REAPING.into())
}
