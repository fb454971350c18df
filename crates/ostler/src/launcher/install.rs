//! Installing the pinned `claude` by npm into ostler's cache: `<cache>/claude/<version>/`.
//!
//! npm is the user's own, with their registry, proxy and cache. What it fetches is decided here: a lock file with the
//! package's sha512 is written before npm runs, so npm itself refuses any other bytes, whatever a registry says. It
//! works in a folder beside the final one; that is renamed only when the executable in it has answered. One ostler
//! installs at a time, and others wait for it.

mod npm;
mod pins;

pub use pins::{Pin, pin};

use super::{LauncherError, on_path};
use ostler_os::lockfile::{self, Lock};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long another ostler's installation is waited for.
const LOCK_WAIT: Duration = Duration::from_secs(15 * 60);

/// How often progress is looked at.
pub(super) const LOOK: Duration = Duration::from_millis(250);

/// Room for the package, npm's own copy of it, and some air.
const NEEDED_BYTES: u64 = 1_000_000_000;

/// How far an installation is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Another ostler installs the same; it is waited for.
    Waiting {
        /// Its process id, as far as known.
        holder: Option<u32>,
    },
    /// npm is about to start.
    Starting {
        /// Package and version.
        package: String,
        /// Where it goes.
        into: PathBuf,
    },
    /// npm fetches and unpacks.
    Fetching {
        /// Bytes on disk so far.
        bytes: u64,
        /// Bytes in the end, where that is known.
        expected: Option<u64>,
    },
    /// The executable is asked for its version.
    Checking,
    /// It is there.
    Done {
        /// The executable.
        path: PathBuf,
        /// How long npm took.
        took: Duration,
    },
}

/// The executable of an earlier installation.
#[must_use]
pub fn installed(cache: &Path, pin: &Pin) -> Option<PathBuf> {
    let path = pin.executable(&home(cache, pin));
    path.is_file().then_some(path)
}

/// Whether this system's C library is musl: its loader is there and no other.
#[must_use]
pub fn uses_musl() -> bool {
    let starts = |dir: &str, start: &str| {
        std::fs::read_dir(dir).is_ok_and(|mut files| {
            files.any(|f| f.is_ok_and(|f| f.file_name().to_string_lossy().starts_with(start)))
        })
    };
    starts("/lib", "ld-musl-") && !starts("/lib64", "ld-linux-") && !starts("/lib", "ld-linux-")
}

/// Installs, and gives the executable's path. Returns at once when somebody else did it meanwhile.
///
/// # Errors
/// [`LauncherError`]: no npm, no room, npm's own error, other bytes than pinned, an executable that doesn't answer.
pub fn install(
    env: &[(OsString, OsString)],
    cache: &Path,
    pin: &Pin,
    progress: &mut dyn FnMut(&Progress),
) -> Result<PathBuf, LauncherError> {
    let npm = on_path("npm", env).into_iter().next().ok_or(LauncherError::NoNpm)?;
    let shelf = cache.join("claude");
    ostler_os::durable::create_dir_private(&shelf)?;
    let lock = wait_for_lock(&shelf.join("install.lock"), progress)?;
    if let Some(path) = installed(cache, pin) {
        return Ok(path);
    }
    clear_leftovers(&shelf);
    enough_room(&shelf)?;
    let work = shelf.join(format!("{UNFINISHED}{}", std::process::id()));
    let result = install_into(&npm, env, &work, cache, pin, progress);
    if result.is_err() {
        let _ = std::fs::remove_dir_all(&work);
    }
    drop(lock);
    result
}

/// Names of folders that an installation works in begin with this.
const UNFINISHED: &str = ".unfinished-";

fn install_into(
    npm: &Path,
    env: &[(OsString, OsString)],
    work: &Path,
    cache: &Path,
    pin: &Pin,
    progress: &mut dyn FnMut(&Progress),
) -> Result<PathBuf, LauncherError> {
    let started = Instant::now();
    ostler_os::durable::create_dir_private(work)?;
    pin.write_manifest(work)?;
    let last = home(cache, pin);
    progress(&Progress::Starting { package: pin.package(), into: last.clone() });
    npm::run(npm, env, work, pin, progress)?;
    pin.check_manifest(work)?;
    progress(&Progress::Checking);
    let executable = pin.executable(work);
    if !executable.is_file() {
        return Err(LauncherError::Npm {
            package: pin.package(),
            said: "it left no executable behind".to_owned(),
        });
    }
    super::probe::answers(&executable, env, work)?;
    if last.exists() {
        // A damaged installation: without its executable, or it would have been used.
        std::fs::remove_dir_all(&last).map_err(LauncherError::io("remove", &last))?;
    }
    std::fs::rename(work, &last).map_err(LauncherError::io("move into place", &last))?;
    let path = pin.executable(&last);
    progress(&Progress::Done { path: path.clone(), took: started.elapsed() });
    Ok(path)
}

fn home(cache: &Path, pin: &Pin) -> PathBuf {
    cache.join("claude").join(pin.version)
}

fn wait_for_lock(path: &Path, progress: &mut dyn FnMut(&Progress)) -> Result<Lock, LauncherError> {
    let begun = Instant::now();
    loop {
        if let Some(lock) = lockfile::try_lock(path)? {
            // The note is only for people; without it they see that somebody installs, but not who.
            let _ = lock.set_note(std::process::id().to_string().as_bytes());
            return Ok(lock);
        }
        let holder = lockfile::note(path).ok().and_then(|n| String::from_utf8(n).ok()?.trim().parse().ok());
        progress(&Progress::Waiting { holder });
        if begun.elapsed() > LOCK_WAIT {
            return Err(LauncherError::InstallLocked { lock: path.to_owned(), waited: begun.elapsed() });
        }
        std::thread::sleep(LOOK);
    }
}

/// What an installation that was killed left behind. The lock is ours, so nobody works in them.
fn clear_leftovers(shelf: &Path) {
    let Ok(entries) = std::fs::read_dir(shelf) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn enough_room(dir: &Path) -> Result<(), LauncherError> {
    let free = ostler_os::durable::free_space(dir)?;
    if free < NEEDED_BYTES {
        return Err(LauncherError::NoSpace {
            dir: dir.to_owned(),
            free: free / 1_000_000,
            needed: NEEDED_BYTES / 1_000_000,
        });
    }
    Ok(())
}
