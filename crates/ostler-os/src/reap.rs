//! Exit statuses of children, exactly once each.
//!
//! One process reaps in one place. Each child is looked at first, without taking it, and then taken by its pid:
//! a blind "wait for any" beside somebody who waits for one pid loses statuses.

use std::io;

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
    todo!()
}

/// True when this process is a subreaper.
///
/// # Errors
/// As the operating system says.
pub fn is_subreaper() -> io::Result<bool> {
    todo!()
}

/// Reaps every child that is dead now (at most 4096 a call), without waiting.
///
/// # Errors
/// As the operating system says. Having no children is not an error.
pub fn reap_all() -> io::Result<Vec<(u32, Exit)>> {
    todo!()
}

/// True while this process has children, dead or alive. False is the kernel's proof that nothing of a subreaper's
/// tree is left.
///
/// # Errors
/// As the operating system says.
pub fn has_children() -> io::Result<bool> {
    todo!()
}
