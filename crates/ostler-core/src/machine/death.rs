//! What a dead child leaves behind.

use super::receipts::final_state;
use super::{Machine, Phase};
use crate::ctl::Exit;
use crate::ids::Millis;
use crate::rows::{DeliveryState, Outcome};

impl Machine {
    /// The current child is dead. Every line of its `out` was applied before this.
    pub(super) fn dead(&mut self, exit: Exit, proven: bool, killed: u32, said: Option<String>, at: Millis) {
        if exit == Exit::NotStarted {
            self.count_as_refused(at);
        }
        let Some(child) = &self.child else { return };
        let spend = child.meter.rows(child.no, true);
        self.rows.spend.extend(spend);
        if let Some(row) = self.rows.generations.last_mut() {
            row.ended_at = Some(at);
            row.exit = Some(exit);
            row.proven = proven;
            row.killed = killed;
        }
        self.withdraw_all("death");
        self.leave_deliveries(exit);
        self.mark_unclean(exit);
        let no_result = self.child.as_ref().is_some_and(|c| c.segment_open || c.verdict.is_none());
        self.with_open_turn(|t| {
            if no_result {
                t.failure = Some(words(exit));
                t.message = said;
            }
        });
        self.with_child(|c| {
            c.phase = Phase::Cold;
            c.interrupt_expired = false;
            c.unfinished = None;
            c.meter = super::meter::Meter::new(crate::ctl::Baseline::default());
        });
    }

    /// A child that can't be started would not be started for the same delivery the next time either: that is a
    /// failed turn, not something to repeat for ever.
    fn count_as_refused(&mut self, at: Millis) {
        let Some(delivery) = self.child.as_ref().filter(|c| c.first_write.is_none()).map(|c| c.woken_by)
        else {
            return;
        };
        if self.open_turn().is_none() {
            self.open_new_turn(at);
        }
        self.offered(delivery, at);
    }

    /// A delivery without an end is offered to the next generation under the same uuid, unless it was answered, or
    /// somebody stopped it, or offering it again would only repeat the failure.
    fn leave_deliveries(&mut self, exit: Exit) {
        let Some(child) = &self.child else { return };
        let stopped = child.being_stopped();
        let refused = !child.observed.line && matches!(exit, Exit::Code(_) | Exit::NotStarted);
        let verdict = child.verdict.clone();
        let (generation, most) = (child.no, self.limits.attempts);
        for row in
            self.rows.deliveries.iter_mut().filter(|d| d.generation == generation && !d.state.is_final())
        {
            let attempts = self.attempts.get(&row.id).copied().unwrap_or_default();
            match &verdict {
                Some(verdict) if row.answer.is_some() => row.state = final_state(verdict),
                _ if stopped => row.state = DeliveryState::Cancelled,
                _ if refused || attempts >= most => row.state = DeliveryState::Failed,
                _ => {}
            }
        }
    }

    fn mark_unclean(&mut self, exit: Exit) {
        let generation = self.generation();
        let clean = exit == Exit::Code(0);
        if let Some(turn) = self.rows.turns.last_mut().filter(|t| t.generation == generation) {
            turn.unclean = !clean && turn.outcome == Some(Outcome::Completed);
        }
    }
}

/// An exit in words: `exit 1`, `signal 9`, `unknown`, `did not start`.
pub(super) fn words(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exit {code}"),
        Exit::Signal(signal) => format!("signal {signal}"),
        Exit::Unknown => "unknown".to_owned(),
        Exit::NotStarted => "did not start".to_owned(),
    }
}
