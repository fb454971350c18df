//! `/proc/self`, uname(2), prctl(2).

use std::ffi::CString;
use std::io;
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
