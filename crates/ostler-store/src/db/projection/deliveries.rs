//! The journal's half of the table `delivery`. The other half is what a face accepted.

use super::Folded;
use crate::db::columns::{Count, Id, Word, ends, range};
use crate::db::deliveries::{Body, Mode};
use ostler_core::ids::{DeliveryId, Millis, SessionId};
use ostler_core::rows::{Delivery, DeliveryState};
use rusqlite::{Connection, Row, Transaction, params};

impl Folded for Delivery {
    type Key = DeliveryId;

    const KIND: &'static str = "delivery";

    fn key(&self) -> DeliveryId {
        self.id
    }

    fn load(conn: &Connection, session: SessionId) -> rusqlite::Result<Vec<Self>> {
        conn.prepare_cached(
            "SELECT id, state, generation, turn, written_at, answer_start, answer_end
             FROM delivery WHERE session = ?1 AND fold_no IS NOT NULL ORDER BY fold_no",
        )?
        .query_map([Id(session)], read)?
        .collect()
    }

    fn put(&self, tx: &Transaction<'_>, session: SessionId, no: usize) -> rusqlite::Result<()> {
        let Self { id, state, generation, turn, written_at, answer } = self;
        let (answer_start, answer_end) = ends(*answer);
        // A row that isn't there was lost with an older database; what it said is in the transcript.
        tx.prepare_cached(
            "INSERT INTO delivery (id, session, place, body_len, mode, created_at,
             state, fold_no, generation, turn, written_at, answer_start, answer_end)
             VALUES (?1, ?2, ?3, 0, ?4, ?5, ?6, ?7, ?8, ?9, ?5, ?10, ?11)
             ON CONFLICT (id) DO UPDATE SET state = excluded.state, fold_no = excluded.fold_no,
             generation = excluded.generation, turn = excluded.turn, written_at = excluded.written_at,
             answer_start = excluded.answer_start, answer_end = excluded.answer_end",
        )?
        .execute(params![
            Id(*id),
            Id(session),
            Word(Body::Lost),
            Word(Mode::Auto),
            written_at.0,
            Word(state),
            Count(no as u64),
            generation,
            turn,
            answer_start,
            answer_end,
        ])?;
        Ok(())
    }

    fn remove(tx: &Transaction<'_>, session: SessionId, id: &DeliveryId) -> rusqlite::Result<()> {
        tx.prepare_cached("DELETE FROM delivery WHERE session = ?1 AND id = ?2 AND place = ?3")?
            .execute(params![Id(session), Id(*id), Word(Body::Lost)])?;
        tx.prepare_cached(
            "UPDATE delivery SET state = ?3, fold_no = NULL, generation = NULL, turn = NULL, written_at = NULL,
             answer_start = NULL, answer_end = NULL WHERE session = ?1 AND id = ?2",
        )?
        .execute(params![Id(session), Id(*id), Word(DeliveryState::Accepted)])?;
        Ok(())
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Delivery> {
    Ok(Delivery {
        id: row.get::<_, Id<_>>("id")?.0,
        state: row.get::<_, Word<_>>("state")?.0,
        generation: row.get("generation")?,
        turn: row.get("turn")?,
        written_at: Millis(row.get("written_at")?),
        answer: range(row, "answer_start", "answer_end")?,
    })
}
