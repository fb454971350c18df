//! The watchdog: a child that owes a message and says nothing.
//!
//! Silence alone is no fault. A child owes a message while a segment is open (or it says `running` and holds messages
//! that nothing came of), no tool of the main lane is under way, no question is open, and it doesn't wait for a time
//! that it announced. Then silence is called *slow*, then *stalled*: it is interrupted in-band, and killed when it
//! doesn't confirm that. A compaction has a longer limit of its own. Silence runs on the monotonic clock of whoever
//! looks on, so it begins anew with each controller; announced times are compared with the wall clock.

use super::child::{Activity, Child, ChildState};
use super::decide::{Action, World};
use super::outcome::Verdict;
use super::{Machine, Phase};
use crate::ctl::{Deadline, KillReason};
use crate::rows::{Outcome, PermissionState};
use claude_wire::Event;

/// The kind of failure of a turn that its watchdog ended.
pub const STALLED: &str = "stalled";

/// A limit whose end nobody announced is no stall for this long.
const UNANNOUNCED: u64 = 60 * 60_000;

/// What the watchdog knows of a child. Times are monotonic milliseconds.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    /// Since when it has been silent.
    heard: u64,
    /// This silence was called slow.
    slow: bool,
    /// The limit that it passed, and when; until the turn is over.
    stalled: Option<(Deadline, u64)>,
    /// It announced that it waits until then.
    waits: Option<u64>,
    /// The message that streams in the main lane.
    message: Option<String>,
    /// Its content has begun and is not complete: no tool explains its silence.
    streaming: bool,
    /// When the last line was written to it, or a controller took over.
    written: Option<u64>,
    /// The last question was answered, or something else was said since: `requires_action` is outdated.
    answered: bool,
}

impl Watch {
    pub(super) const fn new(now: u64) -> Self {
        Self {
            heard: now,
            slow: false,
            stalled: None,
            waits: None,
            message: None,
            streaming: false,
            written: None,
            answered: false,
        }
    }

    /// It said something, or a controller that has not been listening took over.
    pub(super) const fn heard(&mut self, now: u64) {
        self.heard = now;
        self.slow = false;
    }

    pub(super) const fn written(&mut self, now: u64) {
        self.written = Some(now);
    }

    pub(super) const fn slow(&mut self) {
        self.slow = true;
    }

    pub(super) fn expired(&mut self, deadline: Deadline, now: u64) {
        self.stalled.get_or_insert((deadline, now));
    }

    /// It will try again then.
    pub(super) const fn waits_until(&mut self, until: u64) {
        self.waits = Some(until);
    }

    /// An event of the message that streams in the main lane.
    pub(super) fn streams(&mut self, event: &Event) {
        match event {
            Event::MessageStart { message_id, .. } => {
                self.message.clone_from(message_id);
                self.streaming = false;
            }
            Event::BlockStart { .. } => self.streaming = true,
            Event::MessageStop => self.streaming = false,
            _ => {}
        }
    }

    /// Nothing streams any more, whether the message was complete or not.
    pub(super) const fn streams_no_more(&mut self) {
        self.streaming = false;
    }

    /// A complete block. One of another message shows that the stream was given up.
    pub(super) fn block_of(&mut self, message: Option<&str>) {
        self.streaming &= self.message.as_deref() == message;
    }

    pub(super) const fn answered(&mut self, is: bool) {
        self.answered = is;
    }

    pub(super) const fn is_stalled(&self) -> bool {
        self.stalled.is_some()
    }

    /// The limit that was passed.
    pub(super) fn passed(&self) -> Deadline {
        self.stalled.map_or(Deadline::Stalled, |(deadline, _)| deadline)
    }

    /// What it did is over.
    pub(super) const fn forgive(&mut self) {
        self.stalled = None;
        self.slow = false;
    }

    pub(super) const fn activity(&self) -> Option<Activity> {
        if self.stalled.is_some() {
            Some(Activity::Stalled)
        } else if self.slow {
            Some(Activity::Slow)
        } else {
            None
        }
    }
}

