//! pidfds and `/proc`.

use super::Identity;
use crate::Unsupported;
use crate::poll::Source;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;

/// Longest command line that is read: what the kernel lets a process have at most by default (execve(2)).
const COMMAND_LINE_LIMIT: u64 = 6 << 20;

#[derive(Debug)]
pub(super) struct Handle(OwnedFd);

impl Handle {
    pub(super) fn from_fd(fd: OwnedFd) -> Self {
        Self(fd)
    }

    pub(super) fn open(pid: u32) -> io::Result<Option<Self>> {
        let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return Ok(None) };
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(fd) => Ok(Some(Self(fd))),
            // EINVAL, since Linux 6.9 ENOENT: the number of a thread, so of no process.
            Err(Errno::SRCH | Errno::INVAL | Errno::NOENT) => Ok(None),
            Err(Errno::NOSYS) => Err(Unsupported { what: "a pidfd (needs kernel 5.3)" }.into()),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn kill(&self) -> io::Result<bool> {
        self.send(Signal::KILL)
    }

    pub(super) fn terminate(&self) -> io::Result<bool> {
        self.send(Signal::TERM)
    }

    pub(super) fn pause(&self) -> io::Result<bool> {
        self.send(Signal::STOP)
    }

    pub(super) fn go_on(&self) -> io::Result<bool> {
        self.send(Signal::CONT)
    }

    fn send(&self, signal: Signal) -> io::Result<bool> {
        match pidfd_send_signal(&self.0, signal) {
            Ok(()) => Ok(true),
            Err(Errno::SRCH) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn source(&self) -> Source<'_> {
        self.0.as_fd().into()
    }
}

pub(super) fn boot_id() -> io::Result<String> {
    let mut text = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    text.truncate(text.trim_end().len());
    Ok(text)
}

pub(super) fn identity_of(pid: u32) -> io::Result<Option<Identity>> {
    match stat(pid)? {
        Some(stat) => Ok(Some(Identity { pid, start_ticks: stat.start_ticks, boot_id: boot_id()? })),
        None => Ok(None),
    }
}

pub(super) fn command_line(pid: u32) -> io::Result<Option<Vec<OsString>>> {
    let mut bytes = Vec::new();
    let read = fs::File::open(format!("/proc/{pid}/cmdline"))
        .and_then(|file| file.take(COMMAND_LINE_LIMIT).read_to_end(&mut bytes));
    match read {
        Ok(_) => {}
        Err(error) if is_gone(&error) => return Ok(None),
        Err(error) => return Err(error),
    }
    if bytes.last() == Some(&0) {
        bytes.pop();
    } else if bytes.is_empty() {
        return Ok(Some(Vec::new()));
    }
    Ok(Some(bytes.split(|byte| *byte == 0).map(|part| OsString::from_vec(part.to_vec())).collect()))
}

/// What `/proc/<pid>/stat` tells (proc_pid_stat(5)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    /// The thread group's leader is dead. Other threads may live: only a pidfd tells.
    pub(crate) zombie: bool,
    pub(crate) start_ticks: u64,
}

/// `None` when nobody has that pid.
pub(crate) fn stat(pid: u32) -> io::Result<Option<Stat>> {
    // No line is longer: 52 numbers and a name of at most 64 bytes.
    let mut buffer = [0; 2048];
    match fs::File::open(format!("/proc/{pid}/stat")).and_then(|mut file| file.read(&mut buffer)) {
        Ok(length) => parse_stat(&buffer[..length]).map(Some),
        Err(error) if is_gone(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads one line of `stat`.
pub(crate) fn parse_stat(line: &[u8]) -> io::Result<Stat> {
    let parsed = || {
        let number = |field: &[u8]| str::from_utf8(field).ok()?.trim_end().parse::<u64>().ok();
        let pid = number(line.split(|byte| *byte == b' ').next()?)?;
        // The name stands in parentheses and may itself contain any of them.
        let after_name = line.iter().rposition(|byte| *byte == b')')? + 2;
        let mut fields = line.get(after_name..)?.split(|byte| *byte == b' ');
        let state = fields.next()?;
        let parent = number(fields.next()?)?;
        // Fields 3 (state) and 4 (parent) are consumed; the start time is field 22.
        let start_ticks = number(fields.nth(17)?)?;
        Some(Stat {
            pid: u32::try_from(pid).ok()?,
            parent: u32::try_from(parent).ok()?,
            zombie: matches!(state, b"Z" | b"X"),
            start_ticks,
        })
    };
    parsed().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "unreadable line in /proc/<pid>/stat"))
}

/// A process that ends while its files are read gives ESRCH instead of ENOENT.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(Errno::SRCH.raw_os_error())
}

pub(super) fn kill_self() {
    // Can't fail for ourselves, and there would be nothing to do.
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
}

pub(super) fn kill_parent() {
    if let Some(parent) = rustix::process::getppid() {
        let _ = rustix::process::kill_process(parent, rustix::process::Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_full_of_parentheses_is_skipped() {
        let line = b"42 (a) b) (c) Z 7 42 42 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 987654 0 0 1\n";
        let stat = parse_stat(line).unwrap();
        assert_eq!(stat, Stat { pid: 42, parent: 7, zombie: true, start_ticks: 987_654 });
    }

    #[test]
    fn a_cut_line_is_an_error_not_a_guess() {
        let error = parse_stat(b"42 (sh) S 7 42").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
