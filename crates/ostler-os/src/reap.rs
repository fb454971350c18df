//! Exit statuses of children, exactly once each.
//!
//! One process reaps in one place. Each child is looked at first, without taking it, and then taken by its pid:
//! a blind "wait for any" beside somebody who waits for one pid loses statuses.

#[cfg_attr(target_os = "linux", path = "reap/linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "reap/unsupported.rs")]
mod platform;

use std::io;

/// The most that one call reaps, so that children that keep dying can't hold it for ever.
const ONE_CALL: usize = 4096;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this status.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// Makes orphans among our descendants our children instead of init's.
///
/// # Errors
/// [`io::ErrorKind::Unsupported`] where there is no such thing.
pub fn become_subreaper() -> io::Result<()> {
    platform::become_subreaper()
}

/// True when this process is a subreaper.
///
/// # Errors
/// As the operating system says.
pub fn is_subreaper() -> io::Result<bool> {
    platform::is_subreaper()
}

/// Reaps every child that is dead now (at most 4096 a call), without waiting.
///
/// # Errors
/// As the operating system says. Having no children is not an error.
pub fn reap_all() -> io::Result<Vec<(u32, Exit)>> {
    let mut reaped = Vec::new();
    while reaped.len() < ONE_CALL {
        let Some(pid) = platform::peek()? else { break };
        if let Some(exit) = platform::take(pid)? {
            reaped.push((pid, exit));
        }
    }
    Ok(reaped)
}

/// True while this process has children, dead or alive. False is the kernel's proof that nothing of a subreaper's
/// tree is left.
///
/// # Errors
/// As the operating system says.
pub fn has_children() -> io::Result<bool> {
    platform::has_children()
}
