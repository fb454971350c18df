//! Deliveries: accepting them, their bodies, what is waiting.

use super::columns::{Count, Id, Word, range};
use super::error::Failure;
use super::{Db, DbError, bases, changes, sessions};
use crate::session_dir::SessionDir;
use ostler_core::ids::{DeliveryId, GenerationNo, Millis, SessionId, TurnNo};
use ostler_core::rows::DeliveryState;
use ostler_os::{PathError, durable};
use rusqlite::{OptionalExtension, Row, Transaction, params};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::cell::Cell;
use std::io;
use std::path::{Path, PathBuf};

/// Longer bodies (in bytes) are files in the session folder, written before the row.
pub const MAX_INLINE_BODY: usize = 64 << 10;

/// How a delivery may reach the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// As ostler thinks best.
    #[default]
    Auto,
    /// Never into a running turn.
    Queue,
    /// The running turn is interrupted for it.
    Now,
}

/// A message to accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDelivery {
    /// Its id, also the uuid of its `user` line.
    pub id: DeliveryId,
    /// For whom.
    pub session: SessionId,
    /// What to say.
    pub body: Vec<u8>,
    /// How it may reach the model.
    pub mode: Mode,
    /// The sender's name for it: the same name again is the same delivery.
    pub idempotency_key: Option<String>,
    /// When it came.
    pub created_at: Millis,
    /// ostler made it itself, to go on with what this one had begun.
    pub continues: Option<DeliveryId>,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// Accepted, durably.
    New {
        /// Its place among all deliveries.
        seq: u64,
    },
    /// It had been accepted before, under this id.
    Same {
        /// The id of then.
        id: DeliveryId,
    },
    /// The key, or the id, is that of a delivery with another body.
    ConflictingBody {
        /// That delivery.
        id: DeliveryId,
    },
    /// The session is stopped: it takes no delivery.
    Stopped,
    /// The session is closed.
    Closed,
    /// It is a sealed base: it is copied and never continued.
    Sealed,
}

/// Where a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// In the row.
    Inline,
    /// In a file of the session folder.
    File,
    /// Nowhere: the row was rebuilt from the journal.
    Lost,
}

/// A delivery as the database keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryRow {
    /// Its id.
    pub id: DeliveryId,
    /// For whom.
    pub session: SessionId,
    /// Its place among all deliveries.
    pub seq: u64,
    /// Where its body is.
    pub body: Body,
    /// How long its body is.
    pub body_len: u64,
    /// How it may reach the model.
    pub mode: Mode,
    /// The sender's name for it.
    pub idempotency_key: Option<String>,
    /// When it came.
    pub created_at: Millis,
    /// How far it has come.
    pub state: DeliveryState,
    /// The generation it was last written to.
    pub generation: Option<GenerationNo>,
    /// The turn it belongs to.
    pub turn: Option<TurnNo>,
    /// When it was first written.
    pub written_at: Option<Millis>,
    /// Byte range of the answering `result` line in that generation's `out`.
    pub answer: Option<(u64, u64)>,
    /// ostler made it itself, to go on with what this one had begun.
    pub continues: Option<DeliveryId>,
}

/// A delivery that isn't final.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Its id.
    pub id: DeliveryId,
    /// Its place among all deliveries.
    pub seq: u64,
    /// How it may reach the model.
    pub mode: Mode,
    /// How far it has come.
    pub state: DeliveryState,
    /// How long its body is.
    pub body_len: u64,
    /// When it came.
    pub created_at: Millis,
}

impl Db {
    /// Accepts a delivery. With [`super::Durability::Full`] it survives a loss of power from here on.
    ///
    /// # Errors
    /// [`DbError::NoSession`], [`DbError::DiskFull`], the body's file or the database can't be written.
    pub fn insert_delivery(&self, new: &NewDelivery) -> Result<Inserted, DbError> {
        let body = Prepared::new(self, new);
        let inserted = self.write("accept a delivery", |tx| body.accept(tx, new));
        body.finish(inserted.is_ok());
        inserted
    }

