//! What to do next.

use super::child::Child;
use super::settle::Settling;
use super::{Machine, Phase};
use crate::ctl::{Deadline, EndReason, Given, KillReason, Line, Reply};
use crate::ids::{DeliveryId, Millis};
use crate::rows::CacheSeen;
use crate::rule::{Place, Rule};

/// What the machine can't know from the journal.
#[derive(Clone, Copy, Debug, Default)]
pub struct World<'a> {
    /// Monotonic milliseconds.
    pub now: u64,
    /// Wall-clock time, for times that were announced.
    pub wall: Millis,
    /// Deliveries that are not final, in the order of their acceptance.
    pub pending: &'a [Pending],
    /// Decisions that faces have stored.
    pub stored: &'a [Stored],
    /// What answers where nobody decided.
    pub policy: Policy,
    /// Every rule there is; those that don't hold here or any more are passed over.
    pub rules: &'a [Rule],
    /// Where the session is, for rules.
    pub place: Place<'a>,
    /// A question that nobody answered for so long is denied, milliseconds; None: it waits for ever.
    pub permission_timeout: Option<u64>,
    /// Questions of the model are answered by ostler itself, a few each turn.
    pub auto_continue: bool,
    /// The pipe is empty and has a reader: a line may be begun.
    pub pipe_ready: bool,
    /// Bytes that fit into the empty pipe.
    pub pipe_capacity: u64,
    /// Somebody wants the turn interrupted.
    pub interrupt: Option<&'a Wish>,
    /// Deliveries that somebody wants back from the child's queue.
    pub cancels: &'a [DeliveryId],
    /// Somebody wants the child gone now.
    pub stop: bool,
    /// Nothing may be started (disk full, leaving).
    pub hold: bool,
    /// Who pays is refused for now: no turn may begin. A running one goes on.
    pub limited: bool,
    /// The session's agent has declared where it stands: nothing is given to the old child any more.
    pub declared: bool,
    /// How long a delivery has been waiting behind what it declared, milliseconds.
    pub waited: u64,
    /// How long the child has been at rest since its last turn settled, milliseconds.
    pub rested: u64,
}

/// A delivery that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Which.
    pub id: DeliveryId,
    /// May it steer?
    pub mode: Mode,
    /// Bytes of its line, newline included.
    pub line_len: u64,
    /// Its place among all deliveries.
    pub seq: u64,
    /// When it was accepted.
    pub accepted_at: Millis,
}

/// How a delivery may reach the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Into the running turn if there is one.
    Auto,
    /// Never into a running turn.
    Queue,
    /// The running turn is interrupted for it, and it goes before everything that was not written yet.
    Now,
}

/// A stored decision that has not been written to the child; also one that came too late for the child before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The generation that asked.
    pub generation: u32,
    /// Its request.
    pub request_id: String,
    /// By whom.
    pub by: String,
    /// What.
    pub reply: Reply,
}

/// What answers a question that nobody decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// Wait for somebody.
    #[default]
    Ask,
    /// Yes to tools; questions and plans still wait.
    Allow,
    /// No, whatever rules allow.
    Deny,
    /// No to what no rule allows.
    Rules,
}

/// An interrupt that somebody asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// The request id that it is written under.
    pub request_id: String,
    /// Take back what is queued as well.
    pub cancel_queued: bool,
}

