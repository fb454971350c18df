//! Trained bases, and which session is a fork of which.

use super::columns::{Id, Json};
use super::error::Failure;
use super::{Db, DbError, changes};
use crate::base_file;
use ostler_core::base::Base;
use ostler_core::ids::{Millis, SessionId};
use ostler_core::rows::CacheSeen;
use rusqlite::{Connection, OptionalExtension, Transaction, params};

/// A fork, as a base's listing sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkRow {
    /// The fork.
    pub session: SessionId,
    /// What it is a copy of.
    pub source: SessionId,
    /// The trained base at the root of it.
    pub base: Option<SessionId>,
    /// It differs in what breaks the prefix, and was wanted all the same.
    pub forced: bool,
    /// When the generation began whose first request was compared.
    pub started_at: Option<Millis>,
    /// What that request found.
    pub cache: Option<CacheSeen>,
}

/// What became of sealing a base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sealing {
    /// It is sealed, and the base that it replaces retired.
    Sealed,
    /// It was already, or it was retired meanwhile.
    Over,
    /// A message was accepted that is not final: it is not what was trained any more.
    Busy,
}

impl Db {
    /// Adds a base whose training begins. Its name is taken from here on.
    ///
    /// # Errors
    /// [`DbError::BaseExists`], or the database or the session's folder can't be written.
    pub fn insert_base(&self, base: &Base) -> Result<(), DbError> {
        self.write("add a base", |tx| {
            let other = tx
                .prepare_cached(
                    "SELECT base FROM base WHERE name = ?1 AND retired_at IS NULL AND session <> ?2",
                )?
                .query_map(params![base.name, Id(base.session)], |row| Ok(row.get::<_, Json<Base>>(0)?.0))?
                .collect::<Result<Vec<_>, _>>()?;
            let in_the_way = other.into_iter().find(|other| {
                let replaced = base.replaces == Some(other.session) && other.is_sealed();
                !replaced && (other.is_sealed() == base.is_sealed() || base.replaces.is_none())
            });
            if let Some(other) = in_the_way {
                return Err(DbError::BaseExists { name: base.name.clone(), session: other.session }.into());
            }
            self.put_base(tx, base)?;
            changes::append(tx, base.session, &["base"])
        })
    }

    /// Every base, the newest first; those that were retired too, if asked for.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn bases(&self, retired: bool) -> Result<Vec<Base>, DbError> {
        self.read("list bases", |conn| {
            let mut statement = conn.prepare_cached(
                "SELECT base FROM base WHERE ?1 OR retired_at IS NULL ORDER BY created_at DESC, session",
            )?;
            let found = statement.query_map([retired], |row| Ok(row.get::<_, Json<_>>(0)?.0))?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }

    /// The base that a session is.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn base(&self, session: SessionId) -> Result<Option<Base>, DbError> {
        self.read("read a base", |conn| Ok(base_of(conn, session)?))
    }

