//! `$OSTLER_HOME`: finding it, opening it, and the reasons to refuse one.

use crate::db::{Db, DbError, Durability};
use crate::session_dir::SessionDir;
use ostler_core::ids::SessionId;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// The folder that holds everything: `ostler.db`, `slots/`, `sessions/`.
#[derive(Debug)]
pub struct Home {
    root: PathBuf,
}

impl Home {
    /// Where the home is: `$OSTLER_HOME`, else `$XDG_STATE_HOME/ostler`, else `~/.local/state/ostler`. `env` looks a
    /// variable up. An empty variable counts as unset, and so does a relative `XDG_STATE_HOME` (its specification says
    /// so).
    ///
    /// # Errors
    /// [`HomeError::Nowhere`] when no variable says, [`HomeError::Relative`] when `OSTLER_HOME` is no absolute path.
    pub fn resolve(env: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, HomeError> {
        let _ = env;
        todo!()
    }

    /// Opens the home at `path`; creates what is missing, for its owner only.
    ///
    /// # Errors
    /// Each reason to refuse is a variant of [`HomeError`].
    pub fn open(path: &Path) -> Result<Self, HomeError> {
        todo!("{path:?}")
    }

    /// The folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The database file.
    #[must_use]
    pub fn db_path(&self) -> PathBuf {
        self.root.join("ostler.db")
    }

    /// The folder of all sessions.
    #[must_use]
    pub fn sessions_dir(&self) -> PathBuf {
        self.root.join("sessions")
    }

    /// A session's folder; it need not exist.
    #[must_use]
    pub fn session(&self, id: SessionId) -> SessionDir {
        SessionDir { id, path: self.sessions_dir().join(id.to_string()) }
    }

    /// The sessions that have a folder, sorted by id.
    ///
    /// # Errors
    /// The folder can't be listed.
    pub fn sessions_on_disk(&self) -> io::Result<Vec<SessionId>> {
        todo!()
    }

    /// Files whose locks are machine-wide limits.
    #[must_use]
    pub fn slots_dir(&self) -> PathBuf {
        self.root.join("slots")
    }

    /// What the lab keeps for this home.
    #[must_use]
    pub fn lab_dir(&self) -> PathBuf {
        self.root.join("lab")
    }

    /// A connection to the database.
    ///
    /// # Errors
    /// See [`Db::open`].
    pub fn db(&self, durability: Durability) -> Result<Db, DbError> {
        todo!("{durability:?}")
    }
}

/// Why a home can't be used.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// No variable says where it is.
    #[error("no place for ostler's state: none of OSTLER_HOME, XDG_STATE_HOME and HOME is set; set OSTLER_HOME to a folder of yours")]
    Nowhere,
    /// `OSTLER_HOME` depends on the current directory.
    #[error("OSTLER_HOME is {}, which depends on the current directory; set it to an absolute path", path.display())]
    Relative {
        /// What it says.
        path: PathBuf,
    },
    /// Something else is there.
    #[error("{} is not a folder; move it away or set OSTLER_HOME to another place", path.display())]
    NotAFolder {
        /// The path.
        path: PathBuf,
    },
    /// It is on a network file system.
    #[error(
        "{} is on a network file system ({kind}), where file locks and the database are not safe; set OSTLER_HOME to a local folder",
        path.display()
    )]
    NetworkFs {
        /// The path.
        path: PathBuf,
        /// Which kind.
        kind: String,
    },
    /// It is somebody else's.
    #[error("{} belongs to user {owner}, not to you (user {me}); set OSTLER_HOME to a folder of yours", path.display())]
    OtherOwner {
        /// The path.
        path: PathBuf,
        /// Who owns it (user id).
        owner: u32,
        /// Who asks (user id).
        me: u32,
    },
    /// Nothing can be written there.
    #[error("cannot write to {}; make it writable for you or set OSTLER_HOME to another folder", path.display())]
    NotWritable {
        /// The path.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Some other trouble with the folder.
    #[error("cannot {operation} {}", path.display())]
    Io {
        /// `create`, `look at`.
        operation: &'static str,
        /// The path.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The database can't be used: newer, corrupt, disk full, …
    #[error(transparent)]
    Db(#[from] DbError),
}
