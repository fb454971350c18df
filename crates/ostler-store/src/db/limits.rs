//! Credentials that are refused for now.

use super::columns::Count;
use super::{Db, DbError};
use ostler_core::ids::Millis;
use rusqlite::{OptionalExtension, Row, params};

/// A credential that the API refuses for now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// A name for it, never the secret.
    pub credential: String,
    /// When it was refused last.
    pub since: Millis,
    /// When it is taken again; None: nobody said.
    pub until: Option<Millis>,
    /// Refusals in a row.
    pub tries: u64,
    /// When one of those who wait may try; None: not by itself.
    pub next_try: Option<Millis>,
}

impl Db {
    /// What stands against a credential.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn rate_limit(&self, credential: &str) -> Result<Option<RateLimit>, DbError> {
        self.read("read a rate limit", |conn| {
            let sql = "SELECT * FROM rate_limit WHERE credential = ?1";
            Ok(conn.prepare_cached(sql)?.query_row([credential], RateLimit::read).optional()?)
        })
    }

    /// All of them.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn rate_limits(&self) -> Result<Vec<RateLimit>, DbError> {
        self.read("read rate limits", |conn| {
            let mut statement = conn.prepare_cached("SELECT * FROM rate_limit ORDER BY credential")?;
            Ok(statement.query_map([], RateLimit::read)?.collect::<Result<_, _>>()?)
        })
    }

    /// It was refused. `next_try` gets how often in a row by now, and says when to try again. Gives the row.
    ///
    /// # Errors
    /// The database can't be written.
    pub fn limit_refused(
        &self,
        credential: &str,
        at: Millis,
        until: Option<Millis>,
        next_try: impl FnOnce(u64) -> Option<Millis>,
    ) -> Result<RateLimit, DbError> {
        self.write("store a rate limit", |tx| {
            let sql = "SELECT tries FROM rate_limit WHERE credential = ?1";
            let before = tx.query_row(sql, [credential], |row| Ok(row.get::<_, Count>(0)?.0)).optional()?;
            let tries = before.unwrap_or(0).saturating_add(1);
            let next = next_try(tries);
            tx.execute(
                "INSERT OR REPLACE INTO rate_limit (credential, since, until, tries, next_try)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
                params![credential, at.0, until.map(|t| t.0), Count(tries), next.map_or(i64::MAX, |t| t.0)],
            )?;
            Ok(RateLimit { credential: credential.to_owned(), since: at, until, tries, next_try: next })
        })
    }

    /// It is taken again. False: nothing stood against it.
    ///
    /// # Errors
    /// The database can't be written.
    pub fn limit_lifted(&self, credential: &str) -> Result<bool, DbError> {
        self.write("lift a rate limit", |tx| {
            Ok(tx.execute("DELETE FROM rate_limit WHERE credential = ?1", [credential])? > 0)
        })
    }
}

impl RateLimit {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let next: i64 = row.get("next_try")?;
        Ok(Self {
            credential: row.get("credential")?,
            since: Millis(row.get("since")?),
            until: row.get::<_, Option<i64>>("until")?.map(Millis),
            tries: row.get::<_, Count>("tries")?.0,
            next_try: (next != i64::MAX).then_some(Millis(next)),
        })
    }
}
