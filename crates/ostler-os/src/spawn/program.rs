//! Which program is meant, in the form that execve(2) takes; and why it wouldn't start.

use super::{ArgumentSizes, Malformed, NotExecutable, SpawnError};
use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::process::{Resource, getrlimit};
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Where a program without `/` is looked for when the environment has no `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// `MAX_ARG_STRLEN` in pages (execve(2)).
const LONGEST_PAGES: usize = 32;

/// `ARG_MAX` of the kernel: what arguments and environment may take however small the stack.
const TOTAL_AT_LEAST: u64 = 128 << 10;

/// What they may take however large the stack: three quarters of its default of 8 MiB.
const TOTAL_AT_MOST: u64 = 6 << 20;

/// Everything that execve(2) wants, checked.
#[derive(Debug)]
pub(super) struct Program {
    /// As it was found.
    pub(super) path: PathBuf,
    pub(super) file: CString,
    pub(super) argv: Vec<CString>,
    pub(super) env: Vec<CString>,
}

impl Program {
    /// Looks the program up; a relative one counts from `cwd`.
    pub(super) fn new(
        argv: &[OsString],
        env: &[(OsString, OsString)],
        cwd: &Path,
    ) -> Result<Self, SpawnError> {
        let name = argv.first().filter(|name| !name.is_empty());
        let name = name.ok_or(SpawnError::Malformed(Malformed::NoProgram))?;
        let arguments = argv.iter().enumerate().map(|(index, argument)| {
            CString::new(argument.as_bytes()).map_err(|_| SpawnError::Malformed(Malformed::Argument(index)))
        });
        let arguments: Vec<CString> = arguments.collect::<Result<_, _>>()?;
        let variables = env.iter().enumerate().map(|(index, (name, value))| {
            variable(name, value).ok_or(SpawnError::Malformed(Malformed::Variable(index)))
        });
        let variables: Vec<CString> = variables.collect::<Result<_, _>>()?;
        let cwd =
            std::path::absolute(cwd).map_err(|source| SpawnError::BadCwd { cwd: cwd.to_owned(), source })?;
        let path = find(name, env, &cwd)?;
        let file = CString::new(path.as_os_str().as_bytes())
            .map_err(|_| SpawnError::Malformed(Malformed::NoProgram))?;
        Ok(Self { path, file, argv: arguments, env: variables })
    }

    /// Says what an errno of execve(2) means for this program.
    pub(super) fn explain(&self, source: io::Error) -> SpawnError {
        let program = self.path.clone();
        let why = match source.raw_os_error() {
            Some(libc::ENOENT | libc::ENOTDIR) if !self.path.exists() => {
                return SpawnError::NotFound { program };
            }
            Some(libc::E2BIG) => return SpawnError::TooBig(self.sizes()),
            Some(libc::ENOENT | libc::ELIBBAD) => NotExecutable::Interpreter,
            Some(libc::EACCES) if self.path.is_dir() => NotExecutable::Directory,
            Some(libc::EACCES) => NotExecutable::Permission,
            Some(libc::ENOEXEC) => NotExecutable::Format,
            Some(libc::ETXTBSY) => NotExecutable::Busy,
            _ => return SpawnError::Other { program, source },
        };
        SpawnError::NotExecutable { program, why }
    }

    /// As the kernel counts them (execve(2), "Limits on size of arguments and environment").
    fn sizes(&self) -> ArgumentSizes {
        let strings = || self.argv.iter().chain(&self.env).map(|string| string.as_bytes_with_nul().len());
        let pointers = (self.argv.len() + self.env.len()) * size_of::<*const u8>();
        let stack = getrlimit(Resource::Stack).current.unwrap_or(u64::MAX);
        let limit = (stack / 4).clamp(TOTAL_AT_LEAST, TOTAL_AT_MOST);
        ArgumentSizes {
            total: strings().sum::<usize>() + pointers + self.file.as_bytes_with_nul().len(),
            total_limit: usize::try_from(limit).unwrap_or(usize::MAX),
            longest: strings().max().unwrap_or(0),
            longest_limit: LONGEST_PAGES * rustix::param::page_size(),
        }
    }
}

fn variable(name: &OsStr, value: &OsStr) -> Option<CString> {
    if name.is_empty() || name.as_bytes().contains(&b'=') {
        return None;
    }
    CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()).ok()
}

fn find(name: &OsStr, env: &[(OsString, OsString)], cwd: &Path) -> Result<PathBuf, SpawnError> {
    if name.as_bytes().contains(&b'/') {
        return Ok(cwd.join(name));
    }
    let path = env.iter().find(|(variable, _)| variable == "PATH").map(|(_, value)| value.as_os_str());
    let mut refused = None;
    // An empty entry means the working directory, and so does joining it.
    for directory in std::env::split_paths(path.unwrap_or(OsStr::new(DEFAULT_PATH))) {
        let candidate = cwd.join(directory).join(name);
        if !candidate.is_file() {
            continue;
        }
        if accessat(CWD, &candidate, Access::EXEC_OK, AtFlags::EACCESS).is_ok() {
            return Ok(candidate);
        }
        refused.get_or_insert(candidate);
    }
    Err(match refused {
        Some(program) => SpawnError::NotExecutable { program, why: NotExecutable::Permission },
        None => SpawnError::NotFound { program: name.into() },
    })
}