    /// The base that a name means: the one that lives, else the one in training, else the last that was retired.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn base_named(&self, name: &str) -> Result<Option<Base>, DbError> {
        self.read("look for a base", |conn| {
            let found = conn
                .prepare_cached(
                    "SELECT base FROM base WHERE name = ?1 ORDER BY retired_at IS NOT NULL, sealed_at IS NULL,
                     created_at DESC LIMIT 1",
                )?
                .query_row([name], |row| Ok(row.get::<_, Json<_>>(0)?.0));
            Ok(found.optional()?)
        })
    }

    /// Seals a base: from here on its session takes nothing. The base that it replaces is retired with it.
    ///
    /// # Errors
    /// The database or a session's folder can't be written.
    pub fn seal_base(&self, sealed: &Base) -> Result<Sealing, DbError> {
        self.write("seal a base", |tx| {
            let known = base_of(tx, sealed.session)?;
            if known.is_none_or(|known| known.is_sealed() || known.retired_at.is_some()) {
                return Ok(Sealing::Over);
            }
            let owed: bool = tx
                .prepare_cached(
                    "SELECT EXISTS (SELECT 1 FROM delivery WHERE session = ?1
                     AND state IN ('accepted', 'written', 'queued', 'started'))",
                )?
                .query_row([Id(sealed.session)], |row| row.get(0))?;
            if owed {
                return Ok(Sealing::Busy);
            }
            let before = sealed.replaces.map(|id| base_of(tx, id)).transpose()?.flatten();
            if let Some(before) = before.filter(|before| before.retired_at.is_none()) {
                let reason = Some(format!("replaced by {}", sealed.session));
                let before = Base { retired_at: sealed.sealed_at, reason, ..before };
                self.put_base(tx, &before)?;
                changes::append(tx, before.session, &["base"])?;
            }
            self.put_base(tx, sealed)?;
            changes::append(tx, sealed.session, &["base"])?;
            Ok(Sealing::Sealed)
        })
    }

    /// Retires a base; what it was before, None when it was retired already or is none.
    ///
    /// # Errors
    /// The database or the session's folder can't be written.
    pub fn retire_base(&self, session: SessionId, reason: &str, at: Millis) -> Result<Option<Base>, DbError> {
        self.write("retire a base", |tx| {
            let Some(base) = base_of(tx, session)?.filter(|base| base.retired_at.is_none()) else {
                return Ok(None);
            };
            let retired = Base { retired_at: Some(at), reason: Some(reason.to_owned()), ..base.clone() };
            self.put_base(tx, &retired)?;
            changes::append(tx, session, &["base"])?;
            Ok(Some(base))
        })
    }

    /// Puts back what a session's folder says of its base, for a database that was lost.
    ///
    /// # Errors
    /// The database can't be written.
    pub fn restore_base(&self, base: &Base) -> Result<(), DbError> {
        self.write("add a base", |tx| Ok(row(tx, base)?))
    }

    /// Remembers what a session is a fork of. Saying it again is harmless.
    ///
    /// # Errors
    /// The database can't be written.
    pub fn insert_fork(
        &self,
        session: SessionId,
        source: SessionId,
        base: Option<SessionId>,
        forced: bool,
    ) -> Result<(), DbError> {
        self.write("add a fork", |tx| {
            tx.prepare_cached(
                "INSERT OR REPLACE INTO fork (session, source, base, forced) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![Id(session), Id(source), base.map(Id), forced])?;
            changes::append(tx, session, &["fork"])
        })
    }

    /// What a session is a fork of.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn fork(&self, session: SessionId) -> Result<Option<ForkRow>, DbError> {
        self.forks("fork.session = ?1", session).map(|mut found| found.pop())
    }

    /// The forks of a base, forks of those included, by id.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn forks_of_base(&self, base: SessionId) -> Result<Vec<ForkRow>, DbError> {
        self.forks("fork.base = ?1", base)
    }

    /// When a request last read or wrote the whole prefix of a base again: that of a fork's that was answered.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn base_read_last(&self, base: SessionId) -> Result<Option<Millis>, DbError> {
        let whole = |fork: &ForkRow| {
            let all = |seen: CacheSeen| seen.read.saturating_add(seen.written) >= seen.expected;
            fork.started_at.filter(|_| !fork.forced && fork.cache.is_some_and(all))
        };
        Ok(self.forks_of_base(base)?.iter().filter_map(whole).max())
    }

    fn forks(&self, which: &str, id: SessionId) -> Result<Vec<ForkRow>, DbError> {
        self.read("read forks", |conn| {
            // A fork's first request is compared once, whatever generation it was in.
            let sql = format!(
                "SELECT fork.session, source, base, cache, started_at, forced FROM fork
                 LEFT JOIN generation ON generation.session = fork.session AND cache IS NOT NULL
                 WHERE {which} ORDER BY fork.session"
            );
            let mut statement = conn.prepare_cached(&sql)?;
            let found = statement.query_map([Id(id)], |row| {
                Ok(ForkRow {
                    session: row.get::<_, Id<_>>(0)?.0,
                    source: row.get::<_, Id<_>>(1)?.0,
                    base: row.get::<_, Option<Id<_>>>(2)?.map(|id| id.0),
                    cache: row.get::<_, Option<Json<_>>>(3)?.map(|seen| seen.0),
                    started_at: row.get::<_, Option<i64>>(4)?.map(Millis),
                    forced: row.get(5)?,
                })
            })?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }

    /// File first, under the write lock: it says what the last of several said.
    fn put_base(&self, tx: &Transaction<'_>, base: &Base) -> Result<(), Failure> {
        let dir = self.session_dir(base.session);
        base_file::write(&dir, base).map_err(|error| {
            Failure::Db(DbError::Body { operation: "write", path: dir.base_json(), source: error.into() })
        })?;
        Ok(row(tx, base)?)
    }
}

fn row(tx: &Transaction<'_>, base: &Base) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "INSERT OR REPLACE INTO base (session, name, created_at, sealed_at, retired_at, base)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![
        Id(base.session),
        base.name,
        base.created_at.0,
        base.sealed_at.map(|at| at.0),
        base.retired_at.map(|at| at.0),
        Json(base),
    ])?;
    Ok(())
}

pub(super) fn base_of(conn: &Connection, session: SessionId) -> rusqlite::Result<Option<Base>> {
    conn.prepare_cached("SELECT base FROM base WHERE session = ?1")?
        .query_row([Id(session)], |row| Ok(row.get::<_, Json<_>>(0)?.0))
        .optional()
}

/// The session was sealed, whether or not it was retired since.
pub(super) fn is_sealed(conn: &Connection, session: SessionId) -> rusqlite::Result<bool> {
    conn.prepare_cached("SELECT EXISTS (SELECT 1 FROM base WHERE session = ?1 AND sealed_at IS NOT NULL)")?
        .query_row([Id(session)], |row| row.get(0))
}
