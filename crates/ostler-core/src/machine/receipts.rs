//! How far each delivery has come.
//!
//! Current CLIs say it by `command_lifecycle`. Older ones replay a message when they take it up, and its turn's
//! `result` is its end.

use super::Machine;
use super::outcome::Verdict;
use crate::ids::{DeliveryId, GenerationNo, Millis};
use crate::rows::{Delivery, DeliveryState, Outcome};
use claude_wire::{Lifecycle, LifecycleState};

impl Machine {
    /// A delivery's line is being written to the current child.
    pub(super) fn offered(&mut self, id: DeliveryId, at: Millis) {
        let generation = self.generation();
        let turn = self.open_turn().unwrap_or_default();
        match self.rows.deliveries.iter_mut().find(|d| d.id == id) {
            Some(row) if row.generation == generation => {}
            Some(row) => {
                row.generation = generation;
                row.turn = turn;
                row.state = DeliveryState::Written;
                row.answer = None;
                *self.attempts.entry(id).or_default() += 1;
            }
            None => {
                let state = DeliveryState::Written;
                self.rows.deliveries.push(Delivery {
                    id,
                    state,
                    generation,
                    turn,
                    written_at: at,
                    answer: None,
                });
                self.attempts.insert(id, 1);
            }
        }
    }

    pub(super) fn on_lifecycle(&mut self, line: &Lifecycle) {
        self.with_child(|c| c.observed.lifecycle = true);
        let verdict = self.child.as_ref().and_then(|c| c.verdict.clone());
        let Some(row) = self.delivery_of(&line.command_uuid) else { return };
        let answer = row.answer.is_some();
        let next = match &line.state {
            LifecycleState::Queued => DeliveryState::Queued,
            LifecycleState::Started => DeliveryState::Started,
            LifecycleState::Completed => match (row.state, &verdict) {
                // Known to the transcript, and nothing runs: its turn was cut off in an earlier process.
                (DeliveryState::Written, _) if !answer => DeliveryState::Cut,
                (_, Some(v)) => final_state(v),
                (_, None) => DeliveryState::Completed,
            },
            LifecycleState::Cancelled => match &verdict {
                Some(v) if answer && v.outcome == Outcome::Failed => DeliveryState::Failed,
                _ => DeliveryState::Cancelled,
            },
            LifecycleState::Discarded => DeliveryState::Discarded,
            LifecycleState::Refused => DeliveryState::Failed,
            LifecycleState::Other(_) => return,
        };
        advance(row, next);
        if next == DeliveryState::Started {
            self.taken_up();
        }
    }

    /// An older CLI takes a message up.
    pub(super) fn on_replay(&mut self, uuid: &str) {
        if self.child.as_ref().is_some_and(|c| c.observed.lifecycle) {
            return;
        }
        if let Some(row) = self.delivery_of(uuid) {
            advance(row, DeliveryState::Started);
            self.taken_up();
        }
    }

    /// The model works on it from now on.
    fn taken_up(&mut self) {
        self.with_child(|c| c.segment_open = true);
    }

    /// A result came. It answers the deliveries it names; where it names none, every one that was taken up.
    pub(super) fn answered(&mut self, uuids: &[String], answer: (u64, u64), verdict: &Verdict) {
        let by_receipt = self.child.as_ref().is_some_and(|c| c.observed.lifecycle);
        let generation = self.generation();
        for row in
            self.rows.deliveries.iter_mut().filter(|d| d.generation == generation && !d.state.is_final())
        {
            let named = uuids.iter().any(|u| u.eq_ignore_ascii_case(&row.id.to_string()));
            if named || (uuids.is_empty() && row.state == DeliveryState::Started) {
                row.answer = Some(answer);
                if !by_receipt {
                    advance(row, final_state(verdict));
                }
            }
        }
    }

    /// The child was quiet for long enough: what it took up is taken for answered. Where it sends no receipts, that
    /// is everything it was given.
    pub(super) fn count_as_answered(&mut self) {
        let Some(child) = &self.child else { return };
        let state = child.verdict.as_ref().map_or(DeliveryState::Completed, final_state);
        let receipts = child.observed.lifecycle;
        let (generation, answer) = (self.generation(), self.rows.turns.last().and_then(|t| t.answer));
        for row in self.rows.deliveries.iter_mut().filter(|d| d.generation == generation) {
            if !row.state.is_final() && (!receipts || row.state == DeliveryState::Started) {
                row.answer = row.answer.or(answer);
                row.state = state;
            }
        }
    }

    /// Every delivery that was written to the current child is final.
    pub(super) fn all_final(&self) -> bool {
        let generation = self.generation();
        self.rows.deliveries.iter().filter(|d| d.generation == generation).all(|d| d.state.is_final())
    }

    /// True when this child was already given the delivery.
    pub(super) fn was_offered(&self, id: DeliveryId, generation: GenerationNo) -> bool {
        self.rows.deliveries.iter().any(|d| d.id == id && d.generation == generation)
    }

    fn delivery_of(&mut self, uuid: &str) -> Option<&mut Delivery> {
        let id: DeliveryId = uuid.parse().ok()?;
        let generation = self.generation();
        self.rows.deliveries.iter_mut().find(|d| d.id == id && d.generation == generation)
    }
}

/// A final state stays; anything else only moves on.
fn advance(row: &mut Delivery, next: DeliveryState) {
    if !row.state.is_final() && (next.is_final() || next > row.state) {
        row.state = next;
    }
}

pub(super) fn final_state(verdict: &Verdict) -> DeliveryState {
    match verdict.outcome {
        Outcome::Completed => DeliveryState::Completed,
        Outcome::Interrupted => DeliveryState::Cancelled,
        Outcome::Failed | Outcome::Unfinished => DeliveryState::Failed,
    }
}
