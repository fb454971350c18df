//! Durable first, then the store.
//!
//! The store is never ahead of the journal: whatever it says can be folded again from files that are on the disk.

use super::error::ControllerError;
use super::{Controller, log, transcript};
use crate::crash;
use ostler_core::ctl::Event;
use ostler_core::machine::{Declared, Machine};
use ostler_core::record::{Record, RecordEvent, State};
use ostler_core::rows::Projection;
use ostler_os::durable::fdatasync;
use ostler_store::DbError;
use ostler_store::db::RecordChange;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Between two commits that nothing urgent asks for: at most four a second.
const PACE: Duration = Duration::from_millis(250);
/// How often the record, which faces move too, is looked at while no row changes.
const RECORD: Duration = Duration::from_secs(2);
/// How often a record that others keep changing is tried.
const RACES: u32 = 8;

impl Controller {
    /// The turn is over: everything it said is brought to the disk, then its row, then the store.
    pub(super) fn settle(&mut self, gave_up_tasks: u32) -> Result<(), ControllerError> {
        crash::point("before-settled");
        let Some(turn) = self.machine.open_turn() else { return Ok(()) };
        if let Some(out) = &self.out {
            fdatasync(out.file())?;
        }
        self.keep_transcript();
        self.continue_what_was_cut()?;
        self.continue_what_stalled()?;
        self.continue_behind_a_limit()?;
        crash::point("continued");
        self.say(Event::Settled { turn, gave_up_tasks })?;
        if let Some(ctl) = &self.ctl {
            ctl.sync()?;
        }
        crash::point("settled-written");
        self.learn_of_limit()?;
        self.wants.rested_since = Some(self.now());
        self.commit()?;
        crash::point("settled");
        Ok(())
    }

    /// A link of ours to the transcript, as far as there is one: some CLIs write theirs only a while after they have
    /// answered, and all of it when they leave. So this is done when a turn settles and again when its child is dead.
    pub(super) fn keep_transcript(&self) {
        let link = self.dir.transcript();
        let kept = transcript::keep(self.config_dir().as_deref(), self.machine.conversation(), &link);
        if let Err(error) = kept {
            log(&format!("no link to the transcript: {error}"));
        }
    }

    /// Where this session's children keep their transcripts.
    pub(super) fn config_dir(&self) -> Option<PathBuf> {
        if self.spec.lab.is_some() {
            return Some(self.lab_config_dir());
        }
        let stored = |name: &str| self.spec.environment.values.get(name).map(PathBuf::from);
        let inherited = |name: &str| std::env::var_os(name).map(PathBuf::from);
        stored("CLAUDE_CONFIG_DIR")
            .or_else(|| stored("HOME").map(|home| home.join(".claude")))
            .or_else(|| inherited("HOME").map(|home| home.join(".claude")))
    }

    pub(super) fn commit_if_due(&mut self) -> Result<(), ControllerError> {
        let due = self.committed.is_none_or(|at| at.elapsed() >= PACE);
        if !self.dirty || !due {
            return Ok(());
        }
        // Most lines change no row: two hundred children that stream would keep the store busy with nothing.
        let stored = self.stored.as_ref().filter(|(at, _)| at.elapsed() < RECORD);
        if !self.full.store && stored.is_some_and(|(_, rows)| *rows == self.machine.project()) {
            self.dirty = false;
            self.committed = Some(Instant::now());
            return Ok(());
        }
        self.commit()
    }

    /// Writes what the machine knows to the store, record included. A store that can't be written is tried again; the
    /// journal has everything.
    pub(super) fn commit(&mut self) -> Result<(), ControllerError> {
        let rows = self.machine.project();
        match self.store(&rows) {
            Ok(()) => {
                self.stored = Some((Instant::now(), rows));
                self.dirty = false;
                self.full.store = false;
            }
            Err(error @ (DbError::DiskFull { .. } | DbError::Busy { .. })) => {
                if !self.full.store {
                    log(&format!("the store could not be written: {error}"));
                }
                self.full.store = matches!(error, DbError::DiskFull { .. });
            }
            Err(error) => return Err(error.into()),
        }
        self.committed = Some(Instant::now());
        Ok(())
    }

    fn store(&self, rows: &Projection) -> Result<(), DbError> {
        for _ in 0..RACES {
            let (record, revision) = self.db.record(self.session)?;
            let change = wanted(&self.machine, &record).map(|new| RecordChange { expected: revision, new });
            let done = self.db.commit_projection(self.session, rows, change.as_ref())?;
            if done.record_set {
                break;
            }
        }
        self.db.set_conversation(self.session, self.machine.conversation())
    }
}

/// The record that the machine's state asks for; None when it is right already, or not ours to change.
pub(crate) fn wanted(machine: &Machine, record: &Record) -> Option<Record> {
    let turn = machine.rows().turns.last()?.no;
    let mut next = record.clone();
    let mut apply = |event| next = next.after(&event).unwrap_or_else(|| next.clone());
    // A turn that runs, or one that began and settled between two commits.
    let unseen = match &record.state {
        State::New => true,
        State::Declared { turn: before, .. } => turn > *before,
        State::Idle | State::Error { .. } => machine.declared().is_some(),
        State::Active => false,
    };
    if unseen || machine.open_turn().is_some() {
        apply(RecordEvent::TurnStarts { turn });
    }
    if let Some(Declared { kind, note, turn }) = machine.declared().cloned() {
        apply(RecordEvent::Declares { kind, note, turn });
    }
    if let Some((outcome, failure)) = machine.last_outcome().filter(|_| machine.open_turn().is_none()) {
        apply(RecordEvent::TurnSettled { outcome, failure });
    }
    (next != *record).then_some(next)
}
