//! `flags.json`: what people have said of a session, beside its record. The database has it too; this is for one that
//! was lost, for no journal tells it. What an agent has declared stands in the journal.

use crate::session_dir::SessionDir;
use ostler_core::ids::Millis;
use ostler_os::{PathError, durable};
use serde::{Deserialize, Serialize};

/// The contents of `flags.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flags {
    /// Takes no delivery until it is resumed.
    pub stopped: bool,
    /// Over for good.
    pub closed: bool,
    /// When this was written.
    pub at: Millis,
}

impl Flags {
    /// Replaces the file durably.
    ///
    /// # Errors
    /// The folder or the file can't be written.
    pub fn write(&self, dir: &SessionDir) -> Result<(), PathError> {
        let text = serde_json::json!({"stopped": self.stopped, "closed": self.closed, "at": self.at});
        durable::create_dir_private(&dir.path)?;
        durable::replace_file(&dir.flags(), format!("{text}\n").as_bytes())
    }

    /// Reads it; None where nobody has said anything, or it can't be read.
    #[must_use]
    pub fn read(dir: &SessionDir) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(dir.flags()).ok()?).ok()
    }
}
