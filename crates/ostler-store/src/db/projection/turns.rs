//! The table `turn`.

use super::Folded;
use crate::db::columns::{Id, Word, ends, range, word};
use ostler_core::ids::{Millis, SessionId, TurnNo};
use ostler_core::rows::Turn;
use rusqlite::{Connection, Row, Transaction, params};

impl Folded for Turn {
    type Key = TurnNo;

    const KIND: &'static str = "turn";

    fn key(&self) -> TurnNo {
        self.no
    }

    fn load(conn: &Connection, session: SessionId) -> rusqlite::Result<Vec<Self>> {
        conn.prepare_cached(
            "SELECT no, generation, started_at, settled_at, outcome, failure, message, results, rounds, denials,
             killed_tasks, unclean, garbled, answer_start, answer_end FROM turn WHERE session = ?1 ORDER BY no",
        )?
        .query_map([Id(session)], read)?
        .collect()
    }

    fn put(&self, tx: &Transaction<'_>, session: SessionId, _no: usize) -> rusqlite::Result<()> {
        let Self {
            no,
            generation,
            started_at,
            settled_at,
            outcome,
            failure,
            message,
            results,
            rounds,
            denials,
            killed_tasks,
            unclean,
            garbled,
            answer,
        } = self;
        let (answer_start, answer_end) = ends(*answer);
        tx.prepare_cached(
            "INSERT OR REPLACE INTO turn (session, no, generation, started_at, settled_at, outcome, failure, message,
             results, rounds, denials, killed_tasks, unclean, garbled, answer_start, answer_end)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
        )?
        .execute(params![
            Id(session),
            no,
            generation,
            started_at.0,
            settled_at.map(|at| at.0),
            outcome.map(Word),
            failure,
            message,
            results,
            rounds,
            denials,
            killed_tasks,
            unclean,
            garbled,
            answer_start,
            answer_end,
        ])?;
        Ok(())
    }

    fn remove(tx: &Transaction<'_>, session: SessionId, no: &TurnNo) -> rusqlite::Result<()> {
        tx.prepare_cached("DELETE FROM turn WHERE session = ?1 AND no = ?2")?
            .execute(params![Id(session), no])?;
        Ok(())
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Turn> {
    Ok(Turn {
        no: row.get("no")?,
        generation: row.get("generation")?,
        started_at: Millis(row.get("started_at")?),
        settled_at: row.get::<_, Option<i64>>("settled_at")?.map(Millis),
        outcome: word(row, "outcome")?,
        failure: row.get("failure")?,
        message: row.get("message")?,
        results: row.get("results")?,
        rounds: row.get("rounds")?,
        denials: row.get("denials")?,
        killed_tasks: row.get("killed_tasks")?,
        unclean: row.get("unclean")?,
        garbled: row.get("garbled")?,
        answer: range(row, "answer_start", "answer_end")?,
    })
}
