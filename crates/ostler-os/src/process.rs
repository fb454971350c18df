//! Which process is that, and is it still there?
//!
//! A pid alone is a number that the system gives out again. A pid with its start time and the boot that both are
//! valid in is an [`Identity`]; a [`PidFd`] is a handle that no reuse can fool.

#[cfg_attr(target_os = "linux", path = "process/linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "process/unsupported.rs")]
mod platform;

#[cfg(target_os = "linux")]
pub(crate) use platform::{is_gone, parse_stat, stat};

use crate::poll::{Interest, Pollable, Poller, Source};
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
pub struct PidFd(platform::Handle);

impl PidFd {
    /// A handle on whoever has that pid now; `None` when nobody has.
    ///
    /// # Errors
    /// As the operating system says; [`io::ErrorKind::Unsupported`] where there are no such handles.
    pub fn open(pid: u32) -> io::Result<Option<Self>> {
        Ok(platform::Handle::open(pid)?.map(Self))
    }

    /// The handle that came with the process itself.
    #[cfg(target_os = "linux")]
    pub(crate) fn from_fd(fd: std::os::fd::OwnedFd) -> Self {
        Self(platform::Handle::from_fd(fd))
    }

    /// A handle on exactly that process; `None` when it is gone and reaped, whoever has its pid now.
    ///
    /// # Errors
    /// As [`PidFd::open`].
    pub fn open_identity(identity: &Identity) -> io::Result<Option<Self>> {
        // Open first, compare then: from here on the pid can't change hands unnoticed.
        let Some(handle) = Self::open(identity.pid)? else { return Ok(None) };
        Ok((identity_of(identity.pid)?.as_ref() == Some(identity)).then_some(handle))
    }

    /// True when the process is dead, reaped or not.
    ///
    /// # Errors
    /// As the operating system says.
    pub fn is_dead(&self) -> io::Result<bool> {
        self.wait(Instant::now())
    }

    /// Waits for its death until `deadline`; false when it still lives then.
    ///
    /// # Errors
    /// As the operating system says.
    pub fn wait(&self, deadline: Instant) -> io::Result<bool> {
        let mut poller = Poller::new();
        let index = poller.add(self.source(), Interest::Read);
        poller.wait(Some(deadline))?;
        Ok(poller.ready(index).read)
    }

    /// Sends SIGKILL; false when it was dead and reaped already.
    ///
    /// # Errors
    /// [`io::ErrorKind::PermissionDenied`] when it belongs to somebody else.
    pub fn kill(&self) -> io::Result<bool> {
        self.0.kill()
    }

    /// Asks it to end (SIGTERM); false when it was dead and reaped already.
    ///
    /// # Errors
    /// As [`PidFd::kill`].
    pub fn terminate(&self) -> io::Result<bool> {
        self.0.terminate()
    }

    /// Stops it where it is (SIGSTOP) until [`PidFd::go_on`]; false when it was dead and reaped already.
    ///
    /// # Errors
    /// As [`PidFd::kill`].
    pub fn pause(&self) -> io::Result<bool> {
        self.0.pause()
    }

    /// Lets it go on (SIGCONT); false when it was dead and reaped already.
    ///
    /// # Errors
    /// As [`PidFd::kill`].
    pub fn go_on(&self) -> io::Result<bool> {
        self.0.go_on()
    }
}

impl Pollable for PidFd {
    fn source(&self) -> Source<'_> {
        self.0.source()
    }
}

/// Names this boot of the machine.
///
/// # Errors
/// When the system doesn't tell.
pub fn boot_id() -> io::Result<String> {
    platform::boot_id()
}

/// Who has that pid now; `None` when nobody has. A dead process that wasn't reaped still has it.
///
/// # Errors
/// When the system doesn't tell.
pub fn identity_of(pid: u32) -> io::Result<Option<Identity>> {
    platform::identity_of(pid)
}

/// This process.
///
/// # Errors
/// When the system doesn't tell.
pub fn self_identity() -> io::Result<Identity> {
    identity_of(std::process::id())?.ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// True while exactly that process lives; false once it is dead, reaped or not.
///
/// # Errors
/// When the system doesn't tell.
pub fn still_is(identity: &Identity) -> io::Result<bool> {
    match PidFd::open_identity(identity)? {
        Some(handle) => Ok(!handle.is_dead()?),
        None => Ok(false),
    }
}

/// The arguments of a process, `None` when nobody has that pid. Empty for a zombie.
///
/// # Errors
/// When it may not be read.
pub fn command_line(pid: u32) -> io::Result<Option<Vec<OsString>>> {
    platform::command_line(pid)
}

/// Ends this process by SIGKILL. For tests that want to see what a process leaves that had no time for anything.
pub fn kill_self() {
    platform::kill_self();
}

/// The same for this process's parent.
pub fn kill_parent() {
    platform::kill_parent();
}
