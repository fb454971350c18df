//! Running npm, and watching the folder that it fills.

use super::{LOOK, LauncherError, Pin, Progress};
use ostler_os::process::{PidFd, identity_of};
use ostler_os::tree::{KillPlan, kill_tree};
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Without a byte more on disk for this long, npm is taken for stuck.
const STALLED: Duration = Duration::from_secs(3 * 60);

/// npm's own word for bytes that aren't the pinned ones.
const WRONG_BYTES: &str = "EINTEGRITY";

/// The variable by which what npm leaves behind is found.
const MARKER: &str = "OSTLER_INSTALL";

/// Runs `npm install` in `dir`, whose lock file says what to install.
pub(super) fn run(
    npm: &Path,
    env: &[(OsString, OsString)],
    dir: &Path,
    pin: &Pin,
    progress: &mut dyn FnMut(&Progress),
) -> Result<(), LauncherError> {
    let log = dir.join("npm.log");
    let file = std::fs::File::create(&log).map_err(LauncherError::io("create", &log))?;
    let also = file.try_clone().map_err(LauncherError::io("open", &log))?;
    let mut command = Command::new(npm);
    // Scripts of a package are code that nobody pinned.
    command.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"]);
    command.args(["--loglevel=error", "--no-progress", "--prefix"]).arg(dir);
    command.current_dir(dir).env_clear().envs(env.iter().map(|(n, v)| (n, v)));
    command.env(MARKER, std::process::id().to_string());
    command.stdin(Stdio::null()).stdout(file).stderr(also);
    let mut child = command.spawn().map_err(LauncherError::io("start", npm))?;
    let status = watch(&mut child, dir, pin, progress)?;
    let said = tail(&log);
    if status.success() {
        return std::fs::remove_file(&log).map_err(LauncherError::io("remove", &log));
    }
    if said.contains(WRONG_BYTES) {
        return Err(LauncherError::Integrity { package: pin.package() });
    }
    let said = if said.is_empty() { status.to_string() } else { said };
    Err(LauncherError::Npm { package: pin.package(), said })
}

fn watch(
    child: &mut Child,
    dir: &Path,
    pin: &Pin,
    progress: &mut dyn FnMut(&Progress),
) -> Result<ExitStatus, LauncherError> {
    let handle = PidFd::open(child.id()).ok().flatten();
    let mut seen = (0, Instant::now());
    loop {
        match &handle {
            // The end is noticed at once, not at the next look.
            Some(h) => drop(h.wait(Instant::now() + LOOK)),
            None => std::thread::sleep(LOOK),
        }
        if let Some(status) = child.try_wait().map_err(LauncherError::io("wait for", dir))? {
            return Ok(status);
        }
        let bytes = size_below(dir);
        if bytes > seen.0 {
            seen = (bytes, Instant::now());
        }
        if seen.1.elapsed() > STALLED {
            end(child);
            return Err(LauncherError::NpmStalled { package: pin.package(), waited: STALLED });
        }
        progress(&Progress::Fetching { bytes, expected: pin.unpacked });
    }
}

fn end(child: &mut Child) {
    let roots: Vec<_> = identity_of(child.id()).ok().flatten().into_iter().collect();
    let me = std::process::id().to_string();
    let plan = KillPlan {
        roots: &roots,
        marker: Some((OsStr::new(MARKER), OsStr::new(&me))),
        scope: None,
        own_children: false,
        keep: &|_| false,
        deadline: Instant::now() + Duration::from_secs(5),
    };
    // The stall is what is reported; a kill that fails has nothing to add to it.
    let _ = kill_tree(&plan);
    let _ = child.kill();
    let _ = child.wait();
}

/// Bytes in all files below a folder. What vanishes under our eyes counts as nothing.
fn size_below(dir: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(dir) else { return 0 };
    let sizes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(m) if m.is_dir() => size_below(&entry.path()),
        Ok(m) => m.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

/// The end of what npm said, without its pointer to a log file that it may not even have written.
fn tail(log: &Path) -> String {
    let mut bytes = Vec::new();
    if let Ok(file) = std::fs::File::open(log) {
        // A log that can't be read leaves the exit status to speak.
        let _ = file.take(64 * 1024).read_to_end(&mut bytes);
    }
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text
        .lines()
        .map(|l| l.trim_start_matches("npm error ").trim_start_matches("npm ERR! ").trim())
        .filter(|l| !l.is_empty() && !l.starts_with("A complete log"))
        .collect();
    lines[lines.len().saturating_sub(6)..].join("; ")
}
