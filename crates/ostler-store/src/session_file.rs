//! `session.json`: launch spec and ids of a session, written before its row so that the database can be rebuilt.

use crate::session_dir::SessionDir;
use ostler_core::ids::{ConversationId, Millis, SessionId};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::io;
use std::path::{Path, PathBuf};

/// The format that this version writes. Readers take any number up to it.
pub const SESSION_FILE_VERSION: u32 = 1;

/// The contents of `session.json`. Written once at creation and never changed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SessionFile {
    /// Format; see [`SESSION_FILE_VERSION`].
    pub version: u32,
    /// The session.
    pub id: SessionId,
    /// The conversation that it was created with.
    pub conversation: ConversationId,
    /// When it was created.
    pub created_at: Millis,
    /// A name that people gave it.
    pub label: Option<String>,
    /// The working directory of its children; for people and for filters, the launch spec decides.
    pub cwd: String,
    /// The host that it was created on.
    pub host: String,
    /// The launch spec, kept byte for byte.
    pub spec: Box<RawValue>,
}

impl SessionFile {
    /// Creates the session's folder, if it isn't there, and writes the file durably: when this returns, a loss of
    /// power does not undo it.
    ///
    /// # Errors
    /// The folder or the file can't be written.
    pub fn write(&self, dir: &SessionDir) -> Result<(), SessionFileError> {
        todo!("{dir:?}")
    }

    /// Reads it back.
    ///
    /// # Errors
    /// It is missing, not ours, damaged, or of a newer ostler.
    pub fn read(dir: &SessionDir) -> Result<Self, SessionFileError> {
        todo!("{dir:?}")
    }
}

/// Why a `session.json` can't be used.
#[derive(Debug, thiserror::Error)]
pub enum SessionFileError {
    /// Reading or writing failed.
    #[error("cannot {operation} {}", path.display())]
    Io {
        /// `read`, `write`, `create`.
        operation: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It is not what we write.
    #[error("{} is damaged", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        #[source]
        source: serde_json::Error,
    },
    /// A newer ostler wrote it.
    #[error(
        "{} was written by a newer ostler (format {found}, this one reads up to {SESSION_FILE_VERSION}); upgrade ostler",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// It belongs to another folder.
    #[error("{} says it is session {found}; the folder was renamed or copied", path.display())]
    OtherId {
        /// The file.
        path: PathBuf,
        /// The id inside.
        found: SessionId,
    },
}

impl SessionFileError {
    pub(crate) fn io(operation: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { operation, path: path.to_owned(), source }
    }
}
