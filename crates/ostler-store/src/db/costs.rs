//! What was spent, summed by whatever somebody wants to know.

use super::columns::{Count, Id};
use super::{Db, DbError};
use ostler_core::ids::{Millis, SessionId};
use ostler_core::rows::Tokens;
use rusqlite::{Row, params};

/// What sums are made by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CostKey {
    /// One sum a session.
    Session,
    /// One a trained base: its own training, and what its forks spent.
    Base,
    /// One a label; sessions without one are summed under none.
    Label,
    /// One a model id, as the child reports it.
    Model,
    /// One a day (UTC): that on which the generation began.
    Day,
}

/// Which spend counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CostFilter {
    /// Only of generations that began at this time or later.
    pub since: Option<Millis>,
    /// Only of generations that began before this time.
    pub until: Option<Millis>,
    /// Only of this session.
    pub session: Option<SessionId>,
    /// Only of this base and its forks.
    pub base: Option<SessionId>,
    /// Only of sessions with this label.
    pub label: Option<String>,
}

/// One sum.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cost {
    /// What it is of: a session's or a base's id, a label, a model, a day. None: of what has none.
    pub key: Option<String>,
    /// How many sessions are in it.
    pub sessions: u64,
    /// Tokens by class.
    pub tokens: Tokens,
    /// Dollars that are known.
    pub usd: f64,
    /// Rows of generation and model whose dollars are not known at all: they come on top.
    pub unknown: u64,
    /// Rows whose dollars are a part of what was spent at most: an estimate.
    pub estimated: u64,
    /// Of [`Self::usd`], what sessions spent that are no forks.
    pub own_usd: f64,
    /// Of [`Self::usd`], what forks spent.
    pub forks_usd: f64,
    /// How many of the sessions are forks.
    pub forks: u64,
}

impl CostKey {
    const fn column(self) -> &'static str {
        match self {
            Self::Session => "spend.session",
            // A base's own session is in its sum too; what has no base is under none.
            Self::Base => "coalesce(fork.base, (SELECT session FROM base WHERE session = spend.session))",
            Self::Label => "session.label",
            Self::Model => "spend.model",
            Self::Day => "strftime('%Y-%m-%d', generation.started_at / 1000, 'unixepoch')",
        }
    }
}

impl Db {
    /// What was spent, one sum for each key; the largest first, days in their order.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn costs(&self, key: CostKey, filter: &CostFilter) -> Result<Vec<Cost>, DbError> {
        self.read("sum what was spent", |conn| {
            let order = if key == CostKey::Day { "key" } else { "usd DESC, unknown DESC, key" };
            let sql = format!(
                "SELECT {} AS key, count(DISTINCT spend.session) AS sessions, sum(input) AS input,
                 sum(output) AS output, sum(cache_read) AS cache_read, sum(cache_write_5m) AS cache_write_5m,
                 sum(cache_write_1h) AS cache_write_1h, total(usd) AS usd, sum(usd IS NULL) AS unknown,
                 sum(method = 'estimated' AND usd IS NOT NULL) AS estimated,
                 total(iif(fork.session IS NULL, usd, 0)) AS own_usd,
                 total(iif(fork.session IS NULL, 0, usd)) AS forks_usd,
                 count(DISTINCT fork.session) AS forks
                 FROM spend JOIN session ON session.id = spend.session
                 JOIN generation ON generation.session = spend.session AND generation.no = spend.generation
                 LEFT JOIN fork ON fork.session = spend.session
                 WHERE (?1 IS NULL OR generation.started_at >= ?1) AND (?2 IS NULL OR generation.started_at < ?2)
                 AND (?3 IS NULL OR spend.session = ?3)
                 AND (?4 IS NULL OR spend.session = ?4 OR fork.base = ?4)
                 AND (?5 IS NULL OR session.label = ?5)
                 GROUP BY key ORDER BY {order}",
                key.column()
            );
            let mut statement = conn.prepare_cached(&sql)?;
            let found = statement.query_map(
                params![
                    filter.since.map(|at| at.0),
                    filter.until.map(|at| at.0),
                    filter.session.map(Id),
                    filter.base.map(Id),
                    filter.label,
                ],
                read,
            )?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Cost> {
    let count = |column: &str| row.get::<_, Count>(column).map(|count| count.0);
    Ok(Cost {
        key: row.get("key")?,
        sessions: count("sessions")?,
        tokens: Tokens {
            input: count("input")?,
            output: count("output")?,
            cache_read: count("cache_read")?,
            cache_write_5m: count("cache_write_5m")?,
            cache_write_1h: count("cache_write_1h")?,
        },
        usd: row.get("usd")?,
        unknown: count("unknown")?,
        estimated: count("estimated")?,
        own_usd: row.get("own_usd")?,
        forks_usd: row.get("forks_usd")?,
        forks: count("forks")?,
    })
}
