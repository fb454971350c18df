//! Starting processes with fork and exec.
//!
//! The standard library's `Command` forks, wires stdio and brings an exec error back; all else happens in
//! [`super::after_fork`].

use super::after_fork::{Image, Setup, install, keep_exit_statuses};
use super::program::Program;
use super::{ChildSpec, SpawnError, Started};
use crate::PathError;
use crate::alive::{AliveError, AliveLock};
use crate::durable::open_private;
use crate::process::{self, Identity, PidFd};
use crate::scope::{self, Scope};
use rustix::fs::{Access, AtFlags, FileType, Mode, OFlags, accessat, fstat, open};
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

/// The umask of a process of our own.
const OWN_UMASK: u32 = 0o077;

pub(super) fn spawn_child(spec: &ChildSpec) -> Result<Started, SpawnError> {
    let cwd = open_cwd(&spec.cwd)?;
    let program = Arc::new(Program::new(&spec.argv, &spec.env, &spec.cwd)?);
    let stdin = open_fifo(&spec.stdin_fifo)?;
    let stdout = open_private(&spec.stdout_append)?;
    let stderr = open_private(&spec.stderr)?;
    let alive = AliveLock::create(&spec.alive).map_err(|error| match error {
        AliveError::Busy { path } => SpawnError::Alive { path },
        AliveError::Path(error) => error.into(),
    })?;

    let doors = spec.scope.as_ref().map(Scope::doors).transpose()?;

    let mut command = command(&program);
    command.stdin(stdin).stdout(stdout).stderr(stderr);
    let setup = Setup {
        cwd,
        inherit: Some(alive.into_file().into()),
        umask: spec.umask,
        oom_score_adj: spec.oom_score_adj.map(|score| score.to_string().into_bytes()),
        doors: doors.unwrap_or_default(),
        detach: None,
        image: Image::new(Arc::clone(&program)),
    };
    let pid = start(command, &program, setup)?.id();

    // Nobody reaps the child before we return, so the pid is its own even if it is dead already.
    let started = (|| {
        let identity = process::identity_of(pid)?.ok_or(io::ErrorKind::NotFound)?;
        let pidfd = PidFd::open(pid)?.ok_or(io::ErrorKind::NotFound)?;
        Ok(Started { pid, start_ticks: identity.start_ticks, pidfd })
    })();
    started.map_err(|source| SpawnError::Other { program: program.path.clone(), source })
}

pub(super) fn spawn_detached(
    argv: &[OsString],
    env: &[(OsString, OsString)],
    log: &Path,
) -> Result<Identity, SpawnError> {
    let root = Path::new("/");
    let cwd = open_cwd(root)?;
    let program = Arc::new(Program::new(argv, env, root)?);
    let stdout = open_private(log)?;
    let other = |source| SpawnError::Other { program: program.path.clone(), source };
    let stderr = stdout.try_clone().map_err(other)?;
    let (mut told, tells) = io::pipe().map_err(other)?;

    let mut command = command(&program);
    command.stdin(Stdio::null()).stdout(stdout).stderr(stderr);
    let setup = Setup {
        cwd,
        inherit: None,
        umask: OWN_UMASK,
        oom_score_adj: None,
        doors: scope::exits(),
        detach: Some(tells.into()),
        image: Image::new(Arc::clone(&program)),
    };
    // This child has ended already, in favour of its own child. Somebody else may have reaped it.
    let _ = start(command, &program, setup)?.wait();

    // Our own end of the pipe went with the command, the other one with the exec.
    let mut line = Vec::new();
    told.read_to_end(&mut line).map_err(other)?;
    let stat = process::parse_stat(&line).map_err(other)?;
    let boot_id = process::boot_id().map_err(other)?;
    Ok(Identity { pid: stat.pid, start_ticks: stat.start_ticks, boot_id })
}

fn command(program: &Program) -> Command {
    let mut command = Command::new(&program.path);
    // Its own exec is never reached; what it would pass on is in the image.
    command.env_clear();
    command
}

/// Forks and waits for the exec.
fn start(mut command: Command, program: &Program, setup: Setup) -> Result<Child, SpawnError> {
    keep_exit_statuses();
    install(&mut command, setup);
    command.spawn().map_err(|error| program.explain(error))
}

fn open_cwd(cwd: &Path) -> Result<OwnedFd, SpawnError> {
    let opened = open(cwd, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    opened
        .and_then(|fd| accessat(&fd, ".", Access::EXEC_OK, AtFlags::EACCESS).map(|()| fd))
        .map_err(|error| SpawnError::BadCwd { cwd: cwd.to_owned(), source: error.into() })
}

fn open_fifo(path: &Path) -> Result<OwnedFd, SpawnError> {
    let failed = |source: io::Error| PathError::new("open as standard input", path, source);
    // Non-blocking only for the open: something that is no FIFO must not hold us up.
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    let fd = open(path, flags, Mode::empty()).map_err(|error| failed(error.into()))?;
    let kind = fstat(&fd).map(|stat| FileType::from_raw_mode(stat.st_mode));
    if kind.map_err(|error| failed(error.into()))? != FileType::Fifo {
        let error = io::Error::new(io::ErrorKind::InvalidInput, "it is not a FIFO");
        return Err(failed(error).into());
    }
    rustix::io::ioctl_fionbio(&fd, false).map_err(|error| failed(error.into()))?;
    Ok(fd)
}
