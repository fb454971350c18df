//! `ostler.db`: records in SQLite. The only SQL of the project is in this module and its children.
//!
//! WAL, so that readers and the one writer don't wait for each other; every write is one `IMMEDIATE` transaction, so
//! that waiting for another writer happens at its beginning and nowhere else, and is bounded ([`DbError::Busy`]).

mod changes;
mod columns;
mod deliveries;
mod error;
mod find;
mod list;
mod permissions;
mod projection;
mod schema;
mod sessions;

pub use changes::{Change, ChangePage};
pub use deliveries::{Body, DeliveryRow, Inserted, MAX_INLINE_BODY, Mode, NewDelivery, Pending};
pub use error::DbError;
pub use find::FindError;
pub use list::{ListFilter, PageKey, SessionPage};
pub use permissions::{Decided, NewDecision, PermissionRow, Winner};
pub use projection::{Committed, RecordChange};
pub use sessions::SessionRow;

use std::path::{Path, PathBuf};

/// What a commit promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// It survives a loss of power: for faces, which accept things.
    Full,
    /// It survives the end of any process: for controllers, whose rows the journals can rebuild.
    Normal,
}

/// A connection to the database. One a thread; any number may be open at once, in any number of processes.
#[derive(Debug)]
pub struct Db {
    conn: rusqlite::Connection,
    path: PathBuf,
}

impl Db {
    /// Opens the database in the folder `home`; creates or migrates it where needed.
    ///
    /// # Errors
    /// [`DbError::Newer`], [`DbError::Corrupt`], [`DbError::Busy`], [`DbError::DiskFull`], [`DbError::ReadOnly`] and
    /// other trouble.
    pub fn open(home: &Path, durability: Durability) -> Result<Self, DbError> {
        todo!("{home:?} {durability:?}")
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}
