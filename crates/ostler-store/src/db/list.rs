//! Listing sessions, page by page, newest first.

use super::{Db, DbError, SessionRow};
use ostler_core::ids::{Millis, SessionId};

/// Which sessions to list; every condition that is set must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListFilter {
    /// [`ostler_core::record::State::word`].
    pub state: Option<String>,
    /// Exactly this label.
    pub label: Option<String>,
    /// Exactly this working directory.
    pub cwd: Option<String>,
    /// Only stopped ones, or only others.
    pub stopped: Option<bool>,
    /// Only closed ones, or only others.
    pub closed: Option<bool>,
}

/// The last row of a page: the next one begins behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageKey {
    /// When that session was created.
    pub created_at: Millis,
    /// Which it is.
    pub id: SessionId,
}

/// A page of sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionPage {
    /// Newest first.
    pub rows: Vec<SessionRow>,
    /// Where the next page begins; None when this is the last.
    pub next: Option<PageKey>,
}

impl Db {
    /// At most `limit` sessions that fit, behind `after`.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn list_sessions(
        &self,
        filter: &ListFilter,
        after: Option<PageKey>,
        limit: u32,
    ) -> Result<SessionPage, DbError> {
        todo!("{filter:?} {after:?} {limit}")
    }
}
