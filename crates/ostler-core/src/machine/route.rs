//! A delivery becomes a steer, a feed or a wake. ostler decides, not the caller.

use super::child::Child;
use super::decide::{Action, Mode, Pending, Wish, World};
use super::{InterruptStatus, Machine, Phase};
use crate::ctl::EndReason;

impl Machine {
    /// The first delivery that the current child was not given. What an earlier child was given goes first, in the order
    /// in which that one had it: what it had begun with stands at their head then, and an older CLI drops such a one by
    /// a replay, which must not fall into another one's turn. Whether it had begun can't be told: it says nothing of a
    /// `/clear`. Then those that say `now`.
    pub(super) fn next_pending<'w>(&self, pending: &'w [Pending]) -> Option<&'w Pending> {
        let no = self.child.as_ref().filter(|c| c.phase != Phase::Cold).map(|c| c.no);
        let fresh = |p: &&Pending| no.is_none_or(|no| !self.was_offered(p.id, no)) && !self.is_final(p.id);
        let written = |id| self.rows.deliveries.iter().position(|d| d.id == id);
        pending.iter().filter(fresh).min_by_key(|p| match (written(p.id), p.mode) {
            (Some(place), _) => (0, place),
            (None, Mode::Now) => (1, 0),
            (None, Mode::Auto | Mode::Queue) => (2, 0),
        })
    }

    /// The interrupt that the next delivery asks for, because it says `now` and something runs. Its id follows from the
    /// delivery, so that each is interrupted for once, whoever looks.
    #[must_use]
    pub fn now_wish(&self, pending: &[Pending]) -> Option<Wish> {
        let child = self.child.as_ref().filter(|c| c.phase == Phase::Resident && c.ending.is_none())?;
        let next = self.next_pending(pending).filter(|next| self.must_break_off(child, next))?;
        let free = !child.breaks_off(self.all_final());
        free.then(|| Wish { request_id: now_request(next), cancel_queued: false })
    }

    /// What runs is to be broken off before this is written, and was not yet.
    fn must_break_off(&self, child: &Child, next: &Pending) -> bool {
        let busy = self.open_turn().is_some() && (child.segment_open || !self.all_final());
        let unsent = || child.interrupt_status(&now_request(next)) == InterruptStatus::NotSent;
        next.mode == Mode::Now && busy && unsent()
    }

    /// Everything is said and only background tasks keep the turn from settling, which may take hours. Where nothing
    /// keeps it, a message of its own turn waits for that.
    fn rests_beside_tasks(&self, child: &Child) -> bool {
        let tasks = child.tasks.any_live() && child.tasks.waiting_since().is_none();
        !child.segment_open && self.all_final() && tasks
    }

    /// **Steer** into the running turn, or **feed** a child that is at rest; None when it has to wait. Nothing is
    /// given to a child whose agent has declared: what comes then is a wake.
    pub(super) fn route(&self, world: &World<'_>) -> Option<Action> {
        let child = self.child.as_ref().filter(|c| c.phase == Phase::Resident && c.ending.is_none())?;
        let next = self.next_pending(world.pending)?;
        let fresh = child.first_write.is_none();
        if world.declared && !fresh {
            return None;
        }
        let fits = next.line_len <= world.pipe_capacity;
        let steers = self.open_turn().is_some();
        if world.limited && !steers {
            return None;
        }
        if !fits && !fresh {
            // A longer line may only be the first of a fresh generation: one that is cut off spoils the pipe.
            return (!steers).then_some(Action::End { why: EndReason::Settled });
        }
        let waits = match next.mode {
            Mode::Queue => !self.rests_beside_tasks(child),
            Mode::Now => self.must_break_off(child, next),
            Mode::Auto => false,
        };
        if steers && (waits || child.breaks_off(self.all_final())) {
            return None;
        }
        Some(Action::WriteUser { delivery: next.id })
    }

    /// A delivery waits behind a declared record, and for how long its old child may still talk.
    pub(super) fn waits_for_the_declared(&self, world: &World<'_>) -> bool {
        let old = self.child.as_ref().is_some_and(|c| c.first_write.is_some());
        world.declared && old && self.next_pending(world.pending).is_some()
    }

    /// **Wake**: a generation for the next delivery.
    pub(super) fn wake(&self, world: &World<'_>) -> Option<Action> {
        let next =
            self.next_pending(world.pending).filter(|_| !world.hold && !world.limited && !world.stop)?;
        let may = world.pending.iter().any(|p| self.may_wake(p) && !self.is_final(p.id));
        may.then_some(Action::Spawn { delivery: next.id })
    }

    /// A parked session is woken by what was accepted after it was parked: somebody acted.
    pub(super) fn may_wake(&self, pending: &Pending) -> bool {
        let Some(parked) = &self.parked else { return true };
        match parked.seen {
            Some(seen) => pending.seq > seen,
            None => pending.accepted_at > parked.at,
        }
    }
}

/// The request id of the interrupt for a delivery that says `now`.
fn now_request(next: &Pending) -> String {
    format!("ostler-now-{}", next.id)
}

#[cfg(test)]
mod tests {
    use super::{Machine, Mode, Pending};
    use crate::ctl::{Event, Row};
    use crate::ids::{ConversationId, DeliveryId, Millis};
    use crate::limits::Limits;
    use uuid::Uuid;

    fn parked(seen: Option<u64>) -> Machine {
        let mut machine = Machine::new(ConversationId(Uuid::from_u128(1)), Limits::default());
        let ev = Event::Parked { reason: "a reason".into(), seen };
        machine.row(&Row { at: Millis(1_000), off: 0, ev }, 1);
        machine
    }

    fn pending(seq: u64, accepted_at: i64) -> Pending {
        let id = DeliveryId(Uuid::from_u128(2));
        Pending { id, mode: Mode::Auto, line_len: 100, seq, accepted_at: Millis(accepted_at) }
    }

    #[test]
    fn what_was_accepted_while_the_session_was_being_parked_wakes_it() {
        let machine = parked(Some(3));
        assert!(machine.owes(&[pending(4, 999)]), "nobody who parked it knew of this one");
        assert!(!machine.owes(&[pending(3, 2_000)]), "this one was known, whatever a clock says");
    }

    #[test]
    fn a_row_that_does_not_say_what_was_known_goes_by_its_time() {
        let machine = parked(None);
        assert!(machine.owes(&[pending(1, 1_001)]) && !machine.owes(&[pending(9, 1_000)]));
    }
}
