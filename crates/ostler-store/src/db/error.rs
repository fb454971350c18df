//! What can go wrong with the database, and what to do about it.

use super::columns::UnknownValue;
use super::schema;
use ostler_core::ids::{DeliveryId, SessionId};
use ostler_os::durable;
use rusqlite::ErrorCode;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What can go wrong with the database.
#[derive(Debug, thiserror::Error)]
pub enum DbError {
    /// A newer ostler has changed it so that this one can't read it.
    #[error(
        "{} was written by a newer ostler (schema {found}; this one knows up to {ours}, and readers must know {lowest_reader}); upgrade ostler",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema number.
        found: i64,
        /// The schema number that a reader must know at least.
        lowest_reader: i64,
        /// The schema number that this version knows.
        ours: i64,
    },
    /// It is no database, or a damaged one.
    #[error(
        "{} is damaged; move it away and run `ostler doctor rebuild`: session folders and journals hold what is needed",
        path.display()
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        #[source]
        source: rusqlite::Error,
    },
    /// Another process kept it locked for too long.
    #[error("{} was locked by another process for {waited_ms} ms; try again", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
        /// How long we waited.
        waited_ms: u64,
    },
    /// No space left on its disk.
    #[error("no space left on the disk of {}; free some and try again", path.display())]
    DiskFull {
        /// The file.
        path: PathBuf,
        /// What SQLite or the system said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// It can be read but not written.
    #[error("cannot write to {}; make it and its folder writable for you", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// The file can't be created or opened.
    #[error("cannot open {}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A session with this id is there already.
    #[error("session {id} exists already")]
    SessionExists {
        /// Which.
        id: SessionId,
    },
    /// The name of a base is taken.
    #[error("there is a base called {name:?} already (session {session})")]
    BaseExists {
        /// The name.
        name: String,
        /// Whose it is.
        session: SessionId,
    },
    /// There is no such session.
    #[error("there is no session {id}")]
    NoSession {
        /// Which was asked for.
        id: SessionId,
    },
    /// There is no such delivery.
    #[error("there is no delivery {id}")]
    NoDelivery {
        /// Which was asked for.
        id: DeliveryId,
    },
    /// The body of a delivery can't be written or read.
    #[error("cannot {operation} {}", path.display())]
    Body {
        /// `write`, `read`.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The row of a delivery came from its journal; what it said is only there.
    #[error("the text of delivery {id} is not stored: its row was rebuilt from the journal")]
    BodyLost {
        /// The delivery.
        id: DeliveryId,
    },
    /// A column holds what this version can't read.
    #[error("{} holds {value:?} for {what}, which this ostler does not know; upgrade ostler", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// What it should be.
        what: &'static str,
        /// What stands there.
        value: String,
    },
    /// Anything else that SQLite says.
    #[error("cannot {operation} in {}", path.display())]
    Sql {
        /// What was tried.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        #[source]
        source: rusqlite::Error,
    },
}

impl DbError {
    /// Trouble with the file itself, before SQLite is asked.
    pub(super) fn of_file(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly { path },
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::DiskFull { path, source: source.into() }
            }
            _ => Self::Open { path, source },
        }
    }
}

/// An error inside a transaction, before it is known in which database and what was tried.
#[derive(Debug)]
pub(super) enum Failure {
    Sql(rusqlite::Error),
    Newer {
        found: i64,
        lowest_reader: i64,
    },
    ReadOnly,
    /// Complete already.
    Db(DbError),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<DbError> for Failure {
    fn from(error: DbError) -> Self {
        Self::Db(error)
    }
}

impl Failure {
    /// The error for people. `operation` completes "cannot … in ostler.db".
    pub(super) fn explain(self, operation: &'static str, path: &Path, patience: Duration) -> DbError {
        let path = path.to_owned();
        match self {
            Self::Db(error) => error,
            Self::ReadOnly => DbError::ReadOnly { path },
            Self::Newer { found, lowest_reader } => {
                DbError::Newer { path, found, lowest_reader, ours: schema::OURS }
            }
            Self::Sql(source) => explain_sql(source, operation, path, patience),
        }
    }
}

fn explain_sql(
    source: rusqlite::Error,
    operation: &'static str,
    path: PathBuf,
    patience: Duration,
) -> DbError {
    if let rusqlite::Error::FromSqlConversionFailure(_, _, cause) = &source
        && let Some(UnknownValue { what, value }) = cause.downcast_ref()
    {
        return DbError::Value { path, what, value: value.clone() };
    }
    match source.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            DbError::Busy { path, waited_ms: u64::try_from(patience.as_millis()).unwrap_or(u64::MAX) }
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => DbError::Corrupt { path, source },
        Some(ErrorCode::ReadOnly) => DbError::ReadOnly { path },
        Some(ErrorCode::DiskFull) => DbError::DiskFull { path, source: source.into() },
        // For some files SQLite says only that writing failed (the shared memory beside the log is one).
        Some(ErrorCode::SystemIoFailure) if disk_is_full(&path) => {
            DbError::DiskFull { path, source: source.into() }
        }
        _ => DbError::Sql { operation, path, source },
    }
}

/// Less is free than SQLite needs to grow any of its files.
fn disk_is_full(path: &Path) -> bool {
    const LITTLE: u64 = 64 << 10;
    path.parent().is_some_and(|dir| durable::free_space(dir).is_ok_and(|free| free < LITTLE))
}

pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}
