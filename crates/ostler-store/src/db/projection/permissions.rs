//! The journal's half of the table `permission`. The other half is what a face decided.

use super::Folded;
use crate::db::columns::{Count, Id, Word};
use crate::db::permissions::read_journal;
use ostler_core::ids::{GenerationNo, SessionId};
use ostler_core::rows::Permission;
use rusqlite::{Connection, Transaction, params};

impl Folded for Permission {
    type Key = (GenerationNo, String);

    const KIND: &'static str = "permission";

    fn key(&self) -> Self::Key {
        (self.generation, self.request_id.clone())
    }

    fn load(conn: &Connection, session: SessionId) -> rusqlite::Result<Vec<Self>> {
        conn.prepare_cached(
            "SELECT generation, request_id, kind, tool, tool_use_id, line_start, line_end, state, decision, decided_by,
             message, withdrawn, input, always, interrupt, asked_at, exhausted, call FROM permission WHERE session = ?1 AND fold_no IS NOT NULL ORDER BY fold_no",
        )?
        .query_map([Id(session)], read_journal)?
        .collect()
    }

    fn put(&self, tx: &Transaction<'_>, session: SessionId, no: usize) -> rusqlite::Result<()> {
        let Self {
            generation,
            request_id,
            kind,
            tool,
            tool_use_id,
            line,
            state,
            decision,
            decided_by,
            message,
            withdrawn,
            input,
            always,
            interrupt,
            asked_at,
            exhausted,
            call,
        } = self;
        tx.prepare_cached(
            "INSERT INTO permission (session, generation, request_id, fold_no, kind, tool, tool_use_id, line_start,
             line_end, state, decision, decided_by, message, withdrawn, input, always, interrupt, asked_at, exhausted,
             call) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)
             ON CONFLICT (session, generation, request_id) DO UPDATE SET fold_no = excluded.fold_no,
             kind = excluded.kind, tool = excluded.tool, tool_use_id = excluded.tool_use_id,
             line_start = excluded.line_start, line_end = excluded.line_end, state = excluded.state,
             decision = excluded.decision, decided_by = excluded.decided_by, message = excluded.message,
             withdrawn = excluded.withdrawn, input = excluded.input, always = excluded.always,
             interrupt = excluded.interrupt, asked_at = excluded.asked_at, exhausted = excluded.exhausted,
             call = excluded.call",
        )?
        .execute(params![
            Id(session),
            generation,
            request_id,
            Count(no as u64),
            Word(kind),
            tool,
            tool_use_id,
            Count(line.0),
            Count(line.1),
            Word(state),
            decision.map(Word),
            decided_by,
            message,
            withdrawn,
            input,
            always,
            interrupt,
            asked_at.map(|at| at.0),
            exhausted,
            call,
        ])?;
        Ok(())
    }

    fn remove(tx: &Transaction<'_>, session: SessionId, key: &Self::Key) -> rusqlite::Result<()> {
        tx.prepare_cached(
            "DELETE FROM permission
             WHERE session = ?1 AND generation = ?2 AND request_id = ?3 AND face_decision IS NULL",
        )?
        .execute(params![Id(session), key.0, key.1])?;
        tx.prepare_cached(
            "UPDATE permission SET fold_no = NULL WHERE session = ?1 AND generation = ?2 AND request_id = ?3",
        )?
        .execute(params![Id(session), key.0, key.1])?;
        Ok(())
    }
}
