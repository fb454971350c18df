//! The table `spend`.

use super::Folded;
use crate::db::columns::{Count, Id, Word};
use ostler_core::ids::{GenerationNo, SessionId};
use ostler_core::rows::{Spend, Tokens};
use rusqlite::{Connection, Row, Transaction, params};

impl Folded for Spend {
    type Key = (GenerationNo, String);

    const KIND: &'static str = "spend";

    fn key(&self) -> Self::Key {
        (self.generation, self.model.clone())
    }

    fn load(conn: &Connection, session: SessionId) -> rusqlite::Result<Vec<Self>> {
        conn.prepare_cached(
            "SELECT generation, model, input, output, cache_read, cache_write_5m, cache_write_1h, usd, method,
             baseline_usd FROM spend WHERE session = ?1 ORDER BY fold_no",
        )?
        .query_map([Id(session)], read)?
        .collect()
    }

    fn put(&self, tx: &Transaction<'_>, session: SessionId, no: usize) -> rusqlite::Result<()> {
        let Self { generation, model, tokens, usd, method, baseline_usd } = self;
        let Tokens { input, output, cache_read, cache_write_5m, cache_write_1h } = *tokens;
        tx.prepare_cached(
            "INSERT OR REPLACE INTO spend (session, generation, model, fold_no, input, output, cache_read,
             cache_write_5m, cache_write_1h, usd, method, baseline_usd)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        )?
        .execute(params![
            Id(session),
            generation,
            model,
            Count(no as u64),
            Count(input),
            Count(output),
            Count(cache_read),
            Count(cache_write_5m),
            Count(cache_write_1h),
            usd,
            Word(method),
            baseline_usd,
        ])?;
        Ok(())
    }

    fn remove(tx: &Transaction<'_>, session: SessionId, key: &Self::Key) -> rusqlite::Result<()> {
        tx.prepare_cached("DELETE FROM spend WHERE session = ?1 AND generation = ?2 AND model = ?3")?
            .execute(params![Id(session), key.0, key.1])?;
        Ok(())
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Spend> {
    let count = |column: &str| row.get::<_, Count>(column).map(|count| count.0);
    Ok(Spend {
        generation: row.get("generation")?,
        model: row.get("model")?,
        tokens: Tokens {
            input: count("input")?,
            output: count("output")?,
            cache_read: count("cache_read")?,
            cache_write_5m: count("cache_write_5m")?,
            cache_write_1h: count("cache_write_1h")?,
        },
        usd: row.get("usd")?,
        method: row.get::<_, Word<_>>("method")?.0,
        baseline_usd: row.get("baseline_usd")?,
    })
}
