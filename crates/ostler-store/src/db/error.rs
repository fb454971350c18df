//! What can go wrong with the database, and what to do about it.

use ostler_core::ids::{DeliveryId, SessionId};
use std::io;
use std::path::PathBuf;

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
        /// What SQLite said.
        #[source]
        source: rusqlite::Error,
    },
    /// It can be read but not written.
    #[error("cannot write to {}; make it and its folder writable for you", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
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
    #[error("{table}.{column} holds {value:?}, which this ostler does not know")]
    Value {
        /// The table.
        table: &'static str,
        /// The column.
        column: &'static str,
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
