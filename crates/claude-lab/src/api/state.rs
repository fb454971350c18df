//! The state folder: what the next lab goes on from.
//!
//! ```text
//! lock              held while a lab runs on the folder
//! lab.json          where that lab listens
//! cache             cache entries
//! scripts/<hash>    scripts
//! requests.ndjson   the request log
//! ```

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::LabError;
use crate::{Script, ScriptRef};

/// A state folder that this lab owns.
#[derive(Debug)]
pub(super) struct StateDir {
    path: PathBuf,
    _lock: File,
}

impl StateDir {
    /// Takes the folder; a lab that already runs on it keeps it.
    pub(super) fn open(path: &Path) -> Result<StateDir, LabError> {
        let failed = |at: PathBuf| move |source| LabError::State { path: at, source };
        let scripts = path.join("scripts");
        std::fs::create_dir_all(&scripts).map_err(failed(scripts.clone()))?;
        let lock = path.join("lock");
        let file = open_lock(&lock).map_err(failed(lock.clone()))?;
        match file.try_lock() {
            Ok(()) => Ok(StateDir { path: path.to_owned(), _lock: file }),
            Err(std::fs::TryLockError::WouldBlock) => Err(LabError::StateInUse { path: path.to_owned() }),
            Err(std::fs::TryLockError::Error(source)) => Err(LabError::State { path: lock, source }),
        }
    }

    pub(super) fn cache(&self) -> PathBuf {
        self.path.join("cache")
    }

    pub(super) fn requests(&self) -> PathBuf {
        self.path.join("requests.ndjson")
    }

    /// Says where this lab listens.
    pub(super) fn announce(&self, base_url: &str) -> Result<(), LabError> {
        let path = self.path.join("lab.json");
        let text = json!({"base_url": base_url, "pid": std::process::id()}).to_string();
        write_whole(&path, text.as_bytes()).map_err(|source| LabError::State { path, source })
    }

    pub(super) fn keep(&self, script: &Script) -> Result<ScriptRef, LabError> {
        keep_script(&self.path, script)
    }

    pub(super) fn script(&self, reference: &ScriptRef) -> Option<Script> {
        let text = std::fs::read_to_string(self.path.join("scripts").join(reference.as_str())).ok()?;
        // A file that was tampered with is another script, so not this one.
        Script::parse(&text).ok().filter(|script| script.reference() == *reference)
    }
}

fn open_lock(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).truncate(false).write(true).open(path)
}

fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = path.with_extension(format!("{}.new", std::process::id()));
    std::fs::write(&new, bytes)?;
    std::fs::rename(&new, path)
}

/// Puts a script where the lab of this state folder finds it, whether it runs now or later.
pub fn keep_script(state_dir: &Path, script: &Script) -> Result<ScriptRef, LabError> {
    let path = state_dir.join("scripts").join(script.reference().as_str());
    let failed = |source| LabError::State { path: path.clone(), source };
    std::fs::create_dir_all(state_dir.join("scripts")).map_err(failed)?;
    if !path.exists() {
        write_whole(&path, script.text().as_bytes()).map_err(failed)?;
    }
    Ok(script.reference())
}

/// A lab that runs on a state folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningLab {
    /// Where it listens.
    pub base_url: String,
    /// Its process.
    pub pid: u32,
}

impl RunningLab {
    /// What `ANTHROPIC_BASE_URL` must be for one script.
    pub fn url_for(&self, script: &ScriptRef) -> String {
        format!("{}/s/{script}", self.base_url)
    }
}

/// The lab that runs on a state folder, if one does.
pub fn running(state_dir: &Path) -> Result<Option<RunningLab>, LabError> {
    let lock = state_dir.join("lock");
    let file = match OpenOptions::new().write(true).open(&lock) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(LabError::State { path: lock, source }),
    };
    // Tried as a reader, so that two who look at once don't take each other for the lab.
    match file.try_lock_shared() {
        Ok(()) => Ok(None),
        Err(std::fs::TryLockError::WouldBlock) => Ok(announced(state_dir)),
        Err(std::fs::TryLockError::Error(source)) => Err(LabError::State { path: lock, source }),
    }
}

fn announced(state_dir: &Path) -> Option<RunningLab> {
    let text = std::fs::read_to_string(state_dir.join("lab.json")).ok()?;
    let value: Value = serde_json::from_str(&text).ok()?;
    Some(RunningLab {
        base_url: value.get("base_url")?.as_str()?.to_owned(),
        pid: u32::try_from(value.get("pid")?.as_u64()?).ok()?,
    })
}
