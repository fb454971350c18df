//! What the machine can't know: the store, the clock, what people ask for.

use super::Controller;
use super::error::ControllerError;
use ostler_core::ids::{DeliveryId, SessionId};
use ostler_core::machine::{Action, Machine, Mode, Pending, Policy, Stored, Wish, World};
use ostler_core::rule::{Place, Rule};
use ostler_core::spec::PermissionPolicy;
use ostler_store::{Db, DbError};
use std::time::{Duration, Instant};

/// How often the store is read when nobody pokes.
const REFRESH: Duration = Duration::from_millis(500);
/// Room that the envelope of a `user` line takes around its content, in bytes; more than it really is.
const ENVELOPE: u64 = 512;

/// What waits in the store and what people asked for over the socket.
#[derive(Debug, Default)]
pub(super) struct Wants {
    pub(super) pending: Vec<Pending>,
    pub(super) stored: Vec<Stored>,
    /// Every permission rule there is.
    pub(super) rules: Vec<Rule>,
    pub(super) interrupt: Option<Wish>,
    /// When the interrupt was asked for.
    pub(super) interrupt_since: u64,
    /// The session is stopped or closed: nothing is started, and a child that lives is ended.
    pub(super) halted: bool,
    /// Since when a delivery has been waiting behind a declared record.
    pub(super) waits_since: Option<u64>,
    /// Another version is to go on.
    pub(super) leave: bool,
    /// The interrupt that a delivery with mode `now` needs, and since when.
    pub(super) breaking: Option<(Wish, u64)>,
    /// Deliveries that somebody wants back from the child's queue.
    pub(super) cancels: Vec<DeliveryId>,
    /// The turn that somebody interrupted while its watchdog was at it.
    pub(super) broken_off: Option<u32>,
    read: Option<Instant>,
    /// The newest delivery that was read, by its place among all.
    pub(super) seen: u64,
    glance: Option<ostler_store::db::Glance>,
    /// When the last turn settled, as far as this controller saw.
    pub(super) rested_since: Option<u64>,
}

impl Wants {
    /// The store has changed, or may have.
    pub(super) fn must_refresh(&mut self) {
        self.read = None;
    }

    /// True when the store was read.
    pub(super) fn refresh(
        &mut self,
        db: &Db,
        session: SessionId,
        machine: &Machine,
    ) -> Result<bool, ControllerError> {
        if self.read.is_some_and(|at| at.elapsed() < REFRESH) {
            return Ok(false);
        }
        let told = self.read.replace(Instant::now()).is_none();
        // Asked in any case: what it sees now is what is read now.
        let changed = self.glance.get_or_insert_with(|| db.glance()).changed();
        if !told && !changed {
            return Ok(false);
        }
        let done = self.read_store(db, session, machine);
        if done.is_err() {
            self.must_refresh();
        }
        done.map(|()| true)
    }

    fn read_store(&mut self, db: &Db, session: SessionId, machine: &Machine) -> Result<(), ControllerError> {
        // What the store calls pending may be final already: the journal knows first.
        let ended = machine.rows();
        let is_final = |id| ended.deliveries.iter().any(|d| d.id == id && d.state.is_final());
        let (record, _) = db.record(session)?;
        self.halted = !record.online();
        self.pending = if self.halted { Vec::new() } else { pending(db, session)? };
        self.seen = self.pending.iter().map(|p| p.seq).fold(self.seen, u64::max);
        self.pending.retain(|p| !is_final(p.id));
        let stored = db.decisions_to_write(session)?.into_iter().map(|d| Stored {
            generation: d.generation,
            request_id: d.request_id,
            by: d.by,
            reply: d.reply,
        });
        self.stored = stored.collect();
        self.rules = db.rules()?;
        Ok(())
    }
}

/// What the store says is not final, in the order of its acceptance.
pub(crate) fn pending(db: &Db, session: SessionId) -> Result<Vec<Pending>, DbError> {
    let mut pending = Vec::new();
    for row in db.pending_deliveries(session)? {
        let mode = match row.mode {
            ostler_store::db::Mode::Queue => Mode::Queue,
            ostler_store::db::Mode::Now => Mode::Now,
            ostler_store::db::Mode::Auto => Mode::Auto,
        };
        let line_len = row.body_len + ENVELOPE;
        pending.push(Pending { id: row.id, mode, line_len, seq: row.seq, accepted_at: row.created_at });
    }
    Ok(pending)
}

impl Controller {
    /// Looks at the store, unless it was just done.
    pub(super) fn refresh(&mut self) -> Result<(), ControllerError> {
        if self.wants.refresh(&self.db, self.session, &self.machine)? {
            self.slim.touched();
        }
        Ok(())
    }

    /// How long the first message has been waiting for a child whose agent has declared.
    fn count_the_wait(&mut self, now: u64) {
        let waits = self.machine.declared().is_some() && !self.wants.pending.is_empty();
        self.wants.waits_since = waits.then(|| self.wants.waits_since.unwrap_or(now));
    }

    /// What to do next.
    pub(super) fn decide(&mut self) -> Option<Action> {
        let now = self.now();
        let (ready, capacity) =
            self.pipe.as_ref().map_or((false, u64::MAX), |p| (p.is_ready(), p.capacity()));
        let policy = match self.spec.permission_policy {
            PermissionPolicy::Allow => Policy::Allow,
            PermissionPolicy::Deny => Policy::Deny,
            PermissionPolicy::Rules => Policy::Rules,
            PermissionPolicy::Ask => Policy::Ask,
        };
        if !self.wants.pending.is_empty() {
            self.look_for_room();
        }
        self.interrupt_for_the_disk();
        self.count_the_wait(now);
        let rows = &self.machine.rows().deliveries;
        self.wants.pending.retain(|p| !rows.iter().any(|d| d.id == p.id && d.state.is_final()));
        // Nothing is given to a child whose answer would find no room.
        let pending = if self.full.any() { &[][..] } else { &self.wants.pending };
        let known = self.wants.breaking.take();
        self.wants.breaking = self.machine.now_wish(pending).map(|wish| match known {
            Some((same, since)) if same == wish => (wish, since),
            _ => (wish, now),
        });
        let breaking = self.wants.breaking.as_ref().map(|(wish, _)| wish);
        let world = World {
            now,
            wall: super::journal::wall(),
            pending,
            stored: &self.wants.stored,
            policy,
            rules: &self.wants.rules,
            place: Place { session: Some(self.session), label: self.label.as_deref(), cwd: &self.spec.cwd },
            permission_timeout: self.spec.permission_timeout,
            auto_continue: self.spec.auto_continue,
            pipe_ready: ready,
            pipe_capacity: capacity,
            interrupt: self.wants.interrupt.as_ref().or(breaking),
            cancels: &self.wants.cancels,
            stop: self.wants.halted,
            hold: self.full.any() || self.wants.halted,
            declared: self.machine.declared().is_some(),
            waited: self.wants.waits_since.map_or(0, |t| now.saturating_sub(t)),
            limited: self.gate.limited(),
            rested: self.wants.rested_since.map_or(0, |t| now.saturating_sub(t)),
        };
        self.machine.decide(&world)
    }
}
