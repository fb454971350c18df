//! Session rows and their records.

use super::columns::{Count, Id, Json};
use super::{Db, DbError, changes};
use crate::session_file::SessionFile;
use ostler_core::ids::{ConversationId, Millis, SessionId};
use ostler_core::record::Record;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

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

impl SessionRow {
    /// The row of a session that was just created.
    #[must_use]
    pub fn of(file: &SessionFile) -> Self {
        Self {
            id: file.id,
            conversation: file.conversation,
            host: file.host.clone(),
            created_at: file.created_at,
            label: file.label.clone(),
            cwd: file.cwd.clone(),
            record: Record::default(),
            revision: 0,
        }
    }

    pub(super) const COLUMNS: &'static str =
        "id, conversation, host, created_at, label, cwd, record, revision";

    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get::<_, Id<_>>("id")?.0,
            conversation: row.get::<_, Id<_>>("conversation")?.0,
            host: row.get("host")?,
            created_at: Millis(row.get("created_at")?),
            label: row.get("label")?,
            cwd: row.get("cwd")?,
            record: row.get::<_, Json<_>>("record")?.0,
            revision: row.get::<_, Count>("revision")?.0,
        })
    }
}

impl Db {
    /// Adds a session. Its `session.json` is on disk already.
    ///
    /// # Errors
    /// [`DbError::SessionExists`], or the database can't be written.
    pub fn insert_session(&self, row: &SessionRow) -> Result<(), DbError> {
        self.write("add a session", |tx| {
            let added = tx
                .prepare_cached(
                    "INSERT INTO session
                 (id, conversation, host, created_at, label, cwd, record, state, stopped, closed, revision)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT (id) DO NOTHING",
                )?
                .execute(params![
                    Id(row.id),
                    Id(row.conversation),
                    row.host,
                    row.created_at.0,
                    row.label,
                    row.cwd,
                    Json(&row.record),
                    row.record.state.word(),
                    row.record.stopped,
                    row.record.closed,
                    Count(row.revision),
                ])?;
            if added == 0 {
                return Err(DbError::SessionExists { id: row.id }.into());
            }
            changes::append(tx, row.id, &["session"])
        })
    }

    /// A session's row.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn session(&self, id: SessionId) -> Result<Option<SessionRow>, DbError> {
        self.read("read a session", |conn| Ok(row_of(conn, id)?))
    }

    /// A session's record and its revision.
    ///
    /// # Errors
    /// [`DbError::NoSession`], or the database can't be read.
    pub fn record(&self, id: SessionId) -> Result<(Record, u64), DbError> {
        let row = self.session(id)?.ok_or(DbError::NoSession { id })?;
        Ok((row.record, row.revision))
    }

    /// Replaces the record if its revision is still `expected`; false when somebody else was first.
    ///
    /// # Errors
    /// [`DbError::NoSession`], or the database can't be written.
    pub fn set_record(&self, id: SessionId, expected: u64, new: &Record) -> Result<bool, DbError> {
        self.write("change a session's record", |tx| {
            let set = set_record(tx, id, expected, new)?;
            if set {
                changes::append(tx, id, &["record"])?;
            } else if row_of(tx, id)?.is_none() {
                return Err(DbError::NoSession { id }.into());
            }
            Ok(set)
        })
    }

    /// Stores which conversation the session is on from now on.
    ///
    /// # Errors
    /// [`DbError::NoSession`], or the database can't be written.
    pub fn set_conversation(&self, id: SessionId, conversation: ConversationId) -> Result<(), DbError> {
        self.write("change a session's conversation", |tx| {
            let set = tx.execute(
                "UPDATE session SET conversation = ?2 WHERE id = ?1",
                params![Id(id), Id(conversation)],
            )?;
            if set == 0 {
                return Err(DbError::NoSession { id }.into());
            }
            changes::append(tx, id, &["session"])
        })
    }

    /// Sessions to which something is owed: a child that was not found dead, a turn that isn't settled, or, unless
    /// they are stopped or closed, a delivery that isn't final. For the sweep.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn sessions_owing(&self) -> Result<Vec<SessionId>, DbError> {
        self.read("look for sessions with work", |conn| {
            let mut statement = conn.prepare_cached(
                "SELECT session FROM generation WHERE ended_at IS NULL
                 UNION SELECT session FROM turn WHERE settled_at IS NULL
                 UNION SELECT delivery.session FROM delivery JOIN session ON session.id = delivery.session
                 WHERE delivery.state IN ('accepted', 'written', 'queued', 'started') AND stopped = 0 AND closed = 0",
            )?;
            let found = statement.query_map([], |row| Ok(row.get::<_, Id<_>>(0)?.0))?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }
}

/// A session's row, in whatever transaction.
pub(super) fn row_of(conn: &Connection, id: SessionId) -> rusqlite::Result<Option<SessionRow>> {
    let sql = format!("SELECT {} FROM session WHERE id = ?1", SessionRow::COLUMNS);
    conn.prepare_cached(&sql)?.query_row([Id(id)], SessionRow::read).optional()
}

/// The compare-and-set on a record; false when its revision is another or there is no such session.
pub(super) fn set_record(
    tx: &Transaction<'_>,
    id: SessionId,
    expected: u64,
    new: &Record,
) -> rusqlite::Result<bool> {
    let set = tx
        .prepare_cached(
            "UPDATE session SET record = ?3, state = ?4, stopped = ?5, closed = ?6, revision = revision + 1
             WHERE id = ?1 AND revision = ?2",
        )?
        .execute(params![Id(id), Count(expected), Json(new), new.state.word(), new.stopped, new.closed])?;
    Ok(set == 1)
}