    /// The session's deliveries that aren't final, in the order they came.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn pending_deliveries(&self, session: SessionId) -> Result<Vec<Pending>, DbError> {
        self.read("read deliveries", |conn| {
            let mut statement = conn.prepare_cached(
                "SELECT id, seq, mode, state, body_len, created_at FROM delivery INDEXED BY delivery_pending
                 WHERE session = ?1 AND state IN ('accepted', 'written', 'queued', 'started') ORDER BY seq",
            )?;
            let found = statement.query_map([Id(session)], |row| {
                Ok(Pending {
                    id: row.get::<_, Id<_>>(0)?.0,
                    seq: row.get::<_, Count>(1)?.0,
                    mode: row.get::<_, Word<_>>(2)?.0,
                    state: row.get::<_, Word<_>>(3)?.0,
                    body_len: row.get::<_, Count>(4)?.0,
                    created_at: Millis(row.get(5)?),
                })
            })?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }

    /// What a delivery says.
    ///
    /// # Errors
    /// [`DbError::NoDelivery`], [`DbError::BodyLost`], or it can't be read.
    pub fn delivery_body(&self, id: DeliveryId) -> Result<Vec<u8>, DbError> {
        let found = self.read("read a delivery", |conn| {
            let mut statement =
                conn.prepare_cached("SELECT session, place, body FROM delivery WHERE id = ?1")?;
            let found = statement.query_row([Id(id)], |row| {
                let (session, place): (Id<SessionId>, Word<Body>) = (row.get(0)?, row.get(1)?);
                Ok((session.0, place.0, row.get::<_, Option<Vec<u8>>>(2)?))
            });
            Ok(found.optional()?)
        })?;
        match found.ok_or(DbError::NoDelivery { id })? {
            (_, Body::Inline, body) => Ok(body.unwrap_or_default()),
            (_, Body::Lost, _) => Err(DbError::BodyLost { id }),
            (session, Body::File, _) => {
                let path = self.session_dir(session).delivery_body(id);
                std::fs::read(&path).map_err(|source| DbError::Body { operation: "read", path, source })
            }
        }
    }

    /// A delivery's row.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn delivery(&self, id: DeliveryId) -> Result<Option<DeliveryRow>, DbError> {
        self.read("read a delivery", |conn| {
            let sql = format!("SELECT {} FROM delivery WHERE id = ?1", DeliveryRow::COLUMNS);
            Ok(conn.prepare_cached(&sql)?.query_row([Id(id)], DeliveryRow::read).optional()?)
        })
    }

    /// All deliveries of a session, in the order they came.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn deliveries(&self, session: SessionId) -> Result<Vec<DeliveryRow>, DbError> {
        self.read("read deliveries", |conn| {
            let sql =
                format!("SELECT {} FROM delivery WHERE session = ?1 ORDER BY seq", DeliveryRow::COLUMNS);
            let mut statement = conn.prepare_cached(&sql)?;
            Ok(statement.query_map([Id(session)], DeliveryRow::read)?.collect::<Result<_, _>>()?)
        })
    }

    pub(super) fn session_dir(&self, id: SessionId) -> SessionDir {
        let home = self.path.parent().unwrap_or(&self.path);
        SessionDir { id, path: home.join("sessions").join(id.to_string()) }
    }
}

impl DeliveryRow {
    pub(super) const COLUMNS: &'static str = "seq, id, session, place, body_len, mode, idempotency_key, created_at, state, \
        generation, turn, written_at, answer_start, answer_end, continues";

    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get::<_, Id<_>>("id")?.0,
            session: row.get::<_, Id<_>>("session")?.0,
            seq: row.get::<_, Count>("seq")?.0,
            body: row.get::<_, Word<_>>("place")?.0,
            body_len: row.get::<_, Count>("body_len")?.0,
            mode: row.get::<_, Word<_>>("mode")?.0,
            idempotency_key: row.get("idempotency_key")?,
            created_at: Millis(row.get("created_at")?),
            state: row.get::<_, Word<_>>("state")?.0,
            generation: row.get("generation")?,
            turn: row.get("turn")?,
            written_at: row.get::<_, Option<i64>>("written_at")?.map(Millis),
            answer: range(row, "answer_start", "answer_end")?,
            continues: row.get::<_, Option<Id<_>>>("continues")?.map(|id| id.0),
        })
    }
}

