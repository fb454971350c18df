//! Listing sessions, page by page, newest first.

use super::columns::Id;
use super::{Db, DbError, SessionRow};
use ostler_core::ids::{Millis, SessionId};
use rusqlite::named_params;

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
        self.read("list sessions", |conn| {
            let mut statement = conn.prepare_cached(&filter.sql(after.is_some()))?;
            let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
            let rows = statement.query_map(
                named_params! {
                    ":state": filter.state,
                    ":label": filter.label,
                    ":cwd": filter.cwd,
                    ":stopped": filter.stopped,
                    ":closed": filter.closed,
                    ":time": after.map(|key| key.created_at.0),
                    ":id": after.map(|key| Id(key.id)),
                    // One more shows whether there is a next page.
                    ":limit": i64::from(limit) + 1,
                },
                SessionRow::read,
            )?;
            let mut rows = rows.collect::<Result<Vec<_>, _>>()?;
            let more = rows.len() > wanted;
            rows.truncate(wanted);
            let last = rows.last().map(|row| PageKey { created_at: row.created_at, id: row.id });
            Ok(SessionPage { rows, next: last.filter(|_| more) })
        })
    }
}

impl ListFilter {
    /// The query. SQLite has no statistics to choose an index by, so it is told: the condition that usually leaves the
    /// fewest rows. Every index gives rows in the order of the listing, so a page costs what it shows.
    fn sql(&self, after: bool) -> String {
        let index = match (&self.label, &self.cwd, &self.state) {
            (Some(_), _, _) => "session_by_label",
            (None, Some(_), _) => "session_by_cwd",
            (None, None, Some(_)) => "session_by_state",
            (None, None, None) => "session_by_time",
        };
        let equal = |column: &str, set: bool| match set {
            true => format!("{column} = :{column}"),
            false => format!(":{column} IS NULL"),
        };
        let after = match after {
            true => "(created_at, id) < (:time, :id)",
            false => ":time IS NULL AND :id IS NULL",
        };
        // The inner query looks at indexes alone, the outer one fetches what is shown.
        format!(
            "SELECT {} FROM (
                 SELECT id AS page_id, created_at AS page_time FROM session INDEXED BY {index}
                 WHERE {} AND {} AND {} AND {} AND {} AND {after}
                 ORDER BY created_at DESC, id DESC LIMIT :limit
             ) CROSS JOIN session ON id = page_id ORDER BY page_time DESC, page_id DESC",
            SessionRow::COLUMNS,
            equal("label", self.label.is_some()),
            equal("cwd", self.cwd.is_some()),
            equal("state", self.state.is_some()),
            equal("stopped", self.stopped.is_some()),
            equal("closed", self.closed.is_some()),
        )
    }
}
