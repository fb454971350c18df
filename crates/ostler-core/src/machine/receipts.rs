//! How far each delivery has come.
//!
//! Current CLIs say it by `command_lifecycle`; the `result` of the segment says whether it went well. Older ones
//! (2.1.200) replay a message when they take it up, or when they drop it because they had it before; there its end
//! is the next `result`, and what has none by the time the child is at rest was dropped.

use super::Machine;
use super::child::Child;
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
            Some(row) if row.generation == generation || row.state.is_final() => return,
            Some(row) => {
                row.generation = generation;
                row.turn = turn;
                row.state = DeliveryState::Written;
                row.answer = None;
                *self.attempts.entry(id).or_default() += 1;
                self.with_child(|c| c.reoffered = true);
            }
            None => {
                let state = DeliveryState::Written;
                let written_at = at;
                self.rows.deliveries.push(Delivery { id, state, generation, turn, written_at, answer: None });
                self.attempts.insert(id, 1);
            }
        }
        self.with_child(|c| c.since_result.push(id));
    }

    pub(super) fn on_lifecycle(&mut self, line: &Lifecycle) {
        let first = self.child.as_mut().is_some_and(|c| !std::mem::replace(&mut c.observed.lifecycle, true));
        let Some((id, state)) = self.delivery_of(&line.command_uuid).map(|row| (row.id, row.state)) else {
            return;
        };
        if first && line.state == LifecycleState::Completed && self.replay_meant_nothing(id) {
            return;
        }
        match &line.state {
            LifecycleState::Queued => self.advance(id, DeliveryState::Queued),
            LifecycleState::Started => {
                self.advance(id, DeliveryState::Started);
                self.taken_up();
            }
            LifecycleState::Completed | LifecycleState::Cancelled => self.ended(id, state, &line.state),
            // It had to make room for another message; this one goes to the next child as well.
            LifecycleState::Discarded if self.child.as_ref().is_some_and(Child::made_room) => {}
            LifecycleState::Discarded => self.advance(id, DeliveryState::Discarded),
            LifecycleState::Refused => self.advance(id, DeliveryState::Failed),
            LifecycleState::Other(_) => {}
        }
        self.interrupt_over_at_rest();
    }

    /// 2.1.332 replays a message that it knows from an earlier process, and then says `completed` without having
    /// begun anything (seen behind the lab): its turn was cut off there.
    fn replay_meant_nothing(&mut self, id: DeliveryId) -> bool {
        let begun = self.child.as_ref().is_some_and(|c| c.observed.init || c.verdicts.contains_key(&id));
        if !begun {
            self.with_child(|c| c.segment_open = false);
            self.advance(id, DeliveryState::Cut);
        }
        !begun
    }

    /// `completed` or `cancelled`. A steered message has it before its result, all others behind.
    fn ended(&mut self, id: DeliveryId, state: DeliveryState, receipt: &LifecycleState) {
        let Some(child) = &mut self.child else { return };
        let next = match child.verdicts.get(&id) {
            Some(verdict) => with_receipt(receipt, Some(verdict)),
            None if state == DeliveryState::Started && child.segment_open => {
                child.early_receipts.insert(id, receipt.clone());
                return;
            }
            // Known to the transcript, and nothing runs: its turn was cut off in an earlier process.
            None if state < DeliveryState::Started && *receipt == LifecycleState::Completed => {
                DeliveryState::Cut
            }
            None => with_receipt(receipt, None),
        };
        self.advance(id, next);
    }

    /// An older CLI takes a message up.
    pub(super) fn on_replay(&mut self, id: DeliveryId) {
        if self.child.as_ref().is_some_and(|c| c.observed.lifecycle) {
            return;
        }
        self.advance(id, DeliveryState::Started);
        self.taken_up();
    }

    /// The model works on it from now on.
    fn taken_up(&mut self) {
        self.with_child(|c| {
            c.segment_open = true;
            c.quiet_expired = false;
        });
        self.interrupt_outrun();
    }

    /// A result came. It answers the deliveries that it names; where it names none, every one that was taken up.
    /// True when it answered any.
    pub(super) fn answered(&mut self, uuids: &[String], answer: (u64, u64), verdict: &Verdict) -> bool {
        let Some(child) = &mut self.child else { return false };
        let no = child.no;
        let mut any = false;
        for row in self.rows.deliveries.iter_mut().filter(|d| d.generation == no && !d.state.is_final()) {
            let named = uuids.iter().any(|u| u.parse() == Ok(row.id));
            // One that has its result and still waits for its receipt has nothing to do with a later result.
            let taken_up = uuids.is_empty()
                && row.state == DeliveryState::Started
                && !child.verdicts.contains_key(&row.id);
            if !named && !taken_up {
                continue;
            }
            any = true;
            row.answer = Some(answer);
            if let Some(receipt) = child.early_receipts.remove(&row.id) {
                row.state = with_receipt(&receipt, Some(verdict));
            } else if child.observed.lifecycle {
                child.verdicts.insert(row.id, verdict.clone());
            } else {
                row.state = final_state(verdict);
            }
        }
        any
    }

    /// The result of a local command (`/clear`, …) on a CLI without receipts, which doesn't replay such a message either:
    /// it is the answer to the first one that was written and not taken up.
    pub(super) fn answered_locally(&mut self, answer: (u64, u64), verdict: &Verdict) -> bool {
        let Some(child) = self.child.as_ref().filter(|c| !c.observed.lifecycle) else { return false };
        let no = child.no;
        let mut open = self.rows.deliveries.iter_mut().filter(|d| d.generation == no && !d.state.is_final());
        let Some(row) = open.next() else { return false };
        row.answer = Some(answer);
        row.state = final_state(verdict);
        true
    }

    /// The child is idle. Without receipts, what it took up and did not answer was dropped: it replays what it knows from
    /// an earlier process, and runs nothing (2.1.200, seen behind the lab).
    pub(super) fn drop_unanswered(&mut self) {
        let Some(child) = self.child.as_ref().filter(|c| !c.observed.lifecycle) else { return };
        let no = child.no;
        for row in self.rows.deliveries.iter_mut().filter(|d| d.generation == no) {
            if row.state == DeliveryState::Started {
                row.state = DeliveryState::Cut;
            }
        }
    }

    /// Whatever had its receipt in a segment whose result never came, or was not named by it.
    pub(super) fn settle_early_receipts(&mut self) {
        let Some(child) = &mut self.child else { return };
        for (id, receipt) in std::mem::take(&mut child.early_receipts) {
            self.advance(id, with_receipt(&receipt, None));
        }
    }

    /// The child has read everything and was quiet for long enough. What had a result behind it is taken for
    /// answered; where there are no receipts, what had none was dropped: the child knew it from an earlier process.
    pub(super) fn count_as_answered(&mut self) {
        let Some(child) = &self.child else { return };
        let (no, receipts, read_all) = (child.no, child.observed.lifecycle, child.read_all);
        let counted = child.verdict.as_ref().map(final_state);
        let answer = self.rows.turns.last().and_then(|t| t.answer);
        for row in self.rows.deliveries.iter_mut().filter(|d| d.generation == no && !d.state.is_final()) {
            let has_result = !child.since_result.contains(&row.id);
            match counted {
                Some(state) if has_result && (!receipts || row.state == DeliveryState::Started) => {
                    row.answer = row.answer.or(answer);
                    row.state = child.verdicts.get(&row.id).map_or(state, final_state);
                }
                _ if !receipts && read_all => row.state = DeliveryState::Cut,
                _ => {}
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

    /// Nothing more will happen to it.
    pub(super) fn is_final(&self, id: DeliveryId) -> bool {
        self.rows.deliveries.iter().any(|d| d.id == id && d.state.is_final())
    }

    /// The delivery that a uuid of the current child's output names.
    pub(super) fn delivery_of(&self, uuid: &str) -> Option<&Delivery> {
        let id: DeliveryId = uuid.parse().ok()?;
        let generation = self.generation();
        self.rows.deliveries.iter().find(|d| d.id == id && d.generation == generation)
    }

    /// A final state stays; anything else only moves on.
    pub(super) fn advance(&mut self, id: DeliveryId, next: DeliveryState) {
        let Some(row) = self.rows.deliveries.iter_mut().find(|d| d.id == id) else { return };
        if !row.state.is_final() && (next.is_final() || next > row.state) {
            row.state = next;
        }
        if next.is_final() {
            self.with_child(|c| {
                c.verdicts.remove(&id);
                c.early_receipts.remove(&id);
            });
        }
    }

    /// What a dead child's deliveries come to. One without an end is offered to the next generation under the same
    /// uuid, unless it was answered, or somebody stopped it, or offering it again would only repeat the failure.
    pub(super) fn leave_deliveries(&mut self, refused: bool) {
        let Some(child) = &self.child else { return };
        let interrupted = self.interrupted_deliveries(child);
        let stalled = child.watch.is_stalled() && !child.told_to_stop();
        let most = self.limits.attempts;
        for row in self.rows.deliveries.iter_mut().filter(|d| d.generation == child.no && !d.state.is_final())
        {
            let attempts = self.attempts.get(&row.id).copied().unwrap_or_default();
            if let Some(verdict) = child.verdicts.get(&row.id) {
                row.state = final_state(verdict);
            } else if interrupted.contains(&row.id) {
                row.state = if stalled { DeliveryState::Failed } else { DeliveryState::Cancelled };
            } else if refused || attempts >= most {
                row.state = DeliveryState::Failed;
            } else if row.state == DeliveryState::Started {
                self.begun.insert(row.id);
            }
        }
    }

    /// The session is closed: nothing will ever answer what has no end.
    pub(super) fn take_everything_back(&mut self) {
        let open: Vec<_> =
            self.rows.deliveries.iter().filter(|d| !d.state.is_final()).map(|d| d.id).collect();
        open.into_iter().for_each(|id| self.taken_back(id));
    }

    /// What must never run again by itself: everything, when the child was told to stop; else what an interrupt was
    /// meant for, which is what had been taken up, or the first in line. Messages that were kept in the queue behind
    /// it are offered again.
    fn interrupted_deliveries(&self, child: &Child) -> Vec<DeliveryId> {
        let open = || self.rows.deliveries.iter().filter(|d| d.generation == child.no && !d.state.is_final());
        let mut all: Vec<_> = open().map(|d| d.id).collect();
        if child.told_to_stop() {
            return all;
        }
        let stalled = child.watch.is_stalled();
        if !child.being_stopped() && !stalled {
            return Vec::new();
        }
        let started: Vec<_> = open().filter(|d| d.state == DeliveryState::Started).map(|d| d.id).collect();
        // What a stalled child had not begun is not what it stalled on: the next one gets it.
        if started.is_empty() && !child.made_room() && !stalled {
            all.truncate(1);
            return all;
        }
        started
    }
}

/// What a receipt says together with the result of its segment.
fn with_receipt(receipt: &LifecycleState, verdict: Option<&Verdict>) -> DeliveryState {
    match (receipt, verdict) {
        (LifecycleState::Completed, Some(verdict)) => final_state(verdict),
        (LifecycleState::Completed, None) => DeliveryState::Completed,
        // An API failure gives `cancelled` too (protocol page).
        (_, Some(verdict)) if verdict.outcome == Outcome::Failed => DeliveryState::Failed,
        _ => DeliveryState::Cancelled,
    }
}

pub(super) fn final_state(verdict: &Verdict) -> DeliveryState {
    match verdict.outcome {
        Outcome::Completed => DeliveryState::Completed,
        Outcome::Interrupted => DeliveryState::Cancelled,
        Outcome::Failed | Outcome::Unfinished => DeliveryState::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::Machine;
    use crate::ctl::{Baseline, Event, Line, Row};
    use crate::ids::{ConversationId, DeliveryId, Millis};
    use crate::limits::Limits;
    use crate::rows::DeliveryState;
    use claude_wire::Frame;
    use uuid::Uuid;

    const DELIVERY: DeliveryId = DeliveryId(Uuid::from_u128(7));

    /// A child that was given [`DELIVERY`] says these lines.
    fn after(lines: &[String]) -> Machine {
        let mut machine = Machine::new(ConversationId(Uuid::from_u128(1)), Limits::default());
        let spawn = Event::Spawn {
            generation: 1,
            delivery: DELIVERY,
            conversation: ConversationId(Uuid::from_u128(1)),
            resume: true,
            baseline: Baseline::default(),
            version: String::new(),
        };
        let begin =
            Event::Begin { write: 1, line: Line::User { delivery: DELIVERY }, len: 1, hash: String::new() };
        for ev in [spawn, begin, Event::Done { write: 1 }] {
            machine.row(&Row { at: Millis(1), off: 0, ev }, 1);
        }
        let mut end = 0;
        for line in lines {
            let start = end;
            end += line.len() as u64 + 1;
            machine.out((start, end), &Frame::parse(line.as_bytes()), 2);
        }
        machine
    }

    /// 2.1.240 names no prompts on its results.
    #[test]
    fn a_result_answers_nothing_that_has_its_result_and_no_receipt_yet() {
        let started = format!(
            r#"{{"type":"command_lifecycle","command_uuid":"{DELIVERY}","state":"started","uuid":"a"}}"#
        );
        let good = r#"{"type":"result","subtype":"success","is_error":false,"uuid":"b"}"#;
        let bad = r#"{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error","uuid":"c"}"#;
        let completed = format!(
            r#"{{"type":"command_lifecycle","command_uuid":"{DELIVERY}","state":"completed","uuid":"d"}}"#
        );
        let machine = after(&[started, good.to_owned(), bad.to_owned(), completed]);
        assert_eq!(machine.rows().deliveries[0].state, DeliveryState::Completed);
    }

    #[test]
    fn a_message_that_is_replayed_and_completed_without_a_turn_was_cut_off_earlier() {
        let replay = format!(
            r#"{{"type":"user","message":{{"role":"user","content":"go"}},"uuid":"{DELIVERY}","isReplay":true}}"#
        );
        let completed = format!(
            r#"{{"type":"command_lifecycle","command_uuid":"{DELIVERY}","state":"completed","uuid":"a"}}"#
        );
        let idle =
            r#"{"type":"system","subtype":"session_state_changed","state":"idle","uuid":"b"}"#.to_owned();
        let machine = after(&[replay, completed, idle]);
        assert_eq!(machine.rows().deliveries[0].state, DeliveryState::Cut);
    }
}
