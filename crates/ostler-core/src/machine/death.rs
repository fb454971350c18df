//! What a dead child leaves behind.

use super::{Machine, Phase};
use crate::ctl::Exit;
use crate::ids::Millis;
use crate::rows::Outcome;

/// Starts for one delivery that end before it could be written. More than these can't be bad luck.
const STARTS: u32 = 8;

impl Machine {
    /// The current child is dead. Every line of its `out` was applied before this.
    pub(super) fn dead(&mut self, exit: Exit, proven: bool, killed: u32, said: Option<String>, at: Millis) {
        if self.phase() == Phase::Cold {
            return;
        }
        self.count_as_refused(exit, at);
        let Some(child) = &self.child else { return };
        self.rows.spend.extend(child.meter.rows(child.no));
        // A receipt without its result promises nothing any more.
        let in_use = self.has_lost_a_race(said.as_deref());
        let refused = !in_use && !child.observed.line && matches!(exit, Exit::Code(_) | Exit::NotStarted);
        let unclean = is_unclean(exit, child.had_error);
        let torn = child.torn;
        if let Some(row) = self.rows.generations.last_mut() {
            row.ended_at = Some(at);
            row.exit = Some(exit);
            row.proven = proven;
            row.killed = killed;
        }
        if in_use {
            self.in_use = Some(self.conversation);
        }
        self.note_death(&words(exit));
        self.withdraw_all(super::permissions::DEATH);
        self.leave_deliveries(refused);
        if self.child.as_ref().is_some_and(|c| c.alone.is_some()) && self.open_turn().is_none() {
            // It had begun a turn by itself, and nobody came to write that down.
            self.open_new_turn(at);
        }
        let generation = self.generation();
        if let Some(turn) = self.rows.turns.last_mut().filter(|t| t.generation == generation) {
            turn.garbled |= torn;
            turn.unclean = unclean && turn.outcome == Some(Outcome::Completed);
        }
        let no_result = self.child.as_ref().is_some_and(|c| c.segment_open || c.verdict.is_none());
        self.with_open_turn(|t| {
            if no_result {
                t.failure = Some(words(exit));
                t.message = said;
            }
        });
        self.with_child(|c| {
            c.phase = Phase::Cold;
            c.unfinished = None;
            c.meter = super::meter::Meter::new(crate::ctl::Baseline::default());
        });
    }

    /// A child that was to begin the conversation was told by the CLI that it has it: a transcript appeared between our
    /// look and its. What it was started for is offered to one that resumes; only once, for that can't be told so again.
    fn has_lost_a_race(&self, said: Option<&str>) -> bool {
        let fresh = self.rows.generations.last().is_some_and(|row| !row.resumed);
        let silent = self.child.as_ref().is_some_and(|child| !child.observed.line);
        fresh && silent && !self.is_in_use() && said.is_some_and(|said| said.contains("is already in use"))
    }

    /// A child that can't be started would not be started for the same delivery the next time either: that is a
    /// failed turn, not something to repeat for ever.
    fn count_as_refused(&mut self, exit: Exit, at: Millis) {
        let Some(child) = self.child.as_ref().filter(|c| c.first_write.is_none()) else { return };
        let delivery = child.woken_by;
        let starts = self.starts.get(&delivery).copied().unwrap_or_default();
        if exit != Exit::NotStarted && starts < STARTS {
            return;
        }
        if self.open_turn().is_none() {
            self.open_new_turn(at);
        }
        self.offered(delivery, at);
        self.attempts.insert(delivery, self.limits.attempts);
    }
}

/// An exit status of 1 after a failed result repeats what the result said; an exit that nobody saw says nothing.
pub(super) fn is_unclean(exit: Exit, had_error: bool) -> bool {
    match exit {
        Exit::Code(0) | Exit::Unknown => false,
        Exit::Code(1) => !had_error,
        Exit::Code(_) | Exit::Signal(_) | Exit::NotStarted => true,
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
