//! Who outside is to be told of a question: a queue that survives whoever works it off.
//!
//! A row is there before anybody is told, and stays until nobody can decide the question any more, so that it is told once
//! and again only where nobody knows whether it was. There are never more rows than questions that wait.

use super::columns::{Count, Id};
use super::{Db, DbError, PermissionRow};
use ostler_core::ids::{GenerationNo, Millis, SessionId};
use rusqlite::{OptionalExtension, Row, params};
use std::collections::HashSet;
use uuid::Uuid;

/// One question that somebody is to be told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookRow {
    /// The same each time that it is told.
    pub id: Uuid,
    /// Whose.
    pub session: SessionId,
    /// The generation that asks.
    pub generation: GenerationNo,
    /// The child's id for it.
    pub request_id: String,
    /// When it was found.
    pub created_at: Millis,
    /// How often it was tried.
    pub attempts: u32,
}

/// How an attempt ended for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebhookEnd {
    /// It was taken.
    Sent,
    /// It is not tried any more.
    GivenUp,
}

type Key = (SessionId, GenerationNo, String);

impl Db {
    /// Makes the queue fit the questions that wait: adds new ones, at most so many in all, and forgets those that nobody can
    /// decide any more. Gives how many were added and how many waited for a place in vain.
    ///
    /// # Errors
    /// The database can't be read or written.
    pub fn webhook_fit(&self, at: Millis, most: usize) -> Result<(usize, usize), DbError> {
        let open = self.pending_permissions(None)?;
        let known = self.webhook_keys()?;
        let key = |row: &PermissionRow| -> Key {
            (row.session, row.journal.generation, row.journal.request_id.clone())
        };
        let open: HashSet<Key> = open.iter().map(key).collect();
        let gone: Vec<&Key> = known.difference(&open).collect();
        let mut new: Vec<&Key> = open.difference(&known).collect();
        let places = most.saturating_sub(known.len() - gone.len());
        let late = new.len().saturating_sub(places);
        new.truncate(places);
        if gone.is_empty() && new.is_empty() {
            return Ok((0, late));
        }
        self.write("queue a webhook", |tx| {
            for (session, generation, request) in &gone {
                tx.prepare_cached(
                    "DELETE FROM webhook WHERE session = ?1 AND generation = ?2 AND request_id = ?3",
                )?
                .execute(params![Id(*session), generation, request])?;
            }
            for (session, generation, request) in &new {
                tx.prepare_cached(
                    "INSERT OR IGNORE INTO webhook (id, session, generation, request_id, state, attempts, created_at,
                     next_try) VALUES (?1, ?2, ?3, ?4, 'waiting', 0, ?5, ?5)",
                )?
                .execute(params![
                    Uuid::new_v4().to_string(),
                    Id(*session),
                    generation,
                    request,
                    at.0
                ])?;
            }
            Ok((new.len(), late))
        })
    }

    fn webhook_keys(&self) -> Result<HashSet<Key>, DbError> {
        self.read("read the webhook's queue", |conn| {
            let mut statement = conn.prepare_cached("SELECT session, generation, request_id FROM webhook")?;
            let keys =
                statement.query_map([], |row| Ok((row.get::<_, Id<_>>(0)?.0, row.get(1)?, row.get(2)?)))?;
            Ok(keys.collect::<Result<_, _>>()?)
        })
    }

    /// The next one to be told at `now`; else when there is one, if there is.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn webhook_due(&self, now: Millis) -> Result<Result<WebhookRow, Option<Millis>>, DbError> {
        self.read("read the webhook's queue", |conn| {
            let first = conn
                .prepare_cached(
                    "SELECT * FROM webhook WHERE state = 'waiting' ORDER BY next_try, seq LIMIT 1",
                )?
                .query_row([], |row| Ok((WebhookRow::read(row)?, Millis(row.get("next_try")?))))
                .optional()?;
            Ok(match first {
                Some((row, at)) if at <= now => Ok(row),
                Some((_, at)) => Err(Some(at)),
                None => Err(None),
            })
        })
    }

    /// It is about to be tried once more; if nothing is heard of that, again at `next_try`.
    ///
    /// # Errors
    /// The database can't be written.
    pub fn webhook_begins(&self, id: Uuid, next_try: Millis) -> Result<(), DbError> {
        self.write("note a webhook's attempt", |tx| {
            tx.prepare_cached("UPDATE webhook SET attempts = attempts + 1, next_try = ?2 WHERE id = ?1")?
                .execute(params![id.to_string(), next_try.0])?;
            Ok(())
        })
    }

    /// It is over, or (without an end) failed this time for this reason.
    ///
    /// # Errors
    /// The database can't be written.
    pub fn webhook_tried(
        &self,
        id: Uuid,
        end: Option<WebhookEnd>,
        error: Option<&str>,
    ) -> Result<(), DbError> {
        let state = match end {
            None => "waiting",
            Some(WebhookEnd::Sent) => "sent",
            Some(WebhookEnd::GivenUp) => "given_up",
        };
        self.write("note what became of a webhook", |tx| {
            tx.prepare_cached("UPDATE webhook SET state = ?2, error = ?3 WHERE id = ?1")?
                .execute(params![id.to_string(), state, error])?;
            Ok(())
        })
    }
}

impl WebhookRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let id: String = row.get("id")?;
        Ok(Self {
            // Whoever has written something else there gets an id that is always the same, too.
            id: Uuid::parse_str(&id).unwrap_or(Uuid::nil()),
            session: row.get::<_, Id<_>>("session")?.0,
            generation: row.get("generation")?,
            request_id: row.get("request_id")?,
            created_at: Millis(row.get("created_at")?),
            attempts: u32::try_from(row.get::<_, Count>("attempts")?.0).unwrap_or(u32::MAX),
        })
    }
}
