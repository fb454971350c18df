//! What the machine can't know: the store, the clock, what people ask for.

use super::Controller;
use super::error::ControllerError;
use ostler_core::ids::SessionId;
use ostler_core::machine::{Action, Machine, Mode, Pending, Policy, Stored, Wish, World};
use ostler_core::spec::PermissionPolicy;
use ostler_store::Db;
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
    pub(super) interrupt: Option<Wish>,
    /// When the interrupt was asked for.
    pub(super) interrupt_since: u64,
    pub(super) stop: bool,
    read: Option<Instant>,
    /// When the last turn settled, as far as this controller saw.
    pub(super) rested_since: Option<u64>,
}

impl Wants {
    /// The store has changed, or may have.
    pub(super) fn must_refresh(&mut self) {
        self.read = None;
    }

    pub(super) fn refresh(
        &mut self,
        db: &Db,
        session: SessionId,
        machine: &Machine,
    ) -> Result<(), ControllerError> {
        if self.read.is_some_and(|at| at.elapsed() < REFRESH) {
            return Ok(());
        }
        self.read = Some(Instant::now());
        // What the store calls pending may be final already: the journal knows first.
        let ended = machine.rows();
        let is_final = |id| ended.deliveries.iter().any(|d| d.id == id && d.state.is_final());
        let mut pending = Vec::new();
        for row in db.pending_deliveries(session)? {
            if is_final(row.id) {
                continue;
            }
            let Some(delivery) = db.delivery(row.id)? else { continue };
            let mode = match row.mode {
                ostler_store::db::Mode::Queue => Mode::Queue,
                _ => Mode::Auto,
            };
            let line_len = delivery.body_len + ENVELOPE;
            pending.push(Pending { id: row.id, mode, line_len, accepted_at: delivery.created_at });
        }
        self.pending = pending;
        let stored = db.decisions_to_write(session)?.into_iter().map(|d| Stored {
            generation: d.generation,
            request_id: d.request_id,
            decision: d.decision,
            by: d.by,
            message: d.message,
        });
        self.stored = stored.collect();
        Ok(())
    }
}

impl Controller {
    /// Looks at the store, unless it was just done.
    pub(super) fn refresh(&mut self) -> Result<(), ControllerError> {
        self.wants.refresh(&self.db, self.session, &self.machine)
    }

    /// What to do next.
    pub(super) fn decide(&mut self) -> Option<Action> {
        let now = self.now();
        let (ready, capacity) =
            self.pipe.as_ref().map_or((false, u64::MAX), |p| (p.is_ready(), p.capacity()));
        let policy = match self.spec.permission_policy {
            PermissionPolicy::Allow => Policy::Allow,
            PermissionPolicy::Deny => Policy::Deny,
            _ => Policy::Ask,
        };
        self.mind_the_disk();
        let rows = &self.machine.rows().deliveries;
        self.wants.pending.retain(|p| !rows.iter().any(|d| d.id == p.id && d.state.is_final()));
        let world = World {
            now,
            pending: &self.wants.pending,
            stored: &self.wants.stored,
            policy,
            pipe_ready: ready,
            pipe_capacity: capacity,
            interrupt: self.wants.interrupt.as_ref(),
            stop: self.wants.stop,
            hold: self.disk_full || self.wants.stop,
            rested: self.wants.rested_since.map_or(0, |t| now.saturating_sub(t)),
        };
        self.machine.decide(&world)
    }

    /// On a full disk the turn is interrupted, so that its result fits into the reserve.
    fn mind_the_disk(&mut self) {
        if self.disk_full && self.machine.open_turn().is_some() && self.wants.interrupt.is_none() {
            let request_id = format!("ostler-disk-full-{}", self.machine.generation());
            self.wants.interrupt = Some(Wish { request_id, cancel_queued: true });
            self.wants.interrupt_since = self.now();
        }
    }
}
