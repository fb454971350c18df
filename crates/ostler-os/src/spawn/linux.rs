//! Starting processes with fork and exec.
//!
//! Everything is opened here; [`super::fork`] forks, and what the new process does is in [`super::after_fork`].

use super::after_fork::{Image, Setup, Step};
use super::fork::{self, Failed, hold_stdio};
use super::program::Program;
use super::{ChildSpec, SpawnError, Started};
use crate::PathError;
use crate::alive::{AliveError, AliveLock};
use crate::durable::open_private;
use crate::process::{self, Identity};
use crate::scope::{self, Scope};
use rustix::fs::{Access, AtFlags, FileType, Mode, OFlags, accessat, fstat, open};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;

/// The umask of a process of our own.
const OWN_UMASK: u32 = 0o077;

pub(super) fn spawn_child(spec: &ChildSpec) -> Result<Started, SpawnError> {
    let _held = hold_stdio()?;
    let cwd = open_cwd(&spec.cwd)?;
    let program = Program::new(&spec.argv, &spec.env, &spec.cwd)?;
    let stdin = open_fifo(&spec.stdin_fifo)?;
    let stdout = open_private(&spec.stdout_append)?;
    let stderr = open_private(&spec.stderr)?;
    let alive = AliveLock::create(&spec.alive).map_err(|error| match error {
        AliveError::Busy { path } => SpawnError::Alive { path },
        AliveError::Path(error) => error.into(),
    })?;
    let setup = Setup {
        stdio: [stdin, stdout.into(), stderr.into()],
        cwd,
        inherit: Some(alive.into_file().into()),
        umask: spec.umask,
        oom_score_adj: spec.oom_score_adj.map(|score| score.to_string().into_bytes()),
        doors: spec.scope.as_ref().map(Scope::doors).transpose()?.unwrap_or_default(),
        detach: None,
        image: Image::new(&program),
    };
    let forked = fork::start(&setup).map_err(|failed| explain(&program, failed))?;
    // Nobody reaps the child before we return, so the pid is its own even if it is dead already.
    let stat = process::stat(forked.pid).and_then(|stat| stat.ok_or(io::ErrorKind::NotFound.into()));
    let stat = stat.map_err(|source| SpawnError::Other { program: program.path.clone(), source })?;
    Ok(Started { pid: forked.pid, start_ticks: stat.start_ticks, pidfd: forked.pidfd })
}

pub(super) fn spawn_detached(
    argv: &[OsString],
    env: &[(OsString, OsString)],
    log: &Path,
) -> Result<Identity, SpawnError> {
    let root = Path::new("/");
    let _held = hold_stdio()?;
    let program = Program::new(argv, env, root)?;
    let other = |source| SpawnError::Other { program: program.path.clone(), source };
    let stdin = File::open("/dev/null").map_err(other)?;
    let stdout = open_private(log)?;
    let stderr = stdout.try_clone().map_err(other)?;
    let (mut told, tells) = io::pipe().map_err(other)?;
    let setup = Setup {
        stdio: [stdin.into(), stdout.into(), stderr.into()],
        cwd: open_cwd(root)?,
        inherit: None,
        umask: OWN_UMASK,
        oom_score_adj: None,
        doors: scope::exits(),
        detach: Some(tells.into()),
        image: Image::new(&program),
    };
    let forked = fork::start(&setup).map_err(|failed| explain(&program, failed))?;
    // This child has ended already, in favour of its own child.
    fork::reap(forked.pid);

    // Our own end of the pipe goes here, the other one went with the exec.
    drop(setup);
    let mut line = Vec::new();
    told.read_to_end(&mut line).map_err(other)?;
    let stat = process::parse_stat(&line).map_err(other)?;
    let boot_id = process::boot_id().map_err(other)?;
    Ok(Identity { pid: stat.pid, start_ticks: stat.start_ticks, boot_id })
}

fn explain(program: &Program, failed: Failed) -> SpawnError {
    let Failed { step, source } = failed;
    match step {
        Step::Fork => SpawnError::Other { program: program.path.clone(), source },
        Step::Enter => SpawnError::Scope { program: program.path.clone(), source },
        Step::Exec => program.explain(source),
    }
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
