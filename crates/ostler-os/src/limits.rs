//! Limits of this machine and user that will bite.

#[cfg_attr(target_os = "linux", path = "limits/linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "limits/unsupported.rs")]
mod platform;

use std::io;

/// inotify's limits, per user (inotify(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inotify {
    /// How many instances there may be.
    pub max_instances: u64,
    /// How many watches.
    pub max_watches: u64,
    /// Instances that this user has now, as far as we can see them.
    pub instances_in_use: u64,
}

/// A resource limit. `None` is unlimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// What holds now.
    pub soft: Option<u64>,
    /// How far it may be raised.
    pub hard: Option<u64>,
}

/// Memory in bytes, the smaller of the machine's and the control group's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// All there is.
    pub total: u64,
    /// What can be used without swapping.
    pub available: u64,
}

/// inotify's limits.
///
/// # Errors
/// [`io::ErrorKind::Unsupported`] where there is no inotify.
pub fn inotify() -> io::Result<Inotify> {
    platform::inotify()
}

/// How many files this process may have open.
///
/// # Errors
/// As the operating system says.
pub fn open_files() -> io::Result<Limit> {
    platform::open_files()
}

/// Lets this process have as many files open as it may. For a process that serves many: each of its connections is one.
/// What it starts has limits of its own ([`crate::spawn`]).
///
/// # Errors
/// As the operating system says; then what held before holds on.
pub fn raise_open_files() -> io::Result<()> {
    platform::raise_open_files()
}

/// Memory.
///
/// # Errors
/// As the operating system says.
pub fn memory() -> io::Result<Memory> {
    platform::memory()
}

/// How many processors we may use, at least 1.
#[must_use]
pub fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// True when this process may do everything.
#[must_use]
pub fn is_root() -> bool {
    crate::me::uid() == 0
}
