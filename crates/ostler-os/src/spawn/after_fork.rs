//! What a new process does between fork and exec.
//!
//! The parent may have other threads, which don't exist here and may have held any lock when they vanished. So only
//! async-signal-safe calls (signal-safety(7)) are made, and nothing is allocated: whatever is needed is prepared
//! before the fork.
#![expect(unsafe_code, reason = "only raw system calls are allowed between fork and exec")]

use super::program::Program;
use std::ffi::{CStr, c_char};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;
use std::sync::Arc;

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

/// How the process is set up.
pub(super) struct Setup {
    /// Where it works.
    pub(super) cwd: OwnedFd,
    /// The one descriptor beside stdio that it inherits.
    pub(super) inherit: Option<OwnedFd>,
    pub(super) umask: u32,
    /// What to write to `oom_score_adj`.
    pub(super) oom_score_adj: Option<Vec<u8>>,
    /// Control groups to enter: to each of these files `0` is written.
    pub(super) doors: Vec<File>,
    /// Fork once more, so that the parent of the program is nobody here; its line in `/proc/self/stat` goes to this
    /// pipe.
    pub(super) detach: Option<OwnedFd>,
    pub(super) image: Image,
}

/// The arguments of execve(2). The pointers lead into `program`, which nobody changes.
pub(super) struct Image {
    program: Arc<Program>,
    argv: Vec<*const c_char>,
    env: Vec<*const c_char>,
}

// SAFETY: the pointers lead to heap memory that this value owns and that is only read.
unsafe impl Send for Image {}
// SAFETY: as above; nothing is changed through a shared reference.
unsafe impl Sync for Image {}

impl Image {
    pub(super) fn new(program: Arc<Program>) -> Self {
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

/// Makes `command` do all that in its new process, instead of its own exec.
pub(super) fn install(command: &mut Command, setup: Setup) {
    // SAFETY: `run` makes only async-signal-safe calls and doesn't allocate.
    unsafe { command.pre_exec(move || run(&setup)) };
}

fn run(setup: &Setup) -> io::Result<()> {
    if setup.detach.is_some() {
        leave_parent()?;
    }
    enter(setup)?;
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
    // The descriptor over which a failed exec is told to the parent has the flag already.
    mark_all_close_on_exec();
    if let Some(inherit) = &setup.inherit {
        // SAFETY: the descriptor is open.
        check(unsafe { libc::fcntl(inherit.as_raw_fd(), libc::F_SETFD, 0) })?;
    }
    Err(setup.image.exec())
}

/// Before anything of the program runs, so that nothing it starts is anywhere else.
fn enter(setup: &Setup) -> io::Result<()> {
    for door in &setup.doors {
        // SAFETY: the descriptor is open, the byte valid.
        let written = unsafe { libc::write(door.as_raw_fd(), c"0".as_ptr().cast(), 1) };
        // Whoever is started detached should be in no scope, and is started in any case.
        if written < 0 && setup.detach.is_none() {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Forks; the one that was there ends, so that the new one is adopted by init or the nearest subreaper.
fn leave_parent() -> io::Result<()> {
    // The system call itself, for the C library's fork runs handlers that may want a lock. Nothing that is called
    // from here on asks the C library who we are.
    // SAFETY: without a stack and with no flag but the exit signal this is a plain fork.
    let pid = unsafe { libc::syscall(libc::SYS_clone, libc::c_long::from(libc::SIGCHLD), 0, 0, 0, 0) };
    match pid {
        0 => Ok(()),
        1.. => {
            // SAFETY: ends this process and runs nothing on the way.
            unsafe { libc::_exit(0) }
        }
        _ => Err(io::Error::last_os_error()),
    }
}

/// Puts every disposition and the mask back to what a login gives.
fn reset_signals() {
    /// The kernel's set of signals, in bytes.
    const SET: usize = 8;
    // The kernel's `struct sigaction` is smaller on every machine; zeros mean SIG_DFL, no flags, an empty mask.
    let default = [0_u64; 8];
    // SAFETY: the first pointer is valid for reads of more than the kernel reads. Signals that can't be set (KILL,
    // STOP) are errors without effect. The system call itself, because the C library leaves its own signals out,
    // which are inherited ignored all the same.
    unsafe {
        for signal in 1..=libc::SIGRTMAX() {
            libc::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), ptr::null_mut::<u64>(), SET);
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

/// A child whose parent ignores SIGCHLD vanishes without a status, and the standard library panics when it then
/// cannot wait for a child whose exec failed. An ignored signal is inherited, so it may not even be our doing.
pub(super) fn keep_exit_statuses() {
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
