//! Records are moved, and what a move begins is remembered until it is done.
//!
//! A stop and a close are more than a flag: the child is ended, what waits is taken back, a worktree is removed. The
//! flag comes first, and a **chore** in the same transaction. Whoever is killed before the rest is done leaves the chore,
//! and the next command finds it.

use super::columns::{Id, Json, Word};
use super::{Db, DbError, SessionRow, changes, sessions};
use crate::flags::Flags;
use ostler_core::ids::{Millis, SessionId};
use ostler_core::record::{Record, RecordEvent};
use ostler_core::rows::DeliveryState;
use ostler_os::PathError;
use rusqlite::params;
use serde::{Deserialize, Serialize};

/// What is still to be done about a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Chore {
    /// It is stopped: its child is to be ended.
    Stop,
    /// It is closed: its child is to be ended, what waits taken back, its worktree treated as said.
    Close {
        /// What becomes of its worktree.
        worktree: Fate,
        /// Then everything of it is deleted.
        purge: bool,
    },
}

/// What becomes of the worktree of a session that is closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// Removed, if nothing is lost by it.
    #[default]
    Remove,
    /// Removed with everything in it.
    Discard,
    /// Left alone.
    Keep,
}

/// What became of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The record before it.
    pub before: Record,
    /// The record from now on, where the event changed it.
    pub after: Option<Record>,
}

impl Db {
    /// Applies an event to a session's record, by the record's own table and in one transaction. `chore` is remembered
    /// with it, whether or not the event changes anything; a resume forgets a stop's.
    ///
    /// # Errors
    /// [`DbError::NoSession`], or the database or the session's folder can't be written.
    pub fn move_record(
        &self,
        id: SessionId,
        event: &RecordEvent,
        chore: Option<&Chore>,
        at: Millis,
    ) -> Result<Moved, DbError> {
        let dir = self.session_dir(id);
        self.write("change a session's record", |tx| {
            let row = sessions::row_of(tx, id)?.ok_or(DbError::NoSession { id })?;
            let after = row.record.after(event);
            if let Some(new) = &after {
                let flags = |record: &Record| (record.stopped, record.closed);
                if flags(new) != flags(&row.record) {
                    // Under the write lock, so that the file says what the last of several said.
                    let file = Flags { stopped: new.stopped, closed: new.closed, at };
                    file.write(&dir).map_err(|e: PathError| DbError::Body {
                        operation: "write",
                        path: dir.flags(),
                        source: e.into(),
                    })?;
                }
                // Nobody can come between: this transaction is the only writer.
                sessions::set_record(tx, id, row.revision, new)?;
                changes::append(tx, id, &["record"])?;
            }
            if *event == RecordEvent::Resumes && after.is_some() {
                tx.execute("DELETE FROM chore WHERE session = ?1", [Id(id)])?;
            }
            let refused = row.record.closed && *event != RecordEvent::Closes;
            if let Some(chore) = chore.filter(|_| !refused) {
                tx.execute(
                    "INSERT INTO chore (session, what) VALUES (?1, ?2)
                     ON CONFLICT (session) DO UPDATE SET what = excluded.what",
                    params![Id(id), Json(chore)],
                )?;
            }
            Ok(Moved { before: row.record, after })
        })
    }

    /// What stops and closes have begun and nobody has finished.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn chores(&self) -> Result<Vec<(SessionId, Chore)>, DbError> {
        self.read("look for what was begun", |conn| {
            let mut statement = conn.prepare_cached("SELECT session, what FROM chore ORDER BY session")?;
            let found = statement
                .query_map([], |row| Ok((row.get::<_, Id<_>>(0)?.0, row.get::<_, Json<_>>(1)?.0)))?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }

    /// It is done; another one that was begun meanwhile stays.
    ///
    /// # Errors
    /// The database can't be written.
    pub fn chore_done(&self, id: SessionId, chore: &Chore) -> Result<(), DbError> {
        self.write("finish what was begun", |tx| {
            tx.execute("DELETE FROM chore WHERE session = ?1 AND what = ?2", params![Id(id), Json(chore)])?;
            Ok(())
        })
    }

    /// Takes back everything of a closed session that was accepted and never written; how many that were. Nobody can
    /// write it any more.
    ///
    /// # Errors
    /// The database can't be written.
    pub fn cancel_unwritten(&self, id: SessionId) -> Result<u32, DbError> {
        self.write("take messages back", |tx| {
            let cancelled = tx.execute(
                "UPDATE delivery SET state = ?2 WHERE session = ?1 AND state = ?3 AND fold_no IS NULL
                 AND EXISTS (SELECT 1 FROM session WHERE id = ?1 AND closed = 1)",
                params![Id(id), Word(DeliveryState::Cancelled), Word(DeliveryState::Accepted)],
            )?;
            if cancelled > 0 {
                changes::append(tx, id, &["delivery"])?;
            }
            Ok(u32::try_from(cancelled).unwrap_or(u32::MAX))
        })
    }

    /// The sessions that are closed, by id.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn closed_sessions(&self) -> Result<Vec<SessionRow>, DbError> {
        self.read("list closed sessions", |conn| {
            let sql = format!("SELECT {} FROM session WHERE closed = 1 ORDER BY id", SessionRow::COLUMNS);
            let mut statement = conn.prepare_cached(&sql)?;
            Ok(statement.query_map([], SessionRow::read)?.collect::<Result<_, _>>()?)
        })
    }

    /// Deletes every row of a closed session. Its folder is gone already.
    ///
    /// # Errors
    /// The database can't be written.
    pub fn forget_session(&self, id: SessionId) -> Result<(), DbError> {
        self.write("forget a session", |tx| {
            // One that never ran is no part of the session that was made for it.
            tx.execute("DELETE FROM bridge_task WHERE session = ?1 AND ran = 1", [Id(id)])?;
            for table in ["chore", "base", "fork", "spend", "permission", "delivery", "turn", "generation"] {
                tx.execute(&format!("DELETE FROM {table} WHERE session = ?1"), [Id(id)])?;
            }
            tx.execute("DELETE FROM rule WHERE scope = 'session' AND place = ?1", [Id(id)])?;
            if tx.execute("DELETE FROM session WHERE id = ?1", [Id(id)])? > 0 {
                changes::append(tx, id, &["session"])?;
            }
            Ok(())
        })
    }
}
