//! Finding `claude`: from what a person says, or from what is installed, to a launcher that is pinned by path,
//! version and hash.
//!
//! The order is: `--claude 'COMMAND LINE'`, `OSTLER_CLAUDE`, the configuration file, `claude` on `PATH`, the copy in
//! ostler's cache, and at last an installation by npm into that cache. What a person named is used or refused, never
//! passed over; only where nobody named anything does the search go on.
//!
//! This happens when a session is created. Later starts take the launcher out of the launch spec and only [`check`]
//! that its files are still the same, which costs two `stat` calls.

mod command;
mod dirs;
mod error;
mod hash;
mod install;
mod known;
mod probe;
mod search;
mod version;
mod words;

pub use dirs::{cache_dir, config_file};
pub use error::LauncherError;
pub use hash::check;
pub use install::{Pin, Progress, install, installed, pin, uses_musl};
pub use probe::{PROBE_DEADLINE, version_of};
pub use search::{Hidden, Seen, claude_on_path, on_path, seen_on_path};
pub use version::{FLOOR, Version};
pub use words::{WordsError, split_words};

use ostler_core::spec::Launcher;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a person said about the launcher, and where to look.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    /// The command line given with `--claude`.
    pub command: Option<&'a str>,
    /// The environment to look into: the caller's own.
    pub env: &'a [(OsString, OsString)],
    /// The directory that relative paths in a command line mean.
    pub cwd: &'a Path,
    /// Whether npm may be asked.
    pub install: Install,
    /// How long `--version` may take; [`PROBE_DEADLINE`] unless a test is in a hurry.
    pub deadline: Duration,
}

impl<'a> Search<'a> {
    /// A search in which nobody named anything.
    #[must_use]
    pub const fn new(env: &'a [(OsString, OsString)], cwd: &'a Path) -> Self {
        Self { command: None, env, cwd, install: Install::Allowed, deadline: PROBE_DEADLINE }
    }
}

/// Whether ostler may install `claude` when it finds none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Install {
    /// It may, saying so.
    #[default]
    Allowed,
    /// It may not (`--no-install`).
    Refused,
}

/// A launcher and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What goes into the launch spec.
    pub launcher: Launcher,
    /// Who named it.
    pub origin: Origin,
}

/// Who named a launcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `--claude`.
    Option,
    /// `OSTLER_CLAUDE`.
    Variable,
    /// This configuration file.
    ConfigFile(PathBuf),
    /// `PATH`.
    Path,
    /// An earlier installation in ostler's cache.
    Cache,
    /// An installation that was made just now.
    Installed,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Option => f.write_str("--claude"),
            Self::Variable => f.write_str("OSTLER_CLAUDE"),
            Self::ConfigFile(path) => write!(f, "{}", path.display()),
            Self::Path => f.write_str("PATH"),
            Self::Cache => f.write_str("ostler's cache"),
            Self::Installed => f.write_str("installed by ostler"),
        }
    }
}

/// Finds a launcher, installing one when that is needed and allowed.
///
/// `progress` is called while npm works, a few times a second, from this thread.
///
/// # Errors
/// [`LauncherError`]: what was tried, why it can't be used, what to do.
pub fn find(search: &Search<'_>, progress: &mut dyn FnMut(&Progress)) -> Result<Found, LauncherError> {
    let cache = cache_dir(search.env)?;
    let resolve = |text: &str, origin: &Origin| {
        let words = split_words(text).map_err(|source| LauncherError::Words {
            origin: origin.clone(),
            text: text.to_owned(),
            source,
        })?;
        command::resolve(&words, search, origin, &cache)
    };
    if let Some((text, origin)) = named(search)? {
        return Ok(Found { launcher: resolve(&text, &origin)?, origin });
    }
    for path in claude_on_path(search.env) {
        match command::resolve_path(&path, search, &Origin::Path, &cache) {
            // A shell passes over what it may not execute, too.
            Err(LauncherError::NotExecutable { .. }) => {}
            other => return Ok(Found { launcher: other?, origin: Origin::Path }),
        }
    }
    let pin = pin(std::env::consts::OS, std::env::consts::ARCH, uses_musl())?;
    if let Some(path) = installed(&cache, pin) {
        let launcher = command::resolve_path(&path, search, &Origin::Cache, &cache)?;
        return Ok(Found { launcher, origin: Origin::Cache });
    }
    if search.install == Install::Refused {
        return Err(LauncherError::InstallRefused { version: pin.version });
    }
    let path = install(search.env, &cache, pin, progress)?;
    let launcher = command::resolve_path(&path, search, &Origin::Installed, &cache)?;
    Ok(Found { launcher, origin: Origin::Installed })
}

/// The command line that a person named, and where.
fn named(search: &Search<'_>) -> Result<Option<(String, Origin)>, LauncherError> {
    if let Some(text) = search.command {
        return Ok(Some((text.to_owned(), Origin::Option)));
    }
    if let Some(value) = dirs::variable(search.env, "OSTLER_CLAUDE") {
        let text = value.to_str().ok_or(LauncherError::NotText { origin: Origin::Variable })?;
        return Ok(Some((text.to_owned(), Origin::Variable)));
    }
    Ok(dirs::configured(search.env)?.map(|(text, path)| (text, Origin::ConfigFile(path))))
}
