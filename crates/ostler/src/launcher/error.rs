//! Why there is no usable `claude`. Every message says what to do.

use super::{FLOOR, Origin, Version, WordsError};
use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error;

/// How a person installs `claude` without ostler.
const BY_HAND: &str = "install Claude Code yourself (https://code.claude.com/docs/en/setup) so that `claude` is on PATH, or name it with --claude";

/// Why a launcher can't be found or used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LauncherError {
    /// The command line can't be split into words.
    #[error("the command line from {origin} can't be read: {text:?}")]
    Words {
        /// Who named it.
        origin: Origin,
        /// As given.
        text: String,
        /// What is wrong.
        #[source]
        source: WordsError,
    },
    /// A value that isn't Unicode.
    #[error("the command line from {origin} is not valid UTF-8")]
    NotText {
        /// Who named it.
        origin: Origin,
    },
    /// No program in it.
    #[error("the command line from {origin} names no program")]
    Empty {
        /// Who named it.
        origin: Origin,
    },
    /// Nothing at that path, or no such program on `PATH`.
    #[error("{program:?} from {origin} was not found{}", if *.on_path { " on PATH" } else { "" })]
    NotFound {
        /// The program as given.
        program: String,
        /// Who named it.
        origin: Origin,
        /// True when it was looked for on `PATH`.
        on_path: bool,
    },
    /// There is a file and it can't be started.
    #[error("{} from {origin} can't be executed: check its permissions (chmod +x) and its first line", .path.display())]
    NotExecutable {
        /// The file.
        path: PathBuf,
        /// Who named it.
        origin: Origin,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// `--version` failed.
    #[error("{command} --version ended with {status} and said {said:?}; it is not a working Claude Code")]
    Broken {
        /// The command line.
        command: String,
        /// `exit 1`, `signal 9`.
        status: String,
        /// The end of its output.
        said: String,
    },
    /// `--version` didn't end.
    #[error("{command} --version gave no answer for {} s and was ended; try it by hand", .waited.as_secs())]
    Hanging {
        /// The command line.
        command: String,
        /// How long it was given.
        waited: Duration,
    },
    /// `--version` said something else than Claude Code does.
    #[error("{command} --version said {said:?}, which is not how Claude Code answers")]
    NotClaude {
        /// The command line.
        command: String,
        /// What it said.
        said: String,
    },
    /// Older than what is supported.
    #[error(
        "{command} is Claude Code {version}; ostler needs {FLOOR} or later. Update it (claude update; with npx: @anthropic-ai/claude-code@{FLOOR} or later), or name another one with --claude"
    )]
    TooOld {
        /// The command line.
        command: String,
        /// Its version.
        version: Version,
    },
    /// Neither found nor allowed to install.
    #[error(
        "no claude was found and --no-install is set: {BY_HAND}; without --no-install ostler installs {version} itself, by npm"
    )]
    InstallRefused {
        /// What would be installed.
        version: &'static str,
    },
    /// Neither found nor a way to install.
    #[error(
        "no claude was found, and no npm to install it with: {BY_HAND}; or install Node.js, which brings npm"
    )]
    NoNpm,
    /// No package for this machine.
    #[error("no claude was found and there is no package for {os} on {arch}: {BY_HAND}")]
    NoPackage {
        /// The operating system.
        os: String,
        /// The processor.
        arch: String,
    },
    /// Not enough room.
    #[error("{} has {free} MB free; the installation needs {needed} MB", .dir.display())]
    NoSpace {
        /// Where.
        dir: PathBuf,
        /// What is free.
        free: u64,
        /// What is needed.
        needed: u64,
    },
    /// npm ended with an error.
    #[error("npm could not install {package}: {said}. Check the network and npm's registry, or {BY_HAND}")]
    Npm {
        /// Name and version.
        package: String,
        /// The end of what it said.
        said: String,
    },
    /// npm came to a stop.
    #[error("npm made no progress for {} s while installing {package} and was ended. Check the network and npm's registry, or {BY_HAND}", .waited.as_secs())]
    NpmStalled {
        /// Name and version.
        package: String,
        /// How long.
        waited: Duration,
    },
    /// What npm got isn't what was pinned.
    #[error(
        "what npm's registry gave for {package} is not the package that this ostler knows (its sha512 differs); nothing was installed. If the registry is yours, check it"
    )]
    Integrity {
        /// Name and version.
        package: String,
    },
    /// Somebody else has been installing for too long.
    #[error("another ostler has been installing claude for {} s (lock {}); end it or wait", .waited.as_secs(), .lock.display())]
    InstallLocked {
        /// The lock.
        lock: PathBuf,
        /// How long we waited.
        waited: Duration,
    },
    /// The file of a launch spec's launcher is gone.
    #[error("{} is gone; the session was created with it (Claude Code {version}). Install that version again, or create a new session", .path.display())]
    Gone {
        /// The file.
        path: PathBuf,
        /// The version it was.
        version: String,
    },
    /// It is another file now.
    #[error("{} has changed since the session was created with it (Claude Code {version}): an update, most likely. Install that version again, or create a new session", .path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// The version it was.
        version: String,
    },
    /// No home for the cache.
    #[error("neither XDG_CACHE_HOME nor HOME is set: there is no place for ostler's cache")]
    NoCache,
    /// A path that a launch spec can't hold.
    #[error("{} is not valid UTF-8, and only such paths can be stored in a launch spec", .path.display())]
    PathNotText {
        /// The path.
        path: PathBuf,
    },
    /// The configuration file is there and can't be used.
    #[error("{} can't be used: {why}", .path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The environment that the launcher is tried in can't be made.
    #[error("the environment can't be used")]
    Environment(#[from] ostler_core::env::EnvError),
    /// A file operation failed.
    #[error("failed to {action} {}", .path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

impl LauncherError {
    /// A failed file operation.
    pub(super) fn io(action: &'static str, path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { action, path, source }
    }
}

impl From<ostler_os::PathError> for LauncherError {
    fn from(e: ostler_os::PathError) -> Self {
        Self::Io { action: e.operation, path: e.path, source: e.source }
    }
}
