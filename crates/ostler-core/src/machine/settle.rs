//! When a turn is over.
//!
//! A `result` ends a segment, not the turn: a message delivered late becomes a segment of its own, a finished
//! background task wakes one by itself, receipts come after the result. A turn settles when its child is dead, or
//! when nothing is owed any more.

use super::child::{Child, ChildState};
use super::death::is_unclean;
use super::outcome::Verdict;
use super::tasks::TaskKind;
use super::{Machine, Phase};
use crate::ctl::{Deadline, Exit};
use crate::ids::Millis;
use crate::rows::{DeliveryState, Outcome, PermissionState};

/// What people are told of a turn whose message an earlier child took with it.
const CUT: &str = "claude died while it worked on this message, and the one that was started then knows the message and \
does not run it again: what it was doing may be half done; send another message to go on";

/// What the settle rule says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settling {
    /// Something is still owed.
    Wait,
    /// A deadline passed: it must be recorded before the rule is asked again.
    Expire(Deadline),
    /// The child must show that it has read everything it was given.
    Ask,
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
        if child.segment_open || child.unfinished.is_some() {
            return Settling::Wait;
        }
        let rules = [
            self.tasks_over(child, now),
            self.wakes_over(child, now),
            self.receipts_over(child, now),
            self.questions_over(child),
        ];
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
            let from = child.tasks.oldest(kind).map(|since| since.max(child.last_result));
            if from.is_some_and(|from| now >= from.saturating_add(limit)) {
                return Settling::Expire(deadline);
            }
        }
        if child.tasks.any_live() { Settling::Wait } else { Settling::Over }
    }

    fn wakes_over(&self, child: &Child, now: u64) -> Settling {
        let Some(since) = child.tasks.waiting_since() else { return Settling::Over };
        let until = since.saturating_add(self.limits.notification).max(child.last_result + AFTER_RESULT);
        if now >= until { Settling::Expire(Deadline::Notification) } else { Settling::Wait }
    }

    /// A child that is at rest and quiet while a receipt is missing is asked whether it has read everything (control
    /// requests are answered in the order of stdin, protocol page). Then it has its say, or it is deaf.
    fn receipts_over(&self, child: &Child, now: u64) -> Settling {
        if self.all_final() || child.quiet_expired {
            return Settling::Over;
        }
        if !child.at_rest() || !child.observed.line {
            return Settling::Wait;
        }
        let slow = child.observed.lifecycle && !child.read_all;
        let quiet = child.last_line.saturating_add(if slow { self.limits.start } else { self.limits.quiet });
        if now < quiet {
            Settling::Wait
        } else if child.read_all {
            Settling::Expire(Deadline::Quiet)
        } else {
            Settling::Ask
        }
    }

    /// A child that says `idle` asks nothing; another one may.
    fn questions_over(&self, child: &Child) -> Settling {
        let open = |p: &crate::rows::Permission| p.generation == child.no && p.state == PermissionState::Open;
        let asking = !child.observed.state && self.rows.permissions.iter().any(open);
        if asking { Settling::Wait } else { Settling::Over }
    }

    fn idle(&self, child: &Child, now: u64) -> Settling {
        let quiet_for = |ms: u64| now >= child.last_line.saturating_add(ms);
        if child.quiet_expired {
            return Settling::Over;
        }
        match (child.observed.state, child.state) {
            (true, ChildState::Idle) => Settling::Over,
            // It never said so, and everything else is over for a long time.
            (true, _) if quiet_for(self.limits.slow) => Settling::Expire(Deadline::Quiet),
            (true, _) if self.nothing_ran(child) && quiet_for(self.limits.quiet) => {
                Settling::Expire(Deadline::Quiet)
            }
            (false, _) if quiet_for(self.limits.quiet) => Settling::Over,
            _ => Settling::Wait,
        }
    }

    /// Everything of the turn was taken back before the model saw any of it, and the child has read that. It may have
    /// said that it runs, and then says nothing more.
    fn nothing_ran(&self, child: &Child) -> bool {
        let Some(turn) = self.rows.turns.last().filter(|t| t.settled_at.is_none() && t.results == 0) else {
            return false;
        };
        let mut mine = self.rows.deliveries.iter().filter(|d| d.turn == turn.no && d.generation == child.no);
        child.read_all && mine.all(|d| d.state == DeliveryState::Cancelled)
    }

    /// The row that says so is applied.
    pub(super) fn settled(&mut self, gave_up_tasks: u32, at: Millis) {
        let Some(child) = &self.child else { return };
        let dead = child.phase == Phase::Cold;
        let had_error = child.had_error;
        let verdict = self.verdict(child, dead);
        let print = child.print.clone();
        self.note_refusal(verdict.outcome, print);
        let exit = self.rows.generations.last().and_then(|g| g.exit);
        if !dead {
            self.withdraw_all("turn end");
        }
        let killed = self.child.as_mut().map_or(0, |c| c.tasks.settled());
        self.with_open_turn(|t| {
            t.settled_at = Some(at);
            t.outcome = Some(verdict.outcome);
            // For a turn that was cut off, death has already said what is known.
            if verdict.outcome != Outcome::Unfinished || verdict.failure.is_some() {
                t.failure = verdict.failure;
                t.message = verdict.message;
            }
            t.killed_tasks = t.killed_tasks.saturating_add(gave_up_tasks).saturating_add(killed);
            t.unclean = dead
                && verdict.outcome == Outcome::Completed
                && is_unclean(exit.unwrap_or(Exit::Unknown), had_error);
        });
        self.with_child(|c| {
            c.verdict = None;
            c.watch.forgive();
            c.segment_open = false;
            c.quiet_expired = false;
            c.settled = true;
        });
    }

    /// How the open turn ended: by its last result, unless it was cut off behind it.
    pub(super) fn verdict(&self, child: &Child, dead: bool) -> Verdict {
        let plain = |outcome| Verdict { outcome, failure: None, message: None };
        match &child.verdict {
            Some(verdict) if !(dead && child.segment_open) => verdict.clone(),
            _ if child.told_to_stop() => plain(Outcome::Interrupted),
            _ if child.watch.is_stalled() => self.stalled_by(child.watch.passed()),
            _ if child.being_stopped() => plain(Outcome::Interrupted),
            _ if dead && (child.segment_open || !self.all_final()) => plain(Outcome::Unfinished),
            _ => self.without_result(dead),
        }
    }

    /// A turn without any result: what its deliveries came to. Never completed, for nothing says that it was.
    fn without_result(&self, dead: bool) -> Verdict {
        let turn = self.open_turn().unwrap_or_default();
        let generation = self.generation();
        let mine = || self.rows.deliveries.iter().filter(|d| d.turn == turn && d.generation == generation);
        let any = |state: DeliveryState| mine().any(|d| d.state == state);
        let failure = |kind: &str| (!dead).then(|| kind.to_owned());
        if any(DeliveryState::Cut) {
            let message = Some(CUT.to_owned());
            Verdict { outcome: Outcome::Unfinished, failure: Some("cut".to_owned()), message }
        } else if any(DeliveryState::Failed) {
            let outcome = if dead { Outcome::Unfinished } else { Outcome::Failed };
            Verdict { outcome, failure: failure("refused"), message: None }
        } else if mine().next().is_some()
            && mine().all(|d| matches!(d.state, DeliveryState::Cancelled | DeliveryState::Discarded))
        {
            Verdict { outcome: Outcome::Interrupted, failure: None, message: None }
        } else {
            Verdict { outcome: Outcome::Unfinished, failure: failure("no readable result"), message: None }
        }
    }
}
