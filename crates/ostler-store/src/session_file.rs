//! `session.json`: launch spec and ids of a session, written before its row so that the database can be rebuilt.

use crate::session_dir::SessionDir;
use ostler_core::ids::{ConversationId, Millis, SessionId};
use ostler_os::{PathError, durable};
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
        let fail = |operation: &'static str, path: &Path| {
            let path = path.to_owned();
            move |source: PathError| SessionFileError::Io { operation, path, source: source.into() }
        };
        durable::create_dir_private(&dir.path).map_err(fail("create", &dir.path))?;
        let path = dir.session_json();
        let mut bytes = serde_json::to_vec_pretty(self)
            .map_err(|source| SessionFileError::Encode { path: path.clone(), source })?;
        bytes.push(b'\n');
        durable::replace_file(&path, &bytes).map_err(fail("write", &path))?;
        if let Some(sessions) = dir.path.parent() {
            durable::sync_dir(sessions).map_err(fail("create", &dir.path))?;
        }
        Ok(())
    }

    /// Reads it back.
    ///
    /// # Errors
    /// It is missing, not ours, damaged, or of a newer ostler.
    pub fn read(dir: &SessionDir) -> Result<Self, SessionFileError> {
        /// What every format has.
        #[derive(Deserialize)]
        struct Head {
            version: u32,
        }
        let path = dir.session_json();
        let bytes = std::fs::read(&path).map_err(|source| SessionFileError::Io {
            operation: "read",
            path: path.clone(),
            source,
        })?;
        let damaged = |source| SessionFileError::Damaged { path: path.clone(), source };
        let head: Head = serde_json::from_slice(&bytes).map_err(damaged)?;
        if head.version > SESSION_FILE_VERSION {
            return Err(SessionFileError::Newer { path, found: head.version });
        }
        let file: Self = serde_json::from_slice(&bytes).map_err(damaged)?;
        if file.id != dir.id {
            return Err(SessionFileError::OtherId { path, found: file.id });
        }
        Ok(file)
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
    /// It can't be written as JSON.
    #[error("cannot write {}", path.display())]
    Encode {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: serde_json::Error,
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
