//! Messages by the page, by the beginning of an id, and how one reached the model: what a face with many readers asks.

use super::columns::{Count, Id, Word};
use super::{Db, DbError, DeliveryRow};
use ostler_core::ids::SessionId;
use ostler_core::rows::DeliveryState;
use rusqlite::params;
use serde::{Deserialize, Serialize};

/// How many candidates are named at most.
const CANDIDATES: u32 = 20;

/// How a message reached the model, as it can be told afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Route {
    /// Into a turn that was running.
    Steer,
    /// To a child at rest, as a turn of its own.
    Feed,
    /// A child was started for it.
    Wake,
}

impl Route {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Steer => "steer",
            Self::Feed => "feed",
            Self::Wake => "wake",
        }
    }
}

/// A page of messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryPage {
    /// In the order they came.
    pub rows: Vec<DeliveryRow>,
    /// The last one's place, behind which the next page begins; None when this is the last page.
    pub next: Option<u64>,
}

impl Db {
    /// At most `limit` deliveries of a session behind the place `after`; only those in `state`, if one is given.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn deliveries_page(
        &self,
        session: SessionId,
        state: Option<DeliveryState>,
        after: u64,
        limit: u32,
    ) -> Result<DeliveryPage, DbError> {
        self.read("read deliveries", |conn| {
            let sql = format!(
                "SELECT {} FROM delivery INDEXED BY delivery_of_session
                 WHERE session = ?1 AND seq > ?2 AND (?3 IS NULL OR state = ?3) ORDER BY seq LIMIT ?4",
                DeliveryRow::COLUMNS
            );
            let mut statement = conn.prepare_cached(&sql)?;
            // One more shows whether there is a next page.
            let key = params![Id(session), Count(after), state.map(Word), i64::from(limit) + 1];
            let mut rows = statement.query_map(key, DeliveryRow::read)?.collect::<Result<Vec<_>, _>>()?;
            let more = rows.len() > usize::try_from(limit).unwrap_or(usize::MAX);
            rows.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
            let next = rows.last().map(|row| row.seq).filter(|_| more);
            Ok(DeliveryPage { rows, next })
        })
    }

    /// The newest deliveries of a session, at most `limit`, in the order they came.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn newest_deliveries(&self, session: SessionId, limit: u32) -> Result<Vec<DeliveryRow>, DbError> {
        self.read("read deliveries", |conn| {
            let sql = format!(
                "SELECT {} FROM delivery INDEXED BY delivery_of_session WHERE session = ?1 ORDER BY seq DESC LIMIT ?2",
                DeliveryRow::COLUMNS
            );
            let mut statement = conn.prepare_cached(&sql)?;
            let found = statement.query_map(params![Id(session), limit], DeliveryRow::read)?;
            let mut rows = found.collect::<Result<Vec<_>, _>>()?;
            rows.reverse();
            Ok(rows)
        })
    }

    /// Deliveries of a session whose id begins with `name`, at most 20.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn deliveries_called(&self, session: SessionId, name: &str) -> Result<Vec<DeliveryRow>, DbError> {
        let prefix = name.to_ascii_lowercase();
        if prefix.is_empty() || !prefix.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-') {
            return Ok(Vec::new());
        }
        self.read("look for a delivery", |conn| {
            // Every character of an id is less than `g`, so this bounds everything that begins with the prefix.
            let sql = format!(
                "SELECT {} FROM delivery WHERE id >= ?1 AND id < ?1 || 'g' AND session = ?2 ORDER BY seq LIMIT {CANDIDATES}",
                DeliveryRow::COLUMNS
            );
            let mut statement = conn.prepare_cached(&sql)?;
            let found = statement.query_map(params![prefix, Id(session)], DeliveryRow::read)?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }

    /// How a delivery reached the model; None while it did not. The first one that a generation was given woke it, and
    /// one that shares its turn with an earlier one steered it.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn route_of(&self, row: &DeliveryRow) -> Result<Option<Route>, DbError> {
        let (Some(generation), Some(turn)) = (row.generation, row.turn) else { return Ok(None) };
        self.read("read a delivery", |conn| {
            let (begun, shared): (bool, bool) = conn
                .prepare_cached(
                    "WITH own AS (SELECT fold_no FROM delivery WHERE id = ?2)
                     SELECT EXISTS (SELECT 1 FROM delivery d, own WHERE d.session = ?1 AND d.generation = ?3
                                    AND d.fold_no < own.fold_no),
                            EXISTS (SELECT 1 FROM delivery d, own WHERE d.session = ?1 AND d.turn = ?4
                                    AND d.generation = ?3 AND d.fold_no < own.fold_no)",
                )?
                .query_row(params![Id(row.session), Id(row.id), generation, turn], |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })?;
            Ok(Some(match (begun, shared) {
                (false, _) => Route::Wake,
                (true, true) => Route::Steer,
                (true, false) => Route::Feed,
            }))
        })
    }
}
