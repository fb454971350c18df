//! waitid(2).
#![expect(unsafe_code, reason = "no safe waitid tells the pid of the child that it found")]

use super::Exit;
use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, child_subreaper, getpid, set_child_subreaper, waitid};
use std::io;
use std::mem::zeroed;

pub(super) fn become_subreaper() -> io::Result<()> {
    // Any value but 0 switches it on (PR_SET_CHILD_SUBREAPER(2const)).
    Ok(set_child_subreaper(Some(getpid()))?)
}

pub(super) fn is_subreaper() -> io::Result<bool> {
    Ok(child_subreaper()?.is_some())
}

/// A child that is dead and not reaped, left as it is.
pub(super) fn peek() -> io::Result<Option<u32>> {
    look(libc::WEXITED | libc::WNOHANG | libc::WNOWAIT).map(Option::flatten)
}

pub(super) fn has_children() -> io::Result<bool> {
    Ok(look(libc::WEXITED | libc::WNOHANG | libc::WNOWAIT)?.is_some())
}

/// `None`: no children. `Some(None)`: none of them fits.
fn look(options: libc::c_int) -> io::Result<Option<Option<u32>>> {
    // SAFETY: a siginfo_t of zeros is valid; without a fitting child it stays so, and pid 0 means "none".
    let mut info: libc::siginfo_t = unsafe { zeroed() };
    loop {
        // SAFETY: `info` is valid for writes for the whole call.
        if unsafe { libc::waitid(libc::P_ALL, 0, &raw mut info, options) } == 0 {
            break;
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::ECHILD) => return Ok(None),
            Some(libc::EINTR) => {}
            _ => return Err(error),
        }
    }
    // SAFETY: after a successful waitid the fields of a SIGCHLD are set, or still zero.
    let pid = unsafe { info.si_pid() };
    Ok(Some(u32::try_from(pid).ok().filter(|pid| *pid != 0)))
}

/// Reaps one child; `None` when somebody else did.
pub(super) fn take(pid: u32) -> io::Result<Option<Exit>> {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return Ok(None) };
    loop {
        match waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {
            Ok(None) | Err(Errno::CHILD) => return Ok(None),
            Ok(Some(status)) => {
                let code = status.exit_status().map(Exit::Code);
                return Ok(code.or_else(|| status.terminating_signal().map(Exit::Signal)));
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
