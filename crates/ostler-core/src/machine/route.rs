//! A delivery becomes a steer, a feed or a wake. ostler decides, not the caller.

use super::decide::{Action, Mode, Pending, World};
use super::{Machine, Phase};
use crate::ctl::EndReason;

impl Machine {
    /// The first delivery that the current child was not given.
    pub(super) fn next_pending<'w>(&self, world: &World<'w>) -> Option<&'w Pending> {
        let no = self.child.as_ref().filter(|c| c.phase != Phase::Cold).map(|c| c.no);
        let fresh = |p: &&Pending| no.is_none_or(|no| !self.was_offered(p.id, no)) && !self.is_final(p.id);
        world.pending.iter().find(fresh)
    }

    /// **Steer** into the running turn, or **feed** a child that is at rest; None when it has to wait. Nothing is
    /// given to a child whose agent has declared: what comes then is a wake.
    pub(super) fn route(&self, world: &World<'_>) -> Option<Action> {
        let child = self.child.as_ref().filter(|c| c.phase == Phase::Resident && c.ending.is_none())?;
        let next = self.next_pending(world)?;
        let fresh = child.first_write.is_none();
        if world.declared && !fresh {
            return None;
        }
        let fits = next.line_len <= world.pipe_capacity;
        let steers = self.open_turn().is_some();
        if !fits && !fresh {
            // A longer line may only be the first of a fresh generation: one that is cut off spoils the pipe.
            return (!steers).then_some(Action::End { why: EndReason::Settled });
        }
        if steers && (next.mode == Mode::Queue || child.breaks_off(self.all_final())) {
            return None;
        }
        Some(Action::WriteUser { delivery: next.id })
    }

    /// A delivery waits behind a declared record, and for how long its old child may still talk.
    pub(super) fn waits_for_the_declared(&self, world: &World<'_>) -> bool {
        let old = self.child.as_ref().is_some_and(|c| c.first_write.is_some());
        world.declared && old && self.next_pending(world).is_some()
    }

    /// **Wake**: a generation for the next delivery.
    pub(super) fn wake(&self, world: &World<'_>) -> Option<Action> {
        let next = self.next_pending(world).filter(|_| !world.hold && !world.stop)?;
        let may = world.pending.iter().any(|p| self.may_wake(p) && !self.is_final(p.id));
        may.then_some(Action::Spawn { delivery: next.id })
    }

    /// A parked session is woken by what was accepted after it was parked: somebody acted.
    pub(super) fn may_wake(&self, pending: &Pending) -> bool {
        self.parked.as_ref().is_none_or(|(_, at)| pending.accepted_at > *at)
    }
}
