//! What people and the agent say of the session: its record moves by its table alone.

use super::session::{Killed, Session};
use ostler_core::ctl::Event;
use ostler_core::machine::{Declared, Phase};
use ostler_core::record::{Declaration, RecordEvent, State};

impl Session {
    /// Stopped or closed.
    pub(super) fn halted(&self) -> bool {
        !self.record.online()
    }

    /// As the store does it: by the table, and only where that says so.
    pub(super) fn apply(&mut self, event: &RecordEvent) {
        if let Some(record) = self.record.after(event) {
            self.record = record;
        }
    }

    /// The agent declares something, if it may.
    pub(super) fn declare(&mut self, arg: u32) {
        let Some(machine) = self.machine.as_ref().filter(|_| !self.halted()) else { return };
        let Ok(turn) = machine.may_declare(machine.generation()) else { return };
        let declaration = Declaration::ALL[arg as usize % 4];
        // Nobody is killed here: the controller's own steps are where that is tried.
        if self.say(Event::Declared { declaration, note: None, turn }).is_ok() {
            let now = &self.record.state;
            assert!(matches!(now, State::Declared { kind, .. } if *kind == declaration), "{now:?}");
            self.declarations += 1;
        }
    }

    /// Whatever the machine says, through the record's table.
    pub(super) fn move_record(&mut self) {
        let Some(machine) = &self.machine else { return };
        let Some(turn) = machine.rows().turns.last().map(|t| t.no) else { return };
        let (open, declared) = (machine.open_turn().is_some(), machine.declared().cloned());
        let outcome = machine.last_outcome();
        let unseen = match &self.record.state {
            State::Declared { turn: before, .. } => turn > *before,
            state => *state == State::New,
        };
        if open || unseen {
            self.apply(&RecordEvent::TurnStarts { turn });
        }
        if let Some(Declared { kind, note, turn }) = declared {
            self.apply(&RecordEvent::Declares { kind, note, turn });
        }
        if let Some((outcome, failure)) = outcome.filter(|_| !open) {
            self.apply(&RecordEvent::TurnSettled { outcome, failure });
        }
    }

    /// How long a message has been waiting behind a declared record.
    pub(super) fn count_the_wait(&mut self) {
        let Some(machine) = &self.machine else { return };
        let ended = |id| machine.rows().deliveries.iter().any(|d| d.id == id && d.state.is_final());
        let waits = machine.declared().is_some() && self.pending().iter().any(|p| !ended(p.id));
        self.waits = waits.then(|| self.waits.unwrap_or(self.now));
    }

    /// What a dead child of a closed session was given and has no end.
    pub(super) fn close_the_journal(&mut self) -> Result<(), Killed> {
        let machine = self.machine.as_ref().unwrap();
        let at_rest = machine.phase() == Phase::Cold && machine.open_turn().is_none();
        let open = machine.rows().deliveries.iter().any(|d| !d.state.is_final());
        if at_rest && open && self.record.closed { self.say(Event::Closed) } else { Ok(()) }
    }
}