/// The next thing to do. Whoever does it writes its row first, applies that, acts, and asks again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Start a generation for this delivery.
    Spawn {
        /// The delivery that wakes the session.
        delivery: DeliveryId,
    },
    /// Write a delivery's `user` line.
    WriteUser {
        /// Which.
        delivery: DeliveryId,
    },
    /// Write a control request.
    Request {
        /// Its id; None: make one.
        request_id: Option<String>,
        /// `interrupt`, `end_session`, `initialize`.
        subtype: &'static str,
        /// For an interrupt: with `cancel_queued`.
        cancel_queued: bool,
    },
    /// Ask the child for a delivery that is in its queue.
    Cancel {
        /// Which.
        delivery: DeliveryId,
    },
    /// Write again what an earlier controller began and may not have finished.
    Repeat {
        /// The number it was begun under.
        write: u64,
        /// What it was.
        line: Line,
    },
    /// Record when the child asked.
    Asked {
        /// The child's request.
        request_id: String,
    },
    /// Record a decision.
    Decide {
        /// The child's request.
        request_id: String,
        /// By whom.
        by: String,
        /// What.
        reply: Reply,
        /// A person said so to an earlier child.
        given: Option<Given>,
    },
    /// Record that ostler does not answer this question itself any more.
    Exhaust {
        /// The child's request.
        request_id: String,
    },
    /// Tell the child what was decided.
    Answer {
        /// The child's request.
        request_id: String,
    },
    /// Tell the child that its request is not understood; it waits for ever otherwise.
    Refuse {
        /// The child's request.
        request_id: String,
    },
    /// Record that a deadline passed.
    Expire {
        /// Which.
        deadline: Deadline,
    },
    /// Record that the child is slow: it owes a message and has been silent for this long, milliseconds.
    Slow {
        /// How long.
        silent: u64,
    },
    /// Record what a fork's first request found in the cache.
    CacheSeen {
        /// What it found.
        seen: CacheSeen,
    },
    /// Record that nothing is started by itself any more.
    Park {
        /// Why, and what to do.
        reason: String,
    },
    /// Record that a turn began without a delivery.
    BeginTurn,
    /// Make everything durable, record that the turn is over, commit.
    Settle {
        /// Background tasks that it didn't wait for.
        gave_up_tasks: u32,
    },
    /// Record that teardown begins.
    End {
        /// Why.
        why: EndReason,
    },
    /// Kill the tree.
    Kill {
        /// Why.
        why: KillReason,
    },
}

const INITIALIZE: Action = Action::Request { request_id: None, subtype: "initialize", cancel_queued: false };

impl Machine {
    /// The next thing to do, or None until something happens.
    #[must_use]
    pub fn decide(&self, world: &World<'_>) -> Option<Action> {
        match &self.child {
            Some(child) if child.phase != Phase::Cold => self.with_live(child, world),
            _ if self.open_turn().is_some() => {
                Some(Action::Settle { gave_up_tasks: self.child.as_ref().map_or(0, |c| c.tasks.left()) })
            }
            _ => self.to_park().map(|reason| Action::Park { reason }).or_else(|| self.wake(world)),
        }
    }

    /// Something is owed: a controller must stay.
    #[must_use]
    pub fn owes(&self, pending: &[Pending]) -> bool {
        let live = self.phase() != Phase::Cold;
        live || self.open_turn().is_some()
            || self.to_park().is_some()
            || pending.iter().any(|p| self.may_wake(p) && !self.is_final(p.id))
    }

    fn with_live(&self, child: &Child, world: &World<'_>) -> Option<Action> {
        if child.killing {
            return None;
        }
        self.overdue(child, world)
            .or_else(|| self.unfinished(child, world))
            .or_else(|| self.ending(child, world))
            .or_else(|| self.cache_watch(child, world))
            .or_else(|| self.wanted(child, world))
            .or_else(|| self.watchdog(child, world))
            .or_else(|| self.questions(child, world))
            .or_else(|| world.pipe_ready.then(|| self.route(world)).flatten())
            .or_else(|| self.turn_end(child, world))
    }

    /// Deadlines after which the child is given up.
    fn overdue(&self, child: &Child, world: &World<'_>) -> Option<Action> {
        let late = |since: u64, limit: u64| world.now >= since.saturating_add(limit);
        if child.start_expired {
            return Some(Action::Kill { why: KillReason::StartDeadline });
        }
        if child.interrupt_expired || child.answer_expired {
            let stalled = child.watch.is_stalled();
            return Some(Action::Kill { why: if stalled { KillReason::Stalled } else { KillReason::Deaf } });
        }
        if child.write_expired {
            return Some(Action::Kill { why: KillReason::SpoiledPipe });
        }
        if child.ending.is_some_and(|e| e.expired) {
            return Some(Action::Kill { why: KillReason::EndDeadline });
        }
        if !child.observed.line && late(child.first_write.unwrap_or(child.started), self.limits.start) {
            return Some(Action::Expire { deadline: Deadline::Start });
        }
        let patience = |confirmed| if confirmed { self.limits.aborted } else { self.limits.interrupt };
        let breaking_off = child.interrupt.as_ref().filter(|_| child.breaks_off(self.all_final()));
        if breaking_off.is_some_and(|i| late(i.since, patience(i.confirmed))) {
            return Some(Action::Expire { deadline: Deadline::Interrupt });
        }
        let waited = !child.wake_expired && child.ending.is_none() && world.waited >= self.limits.wake_wait;
        if waited && self.waits_for_the_declared(world) {
            return Some(Action::Expire { deadline: Deadline::WakeWait });
        }
        if child.ending.is_some_and(|e| late(e.since, self.limits.end)) {
            return Some(Action::Expire { deadline: Deadline::End });
        }
        None
    }

