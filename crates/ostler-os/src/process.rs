//! Which process is that, and is it still there?
//!
//! A pid alone is a number that the system gives out again. A pid with its start time and the boot that both are
//! valid in is an [`Identity`]; a [`PidFd`] is a handle that no reuse can fool.

use crate::poll::{Pollable, Source};
use std::ffi::OsString;
use std::io;
use std::time::Instant;

/// Names one process for all time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Its process id.
    pub pid: u32,
    /// Its start time in clock ticks since boot (Linux: field 22 of `/proc/<pid>/stat`, see proc_pid_stat(5)).
    pub start_ticks: u64,
    /// The boot that both are valid in.
    pub boot_id: String,
}

/// A handle on a process. Readable (for a [`crate::poll::Poller`]) once the process is dead, reaped or not.
#[derive(Debug)]
pub struct PidFd {
    fd: std::fs::File,
}

impl PidFd {
    /// A handle on whoever has that pid now; `None` when nobody has.
    ///
    /// # Errors
    /// As the operating system says; [`io::ErrorKind::Unsupported`] where there are no such handles.
    pub fn open(pid: u32) -> io::Result<Option<Self>> {
        todo!()
    }

    /// A handle on exactly that process; `None` when it is gone and reaped, whoever has its pid now.
    ///
    /// # Errors
    /// As [`PidFd::open`].
    pub fn open_identity(identity: &Identity) -> io::Result<Option<Self>> {
        todo!()
    }

    /// True when the process is dead, reaped or not.
    ///
    /// # Errors
    /// As the operating system says.
    pub fn is_dead(&self) -> io::Result<bool> {
        todo!()
    }

    /// Waits for its death until `deadline`; false when it still lives then.
    ///
    /// # Errors
    /// As the operating system says.
    pub fn wait(&self, deadline: Instant) -> io::Result<bool> {
        todo!()
    }

    /// Sends SIGKILL; false when it was dead and reaped already.
    ///
    /// # Errors
    /// [`io::ErrorKind::PermissionDenied`] when it belongs to somebody else.
    pub fn kill(&self) -> io::Result<bool> {
        todo!()
    }
}

impl Pollable for PidFd {
    fn source(&self) -> Source<'_> {
        todo!()
    }
}

/// Names this boot of the machine.
///
/// # Errors
/// When the system doesn't tell.
pub fn boot_id() -> io::Result<String> {
    todo!()
}

/// Who has that pid now; `None` when nobody has. A dead process that wasn't reaped still has it.
///
/// # Errors
/// When the system doesn't tell.
pub fn identity_of(pid: u32) -> io::Result<Option<Identity>> {
    todo!()
}

/// This process.
///
/// # Errors
/// When the system doesn't tell.
pub fn self_identity() -> io::Result<Identity> {
    todo!()
}

/// True while exactly that process lives; false once it is dead, reaped or not.
///
/// # Errors
/// When the system doesn't tell.
pub fn still_is(identity: &Identity) -> io::Result<bool> {
    todo!()
}

/// The arguments of a process, `None` when nobody has that pid. Empty for a zombie.
///
/// # Errors
/// When it may not be read.
pub fn command_line(pid: u32) -> io::Result<Option<Vec<OsString>>> {
    todo!()
}
