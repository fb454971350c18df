//! `__lab HOME`: the lab of a home's sessions.
//!
//! Controllers start it when they need one, and hold `lab/users` shared for as long as a child of theirs may talk to it.
//! It stays until that lock was free for a while, and keeps its cache model on disk for the next one.

use claude_lab::blocking::LabThread;
use claude_lab::{LabConfig, LabError};
use ostler_os::lockfile::{self, Lock};
use ostler_os::{PathError, durable};
use serde_json::json;
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

/// Without a user for this long, the lab leaves.
const LINGER: Duration = Duration::from_secs(60);
/// How often users are looked for.
const LOOK: Duration = Duration::from_secs(1);

/// Serves; gives the exit status.
pub(super) fn main(args: &[OsString]) -> i32 {
    let [home] = args else { return 2 };
    match serve(&Path::new(home).join("lab")) {
        Ok(()) => 0,
        Err(error) => {
            let mut text = error.to_string();
            let mut cause = error.source();
            while let Some(error) = cause {
                text.push_str(&format!(": {error}"));
                cause = error.source();
            }
            // Standard error is the lab's log.
            let _ = writeln!(std::io::stderr(), "the lab ends: {text}");
            1
        }
    }
}

fn serve(dir: &Path) -> Result<(), Box<dyn std::error::Error>> {
    durable::create_dir_private(dir)?;
    ostler_os::me::set_name("ostler-lab");
    let config = LabConfig { state_dir: Some(dir.to_owned()), ..LabConfig::default() };
    let lab = match LabThread::start(config) {
        Ok(lab) => lab,
        // Another one serves this home already.
        Err(LabError::StateInUse { .. }) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    // By this a keeper knows that we are no leftover of the session whose controller started us.
    let lock = dir.join("lock");
    std::fs::write(&lock, std::process::id().to_string()).map_err(|source| PathError {
        operation: "write",
        path: lock,
        source,
    })?;
    announce(dir, &lab.base_url())?;
    // Held until the lab is down, so that nobody joins one that is leaving.
    let users = wait_for_users_to_leave(&dir.join("users"))?;
    drop(lab);
    drop(users);
    Ok(())
}

/// Where the lab listens, for whoever wants to join.
fn announce(dir: &Path, base_url: &str) -> Result<(), Box<dyn std::error::Error>> {
    let port = base_url.rsplit(':').next().and_then(|p| p.parse::<u16>().ok());
    let text = json!({
        "base_url": base_url,
        "port": port,
        "pid": std::process::id(),
        "version": env!("CARGO_PKG_VERSION"),
    });
    Ok(durable::replace_file(&dir.join("lab.json"), text.to_string().as_bytes())?)
}

fn wait_for_users_to_leave(users: &Path) -> Result<Lock, PathError> {
    let mut alone_since = Instant::now();
    loop {
        std::thread::sleep(LOOK);
        match lockfile::try_lock(users)? {
            None => alone_since = Instant::now(),
            Some(lock) if alone_since.elapsed() >= LINGER => return Ok(lock),
            Some(lock) => drop(lock),
        }
    }
}
