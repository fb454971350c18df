//! This process: whose, which executable, on which host.

#[cfg_attr(target_os = "linux", path = "me/linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "me/unsupported.rs")]
mod platform;

use std::io;
use std::path::PathBuf;

/// The effective user id.
#[must_use]
pub fn uid() -> u32 {
    platform::uid()
}

/// A path that starts this very executable again, also after its file was deleted or replaced. For exec, not for
/// people.
///
/// # Errors
/// When the system doesn't tell.
pub fn exe() -> io::Result<PathBuf> {
    platform::exe()
}

/// What lies now where this executable lay when it was started: itself, or what has replaced it. None: nothing does, or
/// it was moved away and the place is not known.
///
/// # Errors
/// When the system doesn't tell.
pub fn in_its_place() -> io::Result<Option<PathBuf>> {
    platform::in_its_place()
}

/// True when that is another file than this very executable.
///
/// # Errors
/// When the system doesn't tell.
pub fn is_replaced() -> io::Result<bool> {
    let Some(path) = in_its_place()? else { return Ok(false) };
    let own = std::fs::File::open(exe()?)?;
    Ok(!crate::durable::is_same_file(&own, &path)?)
}

/// Where this executable lies, or lay.
///
/// # Errors
/// When the system doesn't tell.
pub fn exe_path() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// The name of this host.
#[must_use]
pub fn hostname() -> String {
    platform::hostname()
}

/// Sets the name that process lists show for this process (15 bytes on Linux).
pub fn set_name(name: &str) {
    platform::set_name(name);
}
