//! `/proc/self`, uname(2), prctl(2).

use std::ffi::{CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

pub(super) fn uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

pub(super) fn exe() -> io::Result<PathBuf> {
    // The link leads to the file itself, not to its name; after a fork it is still ours until exec.
    let link = PathBuf::from("/proc/self/exe");
    std::fs::metadata(&link)?;
    Ok(link)
}

/// What the kernel adds to the name of a file that has none any more.
const DELETED: &[u8] = b" (deleted)";

pub(super) fn in_its_place() -> io::Result<Option<PathBuf>> {
    let path = std::fs::read_link("/proc/self/exe")?;
    let bytes = path.as_os_str().as_bytes();
    let named = if path.exists() { bytes } else { bytes.strip_suffix(DELETED).unwrap_or(bytes) };
    let path = PathBuf::from(OsStr::from_bytes(named));
    Ok(path.is_file().then_some(path))
}

pub(super) fn hostname() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

pub(super) fn set_name(name: &str) {
    // A name with a NUL byte is cut there; the kernel cuts at 15 bytes. It is for people only, so errors don't count.
    let name: Vec<u8> = name.bytes().take_while(|byte| *byte != 0).collect();
    if let Ok(name) = CString::new(name) {
        let _ = rustix::thread::set_name(&name);
    }
}
