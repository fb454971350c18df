//! The feed of changes of all sessions.

use super::{Db, DbError};
use ostler_core::ids::SessionId;

/// Something about a session changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its place in the feed; only ever grows.
    pub seq: u64,
    /// Whose.
    pub session: SessionId,
    /// What: `session`, `record`, `generation`, `turn`, `delivery`, `permission`, `spend`.
    pub kind: String,
}

/// A piece of the feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangePage {
    /// Oldest first.
    pub changes: Vec<Change>,
    /// True when what was asked for is no longer kept: read the rows anew and go on behind the last change.
    pub reset: bool,
}

impl Db {
    /// At most `limit` changes behind `seq`.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn changes_after(&self, seq: u64, limit: u32) -> Result<ChangePage, DbError> {
        todo!("{seq} {limit}")
    }

    /// The newest change; 0 when there was none.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn last_change_seq(&self) -> Result<u64, DbError> {
        todo!()
    }
}
