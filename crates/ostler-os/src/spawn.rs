//! Starting processes: a session's child, and a process of our own that outlives us.

#[cfg(target_os = "linux")]
mod after_fork;
#[cfg(target_os = "linux")]
mod fork;
#[cfg(target_os = "linux")]
mod program;

#[cfg_attr(target_os = "linux", path = "spawn/linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "spawn/unsupported.rs")]
mod platform;

use crate::process::{Identity, PidFd, boot_id};
use crate::scope::Scope;
use crate::{PathError, Unsupported};
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// How a child starts. Nothing is inherited that isn't named here.
#[derive(Clone)]
pub struct ChildSpec {
    /// The program and its arguments. A program without `/` is looked up in the `PATH` of `env`; a relative one
    /// counts from `cwd`.
    pub argv: Vec<OsString>,
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// Its working directory.
    pub cwd: PathBuf,
    /// Its stdin: a FIFO, opened for reading and writing.
    pub stdin_fifo: PathBuf,
    /// Its stdout: a file, created 0600 and opened for append.
    pub stdout_append: PathBuf,
    /// Its stderr: a file, created 0600 and opened for append.
    pub stderr: PathBuf,
    /// Its alive file: locked before the fork, inherited.
    pub alive: PathBuf,
    /// Its umask. The files that it makes are the user's, so this is not ours of 077.
    pub umask: u32,
    /// Its OOM score adjustment (-1000…1000, lower needs privileges); `None` leaves ours.
    pub oom_score_adj: Option<i16>,
    /// Where it belongs before its exec; already made. Where it can't be put in it does not start.
    pub scope: Option<Scope>,
}

impl fmt::Debug for ChildSpec {
    /// Without the environment's values: some are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.env.iter().map(|(name, _)| name).collect();
        f.debug_struct("ChildSpec")
            .field("argv", &self.argv)
            .field("env", &names)
            .field("cwd", &self.cwd)
            .finish_non_exhaustive()
    }
}

/// A process that was started.
#[derive(Debug)]
pub struct Started {
    /// Its process id.
    pub pid: u32,
    /// Its start time in clock ticks since boot.
    pub start_ticks: u64,
    /// A handle on it that no reuse of the pid can fool.
    pub pidfd: PidFd,
}

impl Started {
    /// Who it is for all time.
    ///
    /// # Errors
    /// The system doesn't tell which boot this is.
    pub fn identity(&self) -> io::Result<Identity> {
        Ok(Identity { pid: self.pid, start_ticks: self.start_ticks, boot_id: boot_id()? })
    }
}

/// Why a process was not started. Nothing is left behind but the files named in the spec.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The program isn't there.
    #[error("{} was not found", program.display())]
    NotFound {
        /// As it was looked up; without `/`: in no directory of `PATH`.
        program: PathBuf,
    },
    /// The program is there and cannot be run.
    #[error("{} cannot be run: {why}", program.display())]
    NotExecutable {
        /// As it was looked up.
        program: PathBuf,
        /// Which of the reasons.
        why: NotExecutable,
    },
    /// The working directory is missing, is not a directory, or may not be entered.
    #[error("cannot use {} as working directory", cwd.display())]
    BadCwd {
        /// The working directory.
        cwd: PathBuf,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
    /// Arguments and environment are larger than the system takes.
    #[error("arguments and environment are too large to start a process: {0}")]
    TooBig(ArgumentSizes),
    /// What was asked for can't exist.
    #[error("{0}")]
    Malformed(Malformed),
    /// The alive file is held: a child of this generation lives.
    #[error("{} is held by a live process", path.display())]
    Alive {
        /// The alive file.
        path: PathBuf,
    },
    /// A file of the spec could not be opened.
    #[error(transparent)]
    Path(#[from] PathError),
    /// This platform has no code for it.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// It can't be put into its control group.
    #[error("cannot put {} into its control group", program.display())]
    Scope {
        /// The program.
        program: PathBuf,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
    /// Anything else: no memory, too many processes, …
    #[error("cannot start {}", program.display())]
    Other {
        /// The program.
        program: PathBuf,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
}

/// What no process can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// There is no program to start.
    NoProgram,
    /// The argument with this index (0: the program) contains a NUL byte.
    Argument(usize),
    /// The environment variable with this index contains a NUL byte, or its name is empty or contains `=`.
    Variable(usize),
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoProgram => f.write_str("there is no program to start"),
            Self::Argument(index) => write!(f, "argument {index} contains a NUL byte"),
            Self::Variable(index) => {
                write!(f, "environment variable {index} contains a NUL byte or has no valid name")
            }
        }
    }
}

/// Why a file that exists cannot be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotExecutable {
    /// No execute permission for us, or the file system is mounted noexec.
    Permission,
    /// It is a directory.
    Directory,
    /// Neither a binary for this machine nor a script that starts with `#!`.
    Format,
    /// What its `#!` line or its ELF header names is missing.
    Interpreter,
    /// Somebody has it open for writing: an update is under way.
    Busy,
}

impl fmt::Display for NotExecutable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Permission => "no permission to execute it",
            Self::Directory => "it is a directory",
            Self::Format => "neither a program for this machine nor a script that starts with #!",
            Self::Interpreter => "the interpreter that it names is missing",
            Self::Busy => "it is being written",
        })
    }
}

/// What arguments and environment take, in bytes, and what the system allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgumentSizes {
    /// All arguments, variables, their terminators and pointers.
    pub total: usize,
    /// The most that `total` may be.
    pub total_limit: usize,
    /// The longest single argument or variable, terminator included.
    pub longest: usize,
    /// The most that `longest` may be.
    pub longest_limit: usize,
}

impl fmt::Display for ArgumentSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} bytes in all (limit {}), the longest {} (limit {})",
            self.total, self.total_limit, self.longest, self.longest_limit
        )
    }
}

/// Starts a session's child: own session and process group, descriptors as in the spec and no others, signals, nice
/// and limits reset. Returns when its exec has succeeded or failed.
///
/// The process stops ignoring SIGCHLD, if it did: else its children would leave no status.
///
/// Must not run at the same time as [`crate::reap::reap_all`] in another thread, which would take the exit status of
/// a child whose exec failed.
///
/// # Errors
/// See [`SpawnError`].
pub fn spawn_child(spec: &ChildSpec) -> Result<Started, SpawnError> {
    platform::spawn_child(spec)
}

/// Starts a process that nothing ties to this one: not its parent, session, process group, working directory (`/`),
/// descriptors, umask (077), nice, limits or [scope](crate::scope). stdin is empty, stdout and stderr are appended to `log`. Its parent is
/// init or the nearest subreaper. Returns when its exec has succeeded or failed.
///
/// # Errors
/// See [`SpawnError`].
pub fn spawn_detached(
    argv: &[OsString],
    env: &[(OsString, OsString)],
    log: &Path,
) -> Result<Identity, SpawnError> {
    platform::spawn_detached(argv, env, log)
}
