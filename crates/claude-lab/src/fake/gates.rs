//! Gates: files by which a test and a fake child wait for each other. A gate is open when its file exists.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often a closed gate is looked at.
pub(super) const LOOK: Duration = Duration::from_millis(2);

/// Where the gates are.
#[derive(Debug)]
pub(super) struct Gates(PathBuf);

impl Gates {
    /// The folder that the environment names, else the script's, else the working directory.
    pub(super) fn find() -> Self {
        let named = std::env::var_os(super::GATES_VARIABLE).map(PathBuf::from);
        let beside_script = || {
            let script = PathBuf::from(std::env::var_os(super::SCRIPT_VARIABLE)?);
            script.is_file().then(|| script.parent().map(Path::to_path_buf)).flatten()
        };
        Self(named.or_else(beside_script).unwrap_or_default())
    }

    pub(super) fn is_open(&self, gate: &str) -> bool {
        self.0.join(gate).exists()
    }

    /// Opens a gate for whoever waits for this child.
    pub(super) fn open(&self, gate: &str) {
        // A gate that can't be opened shows in the test that waits for it.
        drop(std::fs::File::create(self.0.join(gate)));
    }
}
