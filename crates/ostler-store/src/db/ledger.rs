//! Sums of what was spent: over sessions, labels, models, days.

use super::columns::{Count, Id};
use super::{Db, DbError};
use ostler_core::ids::{Millis, SessionId};
use ostler_core::rows::Tokens;
use rusqlite::{Row, named_params};

/// By what to sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerBy {
    /// One sum a session; the key is its id.
    Session,
    /// One a label; those without are one.
    Label,
    /// One a model.
    Model,
    /// One a day (UTC) on which processes were started; the key is `YYYY-MM-DD`.
    Day,
}

/// What is summed; every condition that is set must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LedgerFilter {
    /// Of this session.
    pub session: Option<SessionId>,
    /// Of sessions with exactly this label.
    pub label: Option<String>,
    /// On this model.
    pub model: Option<String>,
    /// By processes that were started then or later.
    pub since: Option<Millis>,
    /// By processes that were started before.
    pub until: Option<Millis>,
}

/// One sum.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LedgerSum {
    /// Of what; None: of sessions without a label, or of everything.
    pub key: Option<String>,
    /// Sessions that it has something of.
    pub sessions: u64,
    /// Their processes.
    pub generations: u64,
    /// Tokens.
    pub tokens: Tokens,
    /// Dollars, as far as they are known.
    pub known_usd: f64,
    /// How many rows (a process and a model) have no price.
    pub unpriced: u64,
}

/// A page of sums.
#[derive(Clone, Debug, PartialEq)]
pub struct LedgerPage {
    /// By key.
    pub sums: Vec<LedgerSum>,
    /// There are more.
    pub more: bool,
    /// Of everything that fits, on whatever page.
    pub total: LedgerSum,
}

/// Everything that a sum has, behind its key.
const SUMS: &str = "count(DISTINCT spend.session) AS sessions,
    count(DISTINCT spend.session || '/' || spend.generation) AS generations,
    coalesce(sum(input), 0) AS input, coalesce(sum(output), 0) AS output,
    coalesce(sum(cache_read), 0) AS cache_read, coalesce(sum(cache_write_5m), 0) AS cache_write_5m,
    coalesce(sum(cache_write_1h), 0) AS cache_write_1h, total(usd) AS usd, coalesce(sum(usd IS NULL), 0) AS unpriced";

/// What they are summed over.
const FROM: &str =
    "spend JOIN generation ON generation.session = spend.session AND generation.no = spend.generation
    JOIN session ON session.id = spend.session
    WHERE (:session IS NULL OR spend.session = :session) AND (:label IS NULL OR label = :label)
    AND (:model IS NULL OR spend.model = :model) AND (:since IS NULL OR started_at >= :since)
    AND (:until IS NULL OR started_at < :until)";

impl Db {
    /// At most `limit` sums with keys behind `after`, and the sum of all.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn ledger(
        &self,
        by: LedgerBy,
        filter: &LedgerFilter,
        after: Option<&str>,
        limit: u32,
    ) -> Result<LedgerPage, DbError> {
        let key = match by {
            LedgerBy::Session => "spend.session",
            LedgerBy::Label => "coalesce(label, '')",
            LedgerBy::Model => "spend.model",
            LedgerBy::Day => "strftime('%Y-%m-%d', started_at / 1000, 'unixepoch')",
        };
        let LedgerFilter { session, label, model, since, until } = filter;
        let (session, since, until) = (session.map(Id), since.map(|at| at.0), until.map(|at| at.0));
        self.read("sum what was spent", |conn| {
            let sql = format!(
                "SELECT {key} AS key, {SUMS} FROM {FROM} AND (:after IS NULL OR {key} > :after)
                 GROUP BY key ORDER BY key LIMIT :limit"
            );
            let mut statement = conn.prepare_cached(&sql)?;
            let found = statement.query_map(
                named_params! {
                    ":session": session, ":label": label, ":model": model, ":since": since, ":until": until,
                    ":after": after, ":limit": i64::from(limit) + 1,
                },
                LedgerSum::read,
            )?;
            let mut sums = found.collect::<Result<Vec<_>, _>>()?;
            let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
            let more = sums.len() > wanted;
            sums.truncate(wanted);
            let sql = format!("SELECT NULL AS key, {SUMS} FROM {FROM}");
            let total = conn.prepare_cached(&sql)?.query_row(
                named_params! {
                    ":session": session, ":label": label, ":model": model, ":since": since, ":until": until,
                },
                LedgerSum::read,
            )?;
            Ok(LedgerPage { sums, more, total })
        })
    }
}

impl LedgerSum {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let count = |column: &str| row.get::<_, Count>(column).map(|count| count.0);
        Ok(Self {
            key: row.get::<_, Option<String>>("key")?.filter(|key| !key.is_empty()),
            sessions: count("sessions")?,
            generations: count("generations")?,
            tokens: Tokens {
                input: count("input")?,
                output: count("output")?,
                cache_read: count("cache_read")?,
                cache_write_5m: count("cache_write_5m")?,
                cache_write_1h: count("cache_write_1h")?,
            },
            known_usd: row.get("usd")?,
            unpriced: count("unpriced")?,
        })
    }
}
