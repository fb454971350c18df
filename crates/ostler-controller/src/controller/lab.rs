//! The lab that a lab session talks to: one process for each home, started when it is needed.
//!
//! The session stores the lab's script, never its port. The lab stays as long as anybody holds `lab/users`, and keeps
//! its cache model on the disk, so that a session can be gone on with long after its first lab has left.

use super::Controller;
use super::error::ControllerError;
use super::pipe::hash;
use ostler_os::{durable, lockfile};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// For a lab to listen.
const START: Duration = Duration::from_secs(10);

/// How a child reaches it.
pub(super) struct Lab {
    pub(super) base_url: String,
    pub(super) config_dir: String,
}

/// What a running lab says of itself in `lab.json`.
#[derive(Deserialize)]
struct Announced {
    base_url: String,
}

impl Controller {
    /// Starts or joins the lab of this home; None for a session that talks to an account.
    pub(super) fn lab_access(&mut self) -> Result<Option<Lab>, ControllerError> {
        let Some(lab) = &self.spec.lab else { return Ok(None) };
        let dir = self.home.lab_dir();
        let script = lab.script.clone();
        durable::create_dir_private(&self.lab_config_dir())?;
        self.hold_lab()?;
        let mut base_url = join_or_start(&self.home, &dir)?;
        if let Some(text) = script {
            base_url = format!("{base_url}/s/{}", keep_script(&dir, &text)?);
        }
        let config_dir = self.lab_config_dir().to_string_lossy().into_owned();
        Ok(Some(Lab { base_url, config_dir }))
    }

    /// Keeps the lab from leaving while our child may need it.
    pub(super) fn hold_lab(&mut self) -> Result<(), ControllerError> {
        if self.lab.is_some() {
            return Ok(());
        }
        let dir = self.home.lab_dir();
        durable::create_dir_private(&dir)?;
        let users = dir.join("users");
        let deadline = Instant::now() + START;
        while self.lab.is_none() {
            // A lab that is just leaving holds it for the moment that it takes to be gone.
            self.lab = lockfile::try_lock_shared(&users)?;
            if self.lab.is_none() && Instant::now() >= deadline {
                return Err(ControllerError::Lab { what: "the one before doesn't leave".to_owned() });
            }
            if self.lab.is_none() {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        Ok(())
    }

    /// Sessions of the lab never touch the person's own configuration.
    pub(super) fn lab_config_dir(&self) -> PathBuf {
        self.home.lab_dir().join("config")
    }
}

/// Where the lab of this home listens.
fn join_or_start(home: &ostler_store::Home, dir: &Path) -> Result<String, ControllerError> {
    let deadline = Instant::now() + START;
    let mut started = false;
    loop {
        if is_running(dir)? {
            if let Some(url) = announced(dir) {
                return Ok(url);
            }
        } else if !started {
            start(home, dir)?;
            started = true;
        }
        if Instant::now() >= deadline {
            let what =
                format!("it did not start in {} s; see {}", START.as_secs(), dir.join("lab.log").display());
            return Err(ControllerError::Lab { what });
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A lab holds its folder's lock exclusively; we look with a shared one, so that two who look are not in the way.
fn is_running(dir: &Path) -> Result<bool, ControllerError> {
    Ok(lockfile::try_lock_shared(&dir.join("lock"))?.is_none())
}

fn announced(dir: &Path) -> Option<String> {
    let text = std::fs::read(dir.join("lab.json")).ok()?;
    serde_json::from_slice::<Announced>(&text).ok().map(|a| a.base_url)
}

fn start(home: &ostler_store::Home, dir: &Path) -> Result<(), ControllerError> {
    // What an earlier lab said is not true any more.
    let _ = std::fs::remove_file(dir.join("lab.json"));
    let starter = crate::client::Starter::current();
    starter.start_lab(home).map_err(|e| ControllerError::Lab { what: super::error::chain(&e) })
}

/// Puts a script where the lab finds it, under the hash of its text.
fn keep_script(dir: &Path, text: &str) -> Result<String, ControllerError> {
    let name = hash(text.as_bytes());
    let folder = dir.join("scripts");
    durable::create_dir_private(&folder)?;
    let path = folder.join(&name);
    if !path.exists() {
        durable::replace_file(&path, text.as_bytes())?;
    }
    Ok(name)
}
