//! Session rows and their records.

use super::{Db, DbError};
use ostler_core::ids::{ConversationId, Millis, SessionId};
use ostler_core::record::Record;

/// A session as the database keeps it; the launch spec is in `session.json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// Whose row.
    pub id: SessionId,
    /// Claude's id for it now.
    pub conversation: ConversationId,
    /// The host it is on.
    pub host: String,
    /// When it was created.
    pub created_at: Millis,
    /// A name that people gave it; need not be unique.
    pub label: Option<String>,
    /// The working directory of its children.
    pub cwd: String,
    /// What it means.
    pub record: Record,
    /// Counts the changes of the record; see [`Db::set_record`].
    pub revision: u64,
}

impl Db {
    /// Adds a session. Its `session.json` is on disk already.
    ///
    /// # Errors
    /// The row exists, or the database can't be written.
    pub fn insert_session(&self, row: &SessionRow) -> Result<(), DbError> {
        todo!("{row:?}")
    }

    /// A session's row.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn session(&self, id: SessionId) -> Result<Option<SessionRow>, DbError> {
        todo!("{id}")
    }

    /// A session's record and its revision.
    ///
    /// # Errors
    /// [`DbError::NoSession`], or the database can't be read.
    pub fn record(&self, id: SessionId) -> Result<(Record, u64), DbError> {
        todo!("{id}")
    }

    /// Replaces the record if its revision is still `expected`; false when somebody else was first.
    ///
    /// # Errors
    /// [`DbError::NoSession`], or the database can't be written.
    pub fn set_record(&self, id: SessionId, expected: u64, new: &Record) -> Result<bool, DbError> {
        todo!("{id} {expected} {new:?}")
    }

    /// Stores which conversation the session is on from now on.
    ///
    /// # Errors
    /// [`DbError::NoSession`], or the database can't be written.
    pub fn set_conversation(&self, id: SessionId, conversation: ConversationId) -> Result<(), DbError> {
        todo!("{id} {conversation}")
    }

    /// Open sessions to which something is owed: a delivery that isn't final, a turn that isn't settled, or an open
    /// permission. For the sweep.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn sessions_owing(&self) -> Result<Vec<SessionId>, DbError> {
        todo!()
    }
}
