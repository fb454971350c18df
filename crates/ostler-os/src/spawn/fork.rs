//! A fork that the standard library has not: the new process begins inside its control group, and comes with its
//! handle.
//!
//! To move into a group a process waits until the kernel is sure that nobody forks at that moment, which takes about
//! ten milliseconds; to begin in one (clone3(2), `CLONE_INTO_CGROUP`) takes nothing. Where that can't be had (version 1
//! groups, an old kernel, a sandbox that refuses clone3) a plain fork comes first and the move after it.
#![expect(unsafe_code, reason = "no safe call forks, or blocks signals of the C library's own")]

use super::after_fork::{self, Setup, Step};
use crate::PathError;
use crate::process::PidFd;
use crate::scope::Door;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::ptr;

/// The kernel's set of signals, in bytes.
pub(super) const SIGNALS: usize = 8;

/// The flag of clone3(2); the C library's bindings cut it off.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// What clone3(2) reads, up to the field that came last (Linux 5.7).
#[repr(C, align(8))]
#[derive(Default)]
struct CloneArgs {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
    set_tid: u64,
    set_tid_size: u64,
    cgroup: u64,
}

/// A child that runs its program.
#[derive(Debug)]
pub(super) struct Forked {
    pub(super) pid: u32,
    pub(super) pidfd: PidFd,
}

/// Why there is none.
#[derive(Debug)]
pub(super) struct Failed {
    /// What it was about to do.
    pub(super) step: Step,
    pub(super) source: io::Error,
}

/// Who returns from a fork.
enum Side {
    Parent(Forked),
    /// It is inside the group of the door with this index.
    Child(Option<usize>),
}

/// Forks, and returns when the exec has succeeded or failed. A child that failed is reaped.
pub(super) fn start(setup: &Setup<'_>) -> Result<Forked, Failed> {
    let failed = |source| Failed { step: Step::Fork, source };
    keep_exit_statuses();
    let (mut told, tells) = io::pipe().map_err(failed)?;
    // A signal between the fork and the reset of its handlers would run ours in the child, which share files with us.
    let blocked = Blocked::all();
    let forked = match fork(&setup.doors) {
        Ok(Side::Child(inside)) => after_fork::run(setup, inside, tells.as_raw_fd()),
        Ok(Side::Parent(forked)) => Ok(forked),
        Err(error) => Err(failed(error)),
    };
    drop(blocked);
    let forked = forked?;
    // Else its end would never come.
    drop(tells);
    let mut report = Vec::new();
    // Closed by the exec. The report is smaller than what a pipe takes at once: whole or not there.
    let read = told.read_to_end(&mut report).map_err(failed);
    let result =
        read.and_then(|_| Step::read(&report).map_or(Ok(()), |(step, source)| Err(Failed { step, source })));
    match result {
        Ok(()) => Ok(forked),
        Err(error) => {
            reap(forked.pid);
            Err(error)
        }
    }
}

/// Takes the status of a child that has ended, or is about to. Somebody else may have reaped it.
pub(super) fn reap(pid: u32) {
    let Some(pid) = pid_of(pid) else { return };
    while matches!(waitpid(Some(pid), WaitOptions::empty()), Err(Errno::INTR)) {}
}

fn pid_of(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}

fn fork(doors: &[Door]) -> io::Result<Side> {
    let group = |(at, door): (usize, &Door)| Some((at, door.group.as_ref()?.as_raw_fd()));
    let into = doors.iter().enumerate().find_map(group);
    // Whatever the reason, the plain way is tried next and its error is the one to tell.
    match clone3(into.map(|(_, group)| group)) {
        Ok(Some(forked)) => Ok(Side::Parent(forked)),
        Ok(None) => Ok(Side::Child(into.map(|(at, _)| at))),
        Err(_) => plain(),
    }
}

/// None: this is the child.
fn clone3(group: Option<RawFd>) -> io::Result<Option<Forked>> {
    let mut pidfd: RawFd = -1;
    let mut args = CloneArgs {
        flags: u64::from(libc::CLONE_PIDFD.unsigned_abs()),
        pidfd: ptr::from_mut(&mut pidfd).expose_provenance() as u64,
        exit_signal: u64::from(libc::SIGCHLD.unsigned_abs()),
        ..CloneArgs::default()
    };
    if let Some(group) = group {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = u64::from(group.unsigned_abs());
    }
    // SAFETY: without CLONE_VM this is a fork: the child has a copy of all memory and returns on a copy of this stack.
    // `args` is valid for reads of its length, and `pidfd` for the write of a descriptor.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw const args, size_of::<CloneArgs>()) };
    match u32::try_from(pid) {
        Ok(0) => Ok(None),
        // SAFETY: the kernel has just made this descriptor for us, and nobody else knows it.
        Ok(pid) => Ok(Some(Forked { pid, pidfd: PidFd::from_fd(unsafe { OwnedFd::from_raw_fd(pidfd) }) })),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

fn plain() -> io::Result<Side> {
    match after_fork::fork()? {
        0 => Ok(Side::Child(None)),
        // Nobody reaps the child before we return, so the pid is its own even if it is dead already.
        pid => match PidFd::open(pid).and_then(|pidfd| pidfd.ok_or(io::ErrorKind::NotFound.into())) {
            Ok(pidfd) => Ok(Side::Parent(Forked { pid, pidfd })),
            Err(error) => {
                if let Some(pid) = pid_of(pid) {
                    // It is there, dead or alive, and ours.
                    let _ = kill_process(pid, Signal::KILL);
                }
                reap(pid);
                Err(error)
            }
        },
    }
}

/// All signals are blocked in this thread until it is dropped, those of the C library too.
struct Blocked {
    before: [u64; 8],
}

impl Blocked {
    fn all() -> Self {
        let all = [u64::MAX; 8];
        let mut before = [0; 8];
        // SAFETY: both sets are valid for more than the kernel's size of one. It can't fail.
        unsafe {
            libc::syscall(
                libc::SYS_rt_sigprocmask,
                libc::SIG_SETMASK,
                all.as_ptr(),
                before.as_mut_ptr(),
                SIGNALS,
            );
        }
        Self { before }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: the set is valid for more than the kernel's size of one.
        unsafe {
            libc::syscall(
                libc::SYS_rt_sigprocmask,
                libc::SIG_SETMASK,
                self.before.as_ptr(),
                ptr::null_mut::<u64>(),
                SIGNALS,
            );
        }
    }
}

/// A child whose parent ignores SIGCHLD vanishes without a status. An ignored signal is inherited, so it may not even
/// be our doing.
fn keep_exit_statuses() {
    // SAFETY: zeros are valid to be filled; SIG_DFL is a valid handler.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGCHLD, ptr::null(), &raw mut action);
        if action.sa_sigaction == libc::SIG_IGN || action.sa_flags & libc::SA_NOCLDWAIT != 0 {
            action.sa_sigaction = libc::SIG_DFL;
            action.sa_flags = 0;
            libc::sigaction(libc::SIGCHLD, &raw const action, ptr::null_mut());
        }
    }
}

/// Keeps the numbers of stdio taken, should any of them be free: what is opened while this is held has another one, and
/// is not overwritten when the new process gets its own stdio.
pub(super) fn hold_stdio() -> Result<Vec<File>, PathError> {
    const NULL: &str = "/dev/null";
    let mut held = Vec::new();
    loop {
        let file = File::open(NULL).map_err(|source| PathError::new("open", Path::new(NULL), source))?;
        if file.as_raw_fd() > libc::STDERR_FILENO {
            return Ok(held);
        }
        held.push(file);
    }
}
