//! The end of one message, whatever else the session does.

use super::{ClientError, Ostler, Summary, Waited};
use claude_wire::{Frame, Message};
use ostler_core::ids::{DeliveryId, SessionId};
use ostler_core::rows::{DeliveryState, Outcome, Turn};
use ostler_store::db::DeliveryRow;
use std::time::Instant;

impl Ostler {
    /// Waits until a message has its end and the turn that it belongs to has settled. Where it was cut off and ostler
    /// goes on with it, until that is over. Other messages of the session may be under way then.
    ///
    /// # Errors
    /// [`ClientError::NoDelivery`]; as [`Ostler::wait`].
    pub fn wait_for(
        &self,
        session: SessionId,
        delivery: DeliveryId,
        deadline: Option<Instant>,
    ) -> Result<Waited, ClientError> {
        self.wait_until(session, deadline, || self.ended(session, delivery))
    }

    /// What to print when a message has its end: as [`Ostler::summary`], with its own turn, outcome and answer.
    ///
    /// # Errors
    /// [`ClientError::NoDelivery`]; the store or the journal can't be read.
    pub fn summary_of(&self, session: SessionId, delivery: DeliveryId) -> Result<Summary, ClientError> {
        let row = self.last_of(session, delivery)?;
        let rows = self.db().load_projection(session)?;
        let outcome = match row.state {
            DeliveryState::Completed => Outcome::Completed,
            DeliveryState::Failed => Outcome::Failed,
            DeliveryState::Cut => Outcome::Unfinished,
            _ => Outcome::Interrupted,
        };
        let turn = rows.turns.iter().find(|t| Some(t.no) == row.turn).cloned();
        // What went wrong in its turn is another message's where it ended otherwise.
        let turn = turn.map(|t| match t.outcome == Some(outcome) {
            true => t,
            false => Turn { outcome: Some(outcome), failure: None, message: None, ..t },
        });
        let of_turn =
            rows.spend.iter().filter(|s| turn.as_ref().is_some_and(|t| t.generation == s.generation));
        let turn_usd = of_turn.map(|s| s.usd).sum();
        let answer = self.text_of_answer(session, &row)?;
        Ok(Summary { outcome: Some(outcome), turn, turn_usd, answer, ..self.summary(session)? })
    }

    /// One look: what a wait for this message would come to now.
    fn ended(&self, session: SessionId, delivery: DeliveryId) -> Result<Option<Waited>, ClientError> {
        let row = self.last_of(session, delivery)?;
        if !row.state.is_final() {
            // Of a session that takes nothing any more, what the whole session comes to.
            let (record, _) = self.db().record(session)?;
            return if record.online() { Ok(None) } else { self.settled(session) };
        }
        let Some(no) = row.turn else { return Ok(Some(Waited::Settled(None))) };
        let turn = self.db().load_projection(session)?.turns.into_iter().find(|t| t.no == no);
        Ok(turn.filter(|t| t.settled_at.is_some()).map(|t| Waited::Settled(Some(t))))
    }

    /// The message, or the last one with which ostler went on with it.
    fn last_of(&self, session: SessionId, delivery: DeliveryId) -> Result<DeliveryRow, ClientError> {
        let all = self.db().deliveries(session)?;
        let mut found = all.iter().find(|d| d.id == delivery);
        // Each one is younger than what it goes on with, so this ends.
        for row in &all {
            if found.is_some_and(|f| row.continues == Some(f.id)) {
                found = Some(row);
            }
        }
        found.cloned().ok_or(ClientError::NoDelivery { session, delivery })
    }

    fn text_of_answer(&self, session: SessionId, row: &DeliveryRow) -> Result<Option<String>, ClientError> {
        let (Some((start, end)), Some(no)) = (row.answer, row.generation) else { return Ok(None) };
        let files = self.home().session(session).generation(no);
        let bytes = ostler_store::journal::read_range(&files, start, end)
            .map_err(|source| ClientError::Journal { session, source: Box::new(source) })?;
        Ok(match Frame::from_vec(bytes).into_message() {
            Message::Result(line) => line.result,
            _ => None,
        })
    }
}
