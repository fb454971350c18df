//! The feed of changes of all sessions.

use super::columns::{Count, Id};
use super::error::Failure;
use super::{Db, DbError};
use ostler_core::ids::SessionId;
use rusqlite::{Connection, Transaction, params};

/// Something about a session changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its place in the feed; only ever grows.
    pub seq: u64,
    /// Whose.
    pub session: SessionId,
    /// What: `session`, `record`, `generation`, `turn`, `delivery`, `permission`, `spend`, `base`, `fork`.
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

/// How many changes are kept. Whoever is further behind reads the rows anew.
const KEPT: i64 = 100_000;

/// How often the oldest ones are dropped: once in so many changes.
const DROP_EVERY: i64 = 1_000;

/// Adds changes of one session.
pub(super) fn append(tx: &Transaction<'_>, session: SessionId, kinds: &[&str]) -> Result<(), Failure> {
    let mut insert = tx.prepare_cached("INSERT INTO change (session, kind) VALUES (?1, ?2)")?;
    for kind in kinds {
        insert.execute(params![Id(session), kind])?;
        let seq = tx.last_insert_rowid();
        if seq % DROP_EVERY == 0 {
            tx.execute("DELETE FROM change WHERE seq <= ?1", [seq - KEPT])?;
        }
    }
    Ok(())
}

impl Db {
    /// At most `limit` changes behind `seq`.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn changes_after(&self, seq: u64, limit: u32) -> Result<ChangePage, DbError> {
        self.read("read changes", |conn| {
            let (oldest, newest) = ends(conn)?;
            // Behind the newest: that was another database, since lost.
            if seq + 1 < oldest || seq > newest {
                return Ok(ChangePage { changes: Vec::new(), reset: true });
            }
            let mut statement = conn.prepare_cached(
                "SELECT seq, session, kind FROM change WHERE seq > ?1 ORDER BY seq LIMIT ?2",
            )?;
            let found = statement.query_map(params![Count(seq), limit], |row| {
                Ok(Change {
                    seq: row.get::<_, Count>(0)?.0,
                    session: row.get::<_, Id<_>>(1)?.0,
                    kind: row.get(2)?,
                })
            })?;
            Ok(ChangePage { changes: found.collect::<Result<_, _>>()?, reset: false })
        })
    }

    /// The newest change; 0 when there was none.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn last_change_seq(&self) -> Result<u64, DbError> {
        self.read("read changes", |conn| Ok(ends(conn)?.1))
    }
}

/// The oldest and the newest change that is kept; 0 and 0 without any.
fn ends(conn: &Connection) -> rusqlite::Result<(u64, u64)> {
    // Two queries, for SQLite looks only one end up in an index at a time.
    conn.prepare_cached(
        "SELECT coalesce((SELECT min(seq) FROM change), 0), coalesce((SELECT max(seq) FROM change), 0)",
    )?
    .query_row([], |row| Ok((row.get::<_, Count>(0)?.0, row.get::<_, Count>(1)?.0)))
}
