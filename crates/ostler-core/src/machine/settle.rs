//! When a turn is over.
//!
//! A `result` ends a segment, not the turn: a message delivered late becomes a segment of its own, a finished
//! background task wakes one by itself, receipts come after the result. A turn settles when its child is dead, or
//! when a result was seen and nothing is owed any more.

use super::child::{Child, ChildState};
use super::outcome::Verdict;
use super::tasks::TaskKind;
use super::{Machine, Phase};
use crate::ctl::Deadline;
use crate::ids::Millis;
use crate::rows::Outcome;

/// What the settle rule says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settling {
    /// Something is still owed.
    Wait,
    /// A deadline passed: it must be recorded before the rule is asked again.
    Expire(Deadline),
    /// The turn is over.
    Over,
}

/// After a result, a task that was notified while the turn still ran gets this long to wake the next one.
const AFTER_RESULT: u64 = 500;

impl Machine {
    pub(super) fn settling(&self, now: u64) -> Settling {
        let Some(child) = &self.child else { return Settling::Over };
        if child.phase == Phase::Cold {
            return Settling::Over;
        }
        if child.verdict.is_none() || child.segment_open || child.unfinished.is_some() {
            return Settling::Wait;
        }
        let rules =
            [self.tasks_over(child, now), self.wakes_over(child, now), self.receipts_over(child, now)];
        let first = rules.into_iter().find(|r| *r != Settling::Over);
        first.unwrap_or_else(|| self.idle(child, now))
    }

    fn tasks_over(&self, child: &Child, now: u64) -> Settling {
        let limits = [
            (TaskKind::Shell, self.limits.shells, Deadline::Shells),
            (TaskKind::Agent, self.limits.agents, Deadline::Agents),
        ];
        for (kind, limit, deadline) in limits {
            // The deadline runs from the later of the task's start and the result: a task may take as long as its turn.
            if child.tasks.oldest(kind).is_some_and(|since| now >= since.max(child.last_result) + limit) {
                return Settling::Expire(deadline);
            }
        }
        if child.tasks.any_live() { Settling::Wait } else { Settling::Over }
    }

    fn wakes_over(&self, child: &Child, now: u64) -> Settling {
        let Some(since) = child.tasks.waiting_since() else { return Settling::Over };
        let until = (since + self.limits.notification).max(child.last_result + AFTER_RESULT);
        if now >= until { Settling::Expire(Deadline::Notification) } else { Settling::Wait }
    }

    fn receipts_over(&self, child: &Child, now: u64) -> Settling {
        if self.all_final() || child.quiet_expired {
            return Settling::Over;
        }
        let at_rest = !child.observed.state || child.state == ChildState::Idle;
        let patience = if child.observed.lifecycle { self.limits.start } else { self.limits.quiet };
        if at_rest && now >= child.last_line + patience {
            Settling::Expire(Deadline::Quiet)
        } else {
            Settling::Wait
        }
    }

    fn idle(&self, child: &Child, now: u64) -> Settling {
        let idle = match child.observed.state {
            true => child.state == ChildState::Idle,
            false => child.quiet_expired || now >= child.last_line + self.limits.quiet,
        };
        if idle { Settling::Over } else { Settling::Wait }
    }

    /// The row that says so is applied.
    pub(super) fn settled(&mut self, gave_up_tasks: u32, at: Millis) {
        let Some(child) = &self.child else { return };
        let dead = child.phase == Phase::Cold;
        let cut = dead && (child.segment_open || child.verdict.is_none());
        let stopped = child.being_stopped();
        let verdict = match (cut, stopped, child.verdict.clone()) {
            (false, _, Some(verdict)) => verdict,
            (_, true, _) => Verdict { outcome: Outcome::Interrupted, failure: None, message: None },
            _ => Verdict { outcome: Outcome::Unfinished, failure: None, message: None },
        };
        let exit = self.rows.generations.last().and_then(|g| g.exit);
        self.with_open_turn(|t| {
            t.settled_at = Some(at);
            t.outcome = Some(verdict.outcome);
            // For an unfinished turn, death has already said what is known.
            if verdict.outcome != Outcome::Unfinished {
                t.failure = verdict.failure;
                t.message = verdict.message;
            }
            t.killed_tasks = t.killed_tasks.saturating_add(gave_up_tasks);
            t.unclean =
                dead && verdict.outcome == Outcome::Completed && exit != Some(crate::ctl::Exit::Code(0));
        });
        self.with_child(|c| {
            c.verdict = None;
            c.segment_open = false;
            c.settled = true;
        });
    }
}
