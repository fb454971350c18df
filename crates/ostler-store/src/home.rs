//! `$OSTLER_HOME`: finding it, opening it, and the reasons to refuse one.

mod facts;

use crate::db::{Db, DbError, Durability};
use crate::session_dir::SessionDir;
use facts::Facts;
use ostler_core::ids::SessionId;
use ostler_os::durable;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The folder that holds everything: `ostler.db`, `slots/`, `sessions/`.
#[derive(Debug)]
pub struct Home {
    root: PathBuf,
    /// The connection that [`Home::open`] looked at the database with, for the first who wants one.
    first: Mutex<Option<Db>>,
}

impl Home {
    /// Where the home is: `$OSTLER_HOME`, else `$XDG_STATE_HOME/ostler`, else `~/.local/state/ostler`. `env` looks a
    /// variable up. An empty variable counts as unset, and so does a relative `XDG_STATE_HOME` (its specification says
    /// so).
    ///
    /// # Errors
    /// [`HomeError::Nowhere`] when no variable says, [`HomeError::Relative`] when `OSTLER_HOME` is no absolute path.
    pub fn resolve(env: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, HomeError> {
        let folder = |name: &str| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(path) = folder("OSTLER_HOME") {
            return if path.is_absolute() { Ok(path) } else { Err(HomeError::Relative { path }) };
        }
        if let Some(state) = folder("XDG_STATE_HOME").filter(|state| state.is_absolute()) {
            return Ok(state.join("ostler"));
        }
        let home = folder("HOME").filter(|home| home.is_absolute()).ok_or(HomeError::Nowhere)?;
        Ok(home.join(".local/state/ostler"))
    }

    /// Opens the home at `path`; creates what is missing, for its owner only.
    ///
    /// # Errors
    /// Each reason to refuse is a variant of [`HomeError`].
    pub fn open(path: &Path) -> Result<Self, HomeError> {
        let home = Self { root: path.to_owned(), first: Mutex::new(None) };
        home.refuse_before_creating()?;
        durable::create_dir_private(path).map_err(|e| facts::refused(path, e.source))?;
        let inside = [home.sessions_dir(), home.slots_dir()];
        let created = inside.iter().try_for_each(|dir| durable::create_dir_private(dir));
        Facts::of(path, created.map_err(|error| error.source))?.judge(path)?;
        let db = Db::open(path, Durability::Full)?;
        *home.first() = Some(db);
        Ok(home)
    }

    /// Nothing is created on a network file system.
    fn refuse_before_creating(&self) -> Result<(), HomeError> {
        let existing = self.root.ancestors().find(|path| path.exists());
        let kind = existing.map(facts::network).transpose()?.flatten();
        match kind {
            Some(kind) => Err(HomeError::NetworkFs { path: self.root.clone(), kind }),
            None => Ok(()),
        }
    }

    fn first(&self) -> MutexGuard<'_, Option<Db>> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner)
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
        let mut found = Vec::new();
        for entry in std::fs::read_dir(self.sessions_dir())? {
            let name = entry?.file_name();
            let id = name.to_str().and_then(|name| name.parse::<SessionId>().ok());
            // A uuid has several spellings; a session's folder has one.
            found.extend(id.filter(|id| name.to_str() == Some(id.to_string().as_str())));
        }
        found.sort_unstable();
        Ok(found)
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
        match self.first().take() {
            Some(db) => db.with_durability(durability),
            None => Db::open(&self.root, durability),
        }
    }
}

/// Why a home can't be used.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// No variable says where it is.
    #[error(
        "no place for ostler's state: none of OSTLER_HOME, XDG_STATE_HOME and HOME is set; set OSTLER_HOME to a folder of yours"
    )]
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
    #[error("{} belongs to another user; set OSTLER_HOME to a folder of yours", path.display())]
    OtherOwner {
        /// The path.
        path: PathBuf,
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
    /// No space for its folders.
    #[error("no space left for {}; free some and try again", path.display())]
    DiskFull {
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
