//! What a fork finds in the prompt cache.
//!
//! A fork's first request repeats everything that its source had sent. What the source's last request read and wrote is
//! what the fork must find (protocol page, "Cost and cache"); its first message in the main lane says what it found. Later
//! requests say nothing about the copy: they read what the fork itself has written.

use super::child::Child;
use super::{Action, InterruptStatus, Machine, World};
use crate::rows::{CacheSeen, CacheVerdict, LastRequest, Tokens};
use claude_wire::{Assistant, Usage};

/// What a fork's child has to find.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expects {
    read: u64,
    /// A miss ends the turn.
    interrupt: bool,
    /// What its first request found: read, written.
    found: Option<(u64, u64)>,
}

impl Machine {
    /// The last request of the main lane, over all generations.
    #[must_use]
    pub const fn last_request(&self) -> Option<&LastRequest> {
        self.last_request.as_ref()
    }

    /// The tools that the last `init` announced, sorted; None: none ever did.
    #[must_use]
    pub fn tools(&self) -> Option<&[String]> {
        self.tools.as_deref()
    }

    /// Somewhere a fork's first request has been seen: nothing is to be expected of a later start.
    #[must_use]
    pub fn cache_known(&self) -> bool {
        self.rows.generations.iter().any(|g| g.cache.is_some())
    }

    pub(super) fn forking(&mut self, read: u64, interrupt: bool) {
        self.with_child(|c| c.expects = Some(Expects { read, interrupt, found: None }));
    }

    pub(super) fn cache_seen(&mut self, seen: CacheSeen) {
        if let Some(generation) = self.rows.generations.last_mut() {
            generation.cache = Some(seen);
        }
    }

    pub(super) fn tools_are(&mut self, tools: &[String]) {
        let mut sorted = tools.to_vec();
        sorted.sort_unstable();
        self.tools = Some(sorted);
    }

    /// A line of the model's: what its request read and wrote.
    pub(super) fn request_seen(&mut self, line: &Assistant) {
        let main = line.common.parent_tool_use_id.is_none() && line.error.is_none() && !line.is_synthetic();
        let Some(usage) = line.usage.as_ref().filter(|_| main) else { return };
        self.found(usage);
        let request = LastRequest { model: line.model.clone().unwrap_or_default(), tokens: input(usage) };
        // Only the first of a message's lines splits what was written by its time to live.
        let unsplit = request.tokens.cache_write_1h == 0;
        let again = self.last_request.as_ref().is_some_and(|known| {
            unsplit && known.model == request.model && known.expected_read() == request.expected_read()
        });
        if !again {
            self.last_request = Some(request);
        }
    }

    /// What the first request of the main lane found. Said where its message begins to stream, and again on its first
    /// line, which comes a whole block later.
    pub(super) fn found(&mut self, usage: &Usage) {
        self.with_child(|c| {
            if let Some(expects) = &mut c.expects {
                expects.found.get_or_insert((usage.cache_read, usage.cache_write()));
            }
        });
    }

    /// The row about the first request, and the interrupt of one that missed.
    pub(super) fn cache_watch(&self, child: &Child, world: &World<'_>) -> Option<Action> {
        let expects = child.expects.as_ref()?;
        let (read, written) = expects.found?;
        let noted = self.rows.generations.last().and_then(|g| g.cache);
        let Some(seen) = noted else {
            return Some(Action::CacheSeen { seen: CacheSeen { expected: expects.read, read, written } });
        };
        let missed = expects.interrupt && seen.verdict() == CacheVerdict::Miss;
        let may_write = world.pipe_ready && child.ending.is_none() && child.interrupt.is_none();
        if !missed || !may_write || self.open_turn().is_none() {
            return None;
        }
        let id = format!("ostler-miss-{}", child.no);
        let unsent = child.interrupt_status(&id) == InterruptStatus::NotSent;
        unsent.then_some(Action::Request { request_id: Some(id), subtype: "interrupt", cancel_queued: false })
    }
}

fn input(usage: &Usage) -> Tokens {
    Tokens {
        input: usage.input,
        output: 0,
        cache_read: usage.cache_read,
        cache_write_5m: usage.cache_write_5m,
        cache_write_1h: usage.cache_write_1h,
    }
}
