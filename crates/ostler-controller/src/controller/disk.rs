//! Full disks: what was begun is brought to its end inside the reserves, and nothing new is begun.
//!
//! `out` and `ctl` have space allocated ahead. When that can't be topped up any more, or the store can't be written,
//! the turn is interrupted, so that its result still finds room; the child is ended; the session is parked. The next
//! message goes on where there is room again.

use super::Controller;
use super::error::ControllerError;
use super::log;
use ostler_core::ctl::Event;
use ostler_core::machine::{Phase, Wish};
use ostler_os::durable;
use ostler_os::reserve::{self, ReserveError};
use ostler_store::CtlError;
use std::path::Path;

/// What is kept allocated ahead.
pub(super) const OUT_RESERVE: u64 = 4 << 20;
pub(super) const CTL_RESERVE: u64 = 256 << 10;
/// What must be free before a generation is started: its reserves, and a little for its small files.
const ROOM: u64 = OUT_RESERVE + CTL_RESERVE + (256 << 10);

/// Which disks are full, as far as it was noticed.
#[derive(Debug, Default)]
pub(super) struct Full {
    journal: bool,
    pub(super) store: bool,
}

impl Full {
    pub(super) const fn any(&self) -> bool {
        self.journal || self.store
    }
}

impl Controller {
    /// Keeps the reserves of a child's files; a disk that has none left for them is noticed before it eats a line.
    pub(super) fn top_up(&mut self) {
        if self.machine.phase() == Phase::Cold {
            return;
        }
        let out = self.out.as_mut().and_then(super::journal::OutTail::top_up);
        let ctl = self.ctl.as_mut().map(ostler_store::CtlFile::top_up);
        match (out, ctl) {
            (Some(Err(ReserveError::DiskFull(full))), _) => self.notice_full_disk(&full.to_string()),
            (_, Some(Err(error @ CtlError::DiskFull { .. }))) => self.notice_full_disk(&error.to_string()),
            (Some(Err(error)), _) => log(&format!("no reserve for out: {error}")),
            (Some(Ok(_)), _) => self.full.journal = false,
            (None, _) => {}
        }
    }

    /// Four megabytes a generation would add up.
    pub(super) fn release_out(&self) {
        let released = self.out.as_ref().map(|out| reserve::release_tail(out.file()));
        if let Some(Err(error)) = released {
            log(&format!("the reserve of out stays: {error}"));
        }
    }

    /// No row comes any more: the next generation has a file of its own, or this controller leaves.
    pub(super) fn release_ctl(&mut self) {
        let released = self.ctl.as_mut().map(ostler_store::CtlFile::release);
        if let Some(Err(error)) = released {
            log(&format!("the reserve of ctl stays: {error}"));
        }
    }

    pub(super) fn notice_full_disk(&mut self, what: &str) {
        if !self.full.journal {
            log(&format!("the disk is full: {what}"));
            self.full.journal = true;
        }
    }

    /// Before anything is started.
    pub(super) fn look_for_room(&mut self) {
        if self.machine.phase() != Phase::Cold {
            return;
        }
        match durable::free_space(&self.dir.path) {
            Ok(free) if free < ROOM => self.notice_full_disk(&format!("{free} bytes free, {ROOM} wanted")),
            Ok(_) => self.full.journal = false,
            Err(error) => log(&format!("not known how much space is free: {error}")),
        }
    }

    /// The turn is interrupted, so that its result fits into the reserve.
    pub(super) fn interrupt_for_the_disk(&mut self) {
        let Some(turn) = self.machine.open_turn().filter(|_| self.full.any()) else { return };
        if self.wants.interrupt.is_none() {
            let request_id = format!("ostler-disk-full-{}-{turn}", self.machine.generation());
            self.wants.interrupt = Some(Wish { request_id, cancel_queued: true });
            self.wants.interrupt_since = self.now();
        }
    }

    /// What was full may have room by now.
    pub(super) fn look_again(&mut self) -> Result<(), ControllerError> {
        if self.full.journal {
            self.look_for_room();
        }
        if self.full.store { self.commit() } else { Ok(()) }
    }

    /// Nothing is started any more until somebody sends something, and there is room.
    pub(super) fn park_for_the_disk(&mut self) -> Result<(), ControllerError> {
        if !self.full.any() || !self.is_at_rest() {
            return Ok(());
        }
        self.look_again()?;
        let Some(reason) = self.full_disk() else { return Ok(()) };
        let parked = self.machine.parked().is_some_and(|why| why == reason);
        if parked && !self.machine.owes(&self.wants.pending) {
            return Ok(());
        }
        match self.say(Event::Parked { reason, seen: Some(self.wants.seen) }) {
            // Not even this row has room. It is tried again; whoever asks is told meanwhile.
            Err(ControllerError::Ctl(CtlError::DiskFull { .. })) => Ok(()),
            said => said,
        }
    }

    /// For people: which disk is full.
    pub(super) fn full_disk(&self) -> Option<String> {
        let place = if self.full.journal { &self.dir.path } else { self.home.root() };
        self.full.any().then(|| disk_full(place))
    }
}

/// For people: why nothing goes on.
pub(crate) fn disk_full(place: &Path) -> String {
    format!("disk full: no space left for {}; free some, and the next message goes on", place.display())
}