/// A body on its way into the store.
pub(super) struct Prepared {
    file: PathBuf,
    written: Cell<bool>,
}

impl Prepared {
    pub(super) fn new(db: &Db, new: &NewDelivery) -> Self {
        Self { file: db.session_dir(new.session).delivery_body(new.id), written: Cell::new(false) }
    }

    /// Accepts it within a transaction.
    pub(super) fn accept(&self, tx: &Transaction<'_>, new: &NewDelivery) -> Result<Inserted, Failure> {
        let large = new.body.len() > MAX_INLINE_BODY;
        let hash = Sha256::digest(&new.body);
        if let Some(known) = known(tx, new, &hash)? {
            return Ok(known);
        }
        if large {
            // Under the write lock, so that two deliveries with one id can't overwrite each other's body.
            write_body(&self.file, &new.body)?;
            self.written.set(true);
        }
        let seq = insert(tx, new, &hash, large)?;
        changes::append(tx, new.session, &["delivery"])?;
        Ok(Inserted::New { seq })
    }

    /// The transaction is over.
    pub(super) fn finish(self, committed: bool) {
        if !committed && self.written.get() {
            // Nothing refers to it. Should it stay, it is only space.
            let _ = std::fs::remove_file(&self.file);
        }
    }
}

/// What can be said about a delivery without adding it.
fn known(tx: &Transaction<'_>, new: &NewDelivery, hash: &[u8]) -> Result<Option<Inserted>, Failure> {
    let same = tx
        .prepare_cached(
            "SELECT id, session, body_hash FROM delivery WHERE session = ?1 AND idempotency_key = ?2
             UNION ALL SELECT id, session, body_hash FROM delivery WHERE id = ?3",
        )?
        .query_row(params![Id(new.session), new.idempotency_key, Id(new.id)], |row| {
            let (id, session): (Id<DeliveryId>, Id<SessionId>) = (row.get(0)?, row.get(1)?);
            Ok((id.0, session.0, row.get::<_, Option<Vec<u8>>>(2)?))
        })
        .optional()?;
    if let Some((id, session, body)) = same {
        let equal = session == new.session && body.as_deref() == Some(hash);
        return Ok(Some(if equal { Inserted::Same { id } } else { Inserted::ConflictingBody { id } }));
    }
    let row = sessions::row_of(tx, new.session)?.ok_or(DbError::NoSession { id: new.session })?;
    Ok(match row.record {
        record if record.closed => Some(Inserted::Closed),
        record if record.stopped => Some(Inserted::Stopped),
        _ if bases::is_sealed(tx, new.session)? => Some(Inserted::Sealed),
        _ => None,
    })
}

fn insert(tx: &Transaction<'_>, new: &NewDelivery, hash: &[u8], large: bool) -> Result<u64, Failure> {
    let place = if large { Body::File } else { Body::Inline };
    tx.prepare_cached(
        "INSERT INTO delivery (id, session, place, body, body_len, body_hash, mode, idempotency_key, created_at, state,
         continues) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )?
    .execute(params![
        Id(new.id),
        Id(new.session),
        Word(place),
        (!large).then_some(&new.body),
        Count(new.body.len() as u64),
        hash,
        Word(new.mode),
        new.idempotency_key,
        new.created_at.0,
        Word(DeliveryState::Accepted),
        new.continues.map(Id),
    ])?;
    Ok(u64::try_from(tx.last_insert_rowid()).unwrap_or(0))
}

/// Durable when it returns, the folder it may have made included.
fn write_body(file: &Path, body: &[u8]) -> Result<(), Failure> {
    let Some(dir) = file.parent() else { return Ok(()) };
    let write = || {
        if !dir.exists() {
            durable::create_dir_private(dir)?;
            dir.parent().map_or(Ok(()), durable::sync_dir)?;
        }
        durable::replace_file(file, body)
    };
    write().map_err(|error: PathError| {
        let full = matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        let path = file.to_owned();
        Failure::Db(match full {
            true => DbError::DiskFull { path, source: error.into() },
            false => DbError::Body { operation: "write", path, source: error.into() },
        })
    })
}
