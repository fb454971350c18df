//! No code for this platform yet.

use std::io;
use std::path::PathBuf;

/// Nobody: no file belongs to that user.
pub(super) fn uid() -> u32 {
    u32::MAX
}

pub(super) fn exe() -> io::Result<PathBuf> {
    std::env::current_exe()
}

pub(super) fn in_its_place() -> io::Result<Option<PathBuf>> {
    std::env::current_exe().map(Some)
}

pub(super) fn hostname() -> String {
    ["HOSTNAME", "COMPUTERNAME"]
        .iter()
        .find_map(|name| std::env::var(name).ok())
        .unwrap_or_else(|| "localhost".into())
}

pub(super) fn set_name(_name: &str) {}