    /// What an earlier controller began: repeated where it fits the pipe; a longer line may be half written, and then
    /// nothing more can be said through this pipe.
    fn unfinished(&self, child: &Child, world: &World<'_>) -> Option<Action> {
        let unfinished = child.unfinished.as_ref().filter(|u| u.orphaned)?;
        if unfinished.len > world.pipe_capacity {
            return Some(Action::Kill { why: KillReason::SpoiledPipe });
        }
        if world.pipe_ready {
            return Some(Action::Repeat { write: unfinished.write, line: unfinished.line.clone() });
        }
        // It doesn't read what stands in its pipe, and nothing can be said to it any more.
        let late = world.now >= unfinished.since.saturating_add(self.limits.write);
        late.then_some(Action::Expire { deadline: Deadline::Write })
    }

    fn ending(&self, child: &Child, world: &World<'_>) -> Option<Action> {
        let ending = child.ending?;
        let may_write = !ending.told && world.pipe_ready;
        may_write.then_some(Action::Request {
            request_id: None,
            subtype: "end_session",
            cancel_queued: false,
        })
    }

    /// What people or an adoption ask for.
    fn wanted(&self, child: &Child, world: &World<'_>) -> Option<Action> {
        if child.ending.is_some() {
            return None;
        }
        if world.stop {
            return Some(Action::End { why: EndReason::Stop });
        }
        if child.wake_expired {
            return Some(Action::End { why: EndReason::Declared });
        }
        if !world.pipe_ready {
            return None;
        }
        // Behind something that an earlier child may have had, it makes the child answer in any case.
        let mute = child.reoffered && !child.observed.line && child.last_user_write > 0;
        if (child.adopted || mute) && child.asked_since("initialize").is_none() {
            return Some(INITIALIZE);
        }
        if let Some(again) = child.interrupt.as_ref().filter(|i| i.again) {
            let request_id = Some(format!("{}-again", again.request_id));
            let cancel_queued = again.cancel_queued;
            return Some(Action::Request { request_id, subtype: "interrupt", cancel_queued });
        }
        // Before an interrupt, behind which the first of them would run at once.
        if let Some(&delivery) = world.cancels.iter().find(|id| self.can_be_asked_back(**id)) {
            return Some(Action::Cancel { delivery });
        }
        let wish =
            world.interrupt.filter(|_| self.open_turn().is_some() && !child.breaks_off(self.all_final()))?;
        let unsent = child.interrupt_status(&wish.request_id) == super::InterruptStatus::NotSent;
        let request_id = Some(wish.request_id.clone());
        let cancel_queued = wish.cancel_queued;
        unsent.then_some(Action::Request { request_id, subtype: "interrupt", cancel_queued })
    }

    fn turn_end(&self, child: &Child, world: &World<'_>) -> Option<Action> {
        if self.open_turn().is_none() {
            if child.ending.is_some() {
                return None;
            }
            if child.alone.is_some() {
                return Some(Action::BeginTurn);
            }
            let rests = child.settled || child.first_write.is_none();
            let makes_room = world.limited || self.waits_for_the_declared(world);
            let done = rests && (makes_room || self.next_pending(world.pending).is_none());
            let rested = makes_room || world.rested >= self.limits.linger;
            return (done && rested).then_some(Action::End { why: EndReason::Settled });
        }
        match self.settling(world.now) {
            Settling::Wait => None,
            Settling::Ask => self.ask(child, world),
            Settling::Expire(deadline) => Some(Action::Expire { deadline }),
            Settling::Over => Some(Action::Settle { gave_up_tasks: child.tasks.given_up() }),
        }
    }
}

impl Machine {
    /// A child at rest has to show that it has read everything. One that doesn't is deaf.
    fn ask(&self, child: &Child, world: &World<'_>) -> Option<Action> {
        let since = match child.asked_since("initialize") {
            None if world.pipe_ready => return Some(INITIALIZE),
            None => child.last_line.saturating_add(self.limits.quiet),
            Some(since) => since,
        };
        let late = world.now >= since.saturating_add(self.limits.start);
        late.then_some(Action::Expire { deadline: Deadline::Answer })
    }
}
