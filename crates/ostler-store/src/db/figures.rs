//! Counts over the whole database, for whoever watches a home.

use super::columns::Count;
use super::{Db, DbError};
use ostler_core::ids::Millis;
use ostler_core::rows::Tokens;
use rusqlite::Connection;

/// What is in the database. Labels are the words of the columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// Sessions by state; `stopped` and `closed` outrank it.
    pub sessions: Vec<(String, u64)>,
    /// Turns by outcome; `running` without one.
    pub turns: Vec<(String, u64)>,
    /// Turns that ended because the child said nothing.
    pub stalled: u64,
    /// Messages by state.
    pub deliveries: Vec<(String, u64)>,
    /// Questions that wait for a decision.
    pub open_permissions: u64,
    /// When the oldest of them was asked, where that is known.
    pub oldest_permission: Option<Millis>,
    /// What is in the ledger.
    pub tokens: Tokens,
    /// Dollars, where they are known.
    pub usd: f64,
    /// Rows of the ledger whose dollars are not.
    pub unpriced: u64,
    /// Children that have ended: `clean` (status 0), `code`, `signal`, `not_started`,
    /// `unknown`.
    pub deaths: Vec<(String, u64)>,
}

impl Db {
    /// Counts everything. Takes time that grows with the database: a second where there are a million rows.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn figures(&self) -> Result<Figures, DbError> {
        self.read("count", |conn| {
            let mut figures = Figures {
                sessions: counts(
                    conn,
                    "SELECT CASE WHEN closed THEN 'closed' WHEN stopped THEN 'stopped' ELSE state END, count(*)
                     FROM session GROUP BY 1",
                )?,
                turns: counts(
                    conn,
                    "SELECT coalesce(outcome, 'running'), count(*) FROM turn GROUP BY outcome",
                )?,
                deliveries: counts(conn, "SELECT state, count(*) FROM delivery GROUP BY 1")?,
                deaths: counts(
                    conn,
                    "SELECT CASE WHEN exit IS NULL THEN 'unknown' WHEN json_extract(exit, '$.signal') IS NOT NULL
                     THEN 'signal' WHEN json_extract(exit, '$.code') = 0 THEN 'clean' WHEN json_extract(exit, '$.code')
                     IS NOT NULL THEN 'code' WHEN exit LIKE '%not_started%' THEN 'not_started' ELSE 'unknown' END, count(*)
                     FROM generation WHERE ended_at IS NOT NULL GROUP BY 1",
                )?,
                ..Figures::default()
            };
            figures.stalled = conn.query_row(
                "SELECT count(*) FROM turn WHERE failure = 'stalled'",
                [],
                |row| Ok(row.get::<_, Count>(0)?.0),
            )?;
            (figures.open_permissions, figures.oldest_permission) = conn.query_row(
                "SELECT count(*), min(asked_at) FROM permission
                 WHERE state = 'open' AND fold_no IS NOT NULL AND face_decision IS NULL",
                [],
                |row| Ok((row.get::<_, Count>(0)?.0, row.get::<_, Option<i64>>(1)?.map(Millis))),
            )?;
            conn.query_row(
                "SELECT total(input), total(output), total(cache_read), total(cache_write_5m), total(cache_write_1h),
                 total(usd), count(*) - count(usd) FROM spend",
                [],
                |row| {
                    // `total` is a real number, and does not overflow.
                    let whole = |at| Ok::<_, rusqlite::Error>(row.get::<_, f64>(at)? as u64);
                    figures.tokens = Tokens {
                        input: whole(0)?,
                        output: whole(1)?,
                        cache_read: whole(2)?,
                        cache_write_5m: whole(3)?,
                        cache_write_1h: whole(4)?,
                    };
                    figures.usd = row.get(5)?;
                    figures.unpriced = row.get::<_, Count>(6)?.0;
                    Ok(())
                },
            )?;
            Ok(figures)
        })
    }
}

fn counts(conn: &Connection, sql: &str) -> rusqlite::Result<Vec<(String, u64)>> {
    let mut statement = conn.prepare_cached(sql)?;
    statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, Count>(1)?.0)))?.collect()
}
