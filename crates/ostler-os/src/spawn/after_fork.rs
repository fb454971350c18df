//! What a new process does between fork and exec.
//!
//! The parent may have other threads, which don't exist here and may have held any lock when they vanished. So only
//! async-signal-safe calls (signal-safety(7)) are made, and nothing is allocated: whatever is needed is prepared
//! before the fork.
#![expect(unsafe_code, reason = "only raw system calls are allowed between fork and exec")]

use super::fork::SIGNALS;
use super::program::Program;
use crate::scope::Door;
use std::ffi::{CStr, c_char};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::ptr;

/// The limits that a shell may have set for itself and that would hurt a child that lives long. Core files and the
/// stack stay as they are: raising them changes more than it helps.
const LIMITS: [Limit; 6] = [
    libc::RLIMIT_CPU,
    libc::RLIMIT_FSIZE,
    libc::RLIMIT_DATA,
    libc::RLIMIT_AS,
    libc::RLIMIT_RSS,
    libc::RLIMIT_NPROC,
];

/// Open files are raised so far and no further: some programs walk over all numbers that they might have.
const OPEN_FILES: libc::rlim_t = 65_536;

#[cfg(target_env = "gnu")]
type Limit = libc::__rlimit_resource_t;
#[cfg(not(target_env = "gnu"))]
type Limit = libc::c_int;

/// How the process is set up. No descriptor in it has a number of stdio.
pub(super) struct Setup<'a> {
    /// Its stdin, stdout and stderr.
    pub(super) stdio: [OwnedFd; 3],
    /// Where it works.
    pub(super) cwd: OwnedFd,
    /// The one descriptor beside stdio that it inherits.
    pub(super) inherit: Option<OwnedFd>,
    pub(super) umask: u32,
    /// What to write to `oom_score_adj`.
    pub(super) oom_score_adj: Option<Vec<u8>>,
    /// Control groups to enter.
    pub(super) doors: Vec<Door>,
    /// Fork once more, so that the parent of the program is nobody here; its line in `/proc/self/stat` goes to this
    /// pipe.
    pub(super) detach: Option<OwnedFd>,
    pub(super) image: Image<'a>,
}

/// The arguments of execve(2).
pub(super) struct Image<'a> {
    program: &'a Program,
    argv: Vec<*const c_char>,
    env: Vec<*const c_char>,
}

/// What a process was about to do when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// To begin, or to get its descriptors and its directory.
    Fork = 1,
    /// To enter its control groups.
    Enter,
    /// To run the program.
    Exec,
}

impl Step {
    /// How long a report is, in bytes: the step and the error's number.
    const REPORT: usize = 8;

    fn report(self, error: &io::Error) -> [u8; Self::REPORT] {
        let [step, errno] = [self as i32, error.raw_os_error().unwrap_or(0)].map(i32::to_ne_bytes);
        let mut report = [0; Self::REPORT];
        report[..4].copy_from_slice(&step);
        report[4..].copy_from_slice(&errno);
        report
    }

    /// What was reported; None: nothing.
    pub(super) fn read(report: &[u8]) -> Option<(Self, io::Error)> {
        let (step, errno) = report.split_first_chunk::<4>()?;
        let step = match i32::from_ne_bytes(*step) {
            2 => Self::Enter,
            3 => Self::Exec,
            _ => Self::Fork,
        };
        Some((step, io::Error::from_raw_os_error(i32::from_ne_bytes(*errno.first_chunk()?))))
    }
}

impl<'a> Image<'a> {
    pub(super) fn new(program: &'a Program) -> Self {
        let pointers = |strings: &[std::ffi::CString]| {
            strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect::<Vec<_>>()
        };
        Self { argv: pointers(&program.argv), env: pointers(&program.env), program }
    }

    /// Returns only when it failed.
    fn exec(&self) -> io::Error {
        // Not execvp, which would run a text file without `#!` by the shell.
        // SAFETY: both arrays end in null and their strings are alive.
        unsafe { libc::execve(self.program.file.as_ptr(), self.argv.as_ptr(), self.env.as_ptr()) };
        io::Error::last_os_error()
    }
}

/// All that the new process does from its first instruction on. `inside`: the door of a group that it began in.
/// `tells`: where it says what went wrong; closed by the exec.
pub(super) fn run(setup: &Setup<'_>, inside: Option<usize>, tells: RawFd) -> ! {
    let (step, error) = set_up(setup, inside);
    let report = step.report(&error);
    // SAFETY: the report is valid for its length; then this process ends and runs nothing on the way.
    unsafe {
        libc::write(tells, report.as_ptr().cast(), report.len());
        libc::_exit(127)
    }
}

/// Returns only when it failed: at what and why.
fn set_up(setup: &Setup<'_>, inside: Option<usize>) -> (Step, io::Error) {
    if setup.detach.is_some()
        && let Err(error) = leave_parent()
    {
        return (Step::Fork, error);
    }
    if let Err(error) = enter(setup, inside) {
        return (Step::Enter, error);
    }
    if let Err(error) = prepare(setup) {
        return (Step::Fork, error);
    }
    (Step::Exec, setup.image.exec())
}