impl Machine {
    /// The next step of the ladder, if it is time for one.
    pub(super) fn watchdog(&self, child: &Child, world: &World<'_>) -> Option<Action> {
        if child.ending.is_some() || child.interrupt.is_some() || child.phase == Phase::Ending {
            // What is under way has a deadline of its own.
            return None;
        }
        let owes = self.owed(child);
        if let Some((_, since)) = child.watch.stalled {
            owes?;
            if world.pipe_ready {
                let request_id = Some(format!("ostler-stalled-{}-{}", child.no, child.next_write));
                return Some(Action::Request { request_id, subtype: "interrupt", cancel_queued: false });
            }
            let late = world.now >= since.saturating_add(self.limits.interrupt);
            return late.then_some(Action::Kill { why: KillReason::Stalled });
        }
        // It reads its stdin whatever else it does, so it is deaf when a line stays in the pipe.
        let unread = child.watch.written.filter(|_| !world.pipe_ready && child.unfinished.is_none());
        if unread.is_some_and(|since| world.now >= since.saturating_add(self.limits.write)) {
            return Some(Action::Expire { deadline: Deadline::Answer });
        }
        let deadline = owes?;
        let silent = silence(child, world);
        let limit =
            if deadline == Deadline::Compaction { self.limits.compaction } else { self.limits.stalled };
        if silent >= limit {
            return Some(Action::Expire { deadline });
        }
        let slow = deadline == Deadline::Stalled && !child.watch.slow && silent >= self.limits.slow;
        slow.then_some(Action::Slow { silent })
    }

    /// The child owes a message: which deadline its silence has.
    fn owed(&self, child: &Child) -> Option<Deadline> {
        if !child.observed.line || child.unfinished.is_some() {
            return None;
        }
        if child.passing == Some(Activity::Compacting) {
            return Some(Deadline::Compaction);
        }
        let open = self.rows.permissions.iter().rev().take_while(|p| p.generation == child.no);
        let asks = open.into_iter().any(|p| p.state == PermissionState::Open);
        let person = child.state == ChildState::RequiresAction && !child.watch.answered;
        let tool = child.tools.main_under_way() && !child.watch.streaming;
        if asks || person || tool {
            return None;
        }
        let holds = child.state == ChildState::Running && !self.all_final();
        (child.segment_open || holds).then_some(Deadline::Stalled)
    }

    /// A turn that its watchdog broke off is no interrupted one.
    pub(super) fn stalled_verdict(&self, verdict: Verdict) -> Verdict {
        let stalled = self.child.as_ref().filter(|c| c.watch.is_stalled() && !c.told_to_stop());
        match stalled.map(|c| c.watch.passed()) {
            Some(deadline) if verdict.outcome == Outcome::Interrupted => self.stalled_by(deadline),
            _ => verdict,
        }
    }

    /// What people are told of it.
    pub(super) fn stalled_by(&self, deadline: Deadline) -> Verdict {
        let (what, ms) = match deadline {
            Deadline::Compaction => ("it was compacting the conversation", self.limits.compaction),
            _ => ("a message of the model was due", self.limits.stalled),
        };
        let message =
            format!("claude said nothing for {} s though {what}; its turn was broken off", ms.div_ceil(1000));
        Verdict { outcome: Outcome::Failed, failure: Some(STALLED.to_owned()), message: Some(message) }
    }
}

/// For how long it has been silent without a reason that it gave.
fn silence(child: &Child, world: &World<'_>) -> u64 {
    let silent = world.now.saturating_sub(child.watch.heard);
    match child.passing {
        Some(Activity::Retrying) => {
            silent.min(world.now.saturating_sub(child.watch.waits.unwrap_or_default()))
        }
        Some(Activity::RateLimited(Some(until))) => {
            let since = world.wall.0.saturating_sub(until.saturating_mul(1000));
            silent.min(u64::try_from(since).unwrap_or_default())
        }
        Some(Activity::RateLimited(None)) => silent.saturating_sub(UNANNOUNCED),
        _ => silent,
    }
}