fn prepare(setup: &Setup<'_>) -> io::Result<()> {
    reset_signals();
    // SAFETY: plain system calls on numbers.
    unsafe {
        // Fails only for a process group's leader, which a process that was just forked isn't.
        libc::setsid();
        libc::umask(setup.umask as libc::mode_t);
        // Raising priority takes a privilege; without it the nice value stays.
        libc::setpriority(libc::PRIO_PROCESS, 0, 0);
    }
    reset_limits();
    if let Some(score) = &setup.oom_score_adj {
        write_file(c"/proc/self/oom_score_adj", score);
    }
    if let Some(pipe) = &setup.detach {
        send_stat(pipe.as_raw_fd())?;
    }
    // SAFETY: the descriptor is open.
    check(unsafe { libc::fchdir(setup.cwd.as_raw_fd()) })?;
    for (number, file) in (0..).zip(&setup.stdio) {
        // SAFETY: the descriptor is open, and no other one that is needed has that number.
        check(unsafe { libc::dup2(file.as_raw_fd(), number) })?;
    }
    // The descriptor over which a failed exec is told to the parent has the flag already.
    mark_all_close_on_exec();
    if let Some(inherit) = &setup.inherit {
        // SAFETY: the descriptor is open.
        check(unsafe { libc::fcntl(inherit.as_raw_fd(), libc::F_SETFD, 0) })?;
    }
    Ok(())
}

/// Before anything of the program runs, so that nothing it starts is anywhere else.
fn enter(setup: &Setup<'_>, inside: Option<usize>) -> io::Result<()> {
    for (_, door) in setup.doors.iter().enumerate().filter(|(at, _)| Some(*at) != inside) {
        // SAFETY: the descriptor is open, the byte valid.
        let written = unsafe { libc::write(door.procs.as_raw_fd(), c"0".as_ptr().cast(), 1) };
        // Whoever is started detached should be in no scope, and is started in any case.
        if written < 0 && setup.detach.is_none() {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Forks; the one that was there ends, so that the new one is adopted by init or the nearest subreaper.
fn leave_parent() -> io::Result<()> {
    if fork()? == 0 {
        return Ok(());
    }
    // SAFETY: ends this process and runs nothing on the way.
    unsafe { libc::_exit(0) }
}

/// Gives the child's pid, and to the child 0. The system call itself, for the C library's fork runs handlers that may
/// want a lock. Nothing that the child calls asks the C library who it is.
pub(super) fn fork() -> io::Result<u32> {
    // SAFETY: without a stack and with no flag but the exit signal this is a plain fork.
    let pid = unsafe { libc::syscall(libc::SYS_clone, libc::c_long::from(libc::SIGCHLD), 0, 0, 0, 0) };
    u32::try_from(pid).map_err(|_| io::Error::last_os_error())
}

/// Puts every disposition and the mask back to what a login gives.
fn reset_signals() {
    // The kernel's `struct sigaction` is smaller on every machine; zeros mean SIG_DFL, no flags, an empty mask.
    let default = [0_u64; 8];
    // SAFETY: the first pointer is valid for reads of more than the kernel reads. Signals that can't be set (KILL,
    // STOP) are errors without effect. The system call itself, because the C library leaves its own signals out,
    // which are inherited ignored all the same.
    unsafe {
        for signal in 1..=libc::SIGRTMAX() {
            libc::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), ptr::null_mut::<u64>(), SIGNALS);
        }
    }
    // SAFETY: zeros are valid to be filled.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
    }
}

/// Raises the soft limits to the hard ones. None of it is worth failing for.
fn reset_limits() {
    for resource in LIMITS {
        raise_limit(resource, libc::RLIM_INFINITY);
    }
    raise_limit(libc::RLIMIT_NOFILE, OPEN_FILES);
}

fn raise_limit(resource: Limit, wanted: libc::rlim_t) {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid for reads and writes.
    unsafe {
        if libc::getrlimit(resource, &raw mut limit) != 0 {
            return;
        }
        let raised = wanted.min(limit.rlim_max);
        if raised > limit.rlim_cur {
            limit.rlim_cur = raised;
            libc::setrlimit(resource, &raw const limit);
        }
    }
}

fn mark_all_close_on_exec() {
    // SAFETY: only changes flags of descriptors of this process, which has no other thread.
    unsafe {
        let flag = libc::CLOSE_RANGE_CLOEXEC;
        if libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, flag) == 0 {
            return;
        }
        // Before Linux 5.11.
        let mut limit = libc::rlimit { rlim_cur: OPEN_FILES, rlim_max: OPEN_FILES };
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
        let last = RawFd::try_from(limit.rlim_cur.min(1 << 20)).unwrap_or(RawFd::MAX);
        for fd in 3..last {
            libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC);
        }
    }
}

/// Copies this process's `/proc/self/stat`: who it is. The parent parses it, since nothing may be allocated here.
fn send_stat(pipe: RawFd) -> io::Result<()> {
    let mut buffer = [0_u8; 2048];
    // SAFETY: the path is a C string, the buffer valid for its length; the descriptor is closed once.
    unsafe {
        let stat = libc::open(c"/proc/self/stat".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        check(stat)?;
        let length = libc::read(stat, buffer.as_mut_ptr().cast(), buffer.len());
        libc::close(stat);
        let Ok(length) = usize::try_from(length) else { return Err(io::Error::last_os_error()) };
        // Less than PIPE_BUF into an empty pipe: all or nothing.
        if libc::write(pipe, buffer.as_ptr().cast(), length) < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Best effort.
fn write_file(path: &CStr, bytes: &[u8]) {
    // SAFETY: the path is a C string, the bytes valid for their length; the descriptor is closed once.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if file >= 0 {
            libc::write(file, bytes.as_ptr().cast(), bytes.len());
            libc::close(file);
        }
    }
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
