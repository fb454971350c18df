//! The child is dead: what is left of its tree, what it said last.

use super::Controller;
use super::error::ControllerError;
use crate::crash;
use ostler_core::ctl::{Event, Exit, KillReason};
use ostler_core::machine::Phase;
use ostler_os::alive;
use ostler_store::GenDir;
use std::time::{Duration, Instant};

/// How long the exit of a process may take that has closed its files.
const EXIT: Duration = Duration::from_secs(2);

impl Controller {
    /// Announces a kill and carries it out; the death itself is noticed like any other.
    pub(super) fn kill(&mut self, why: KillReason) -> Result<(), ControllerError> {
        self.say(Event::Kill { why })?;
        crash::point("kill-written");
        self.pipe = None;
        self.kill_tree()?;
        crash::point("killed");
        Ok(())
    }

    fn kill_tree(&mut self) -> Result<(), ControllerError> {
        let child = self.child.as_ref().map(|(identity, _)| identity);
        self.keeper.kill(self.machine.generation(), child).map(drop)
    }

    /// The kernel decides: a free `alive` lock is a dead child, and so is a process that ended, whatever it left behind
    /// that has inherited the lock.
    pub(super) fn notice_death(&mut self) -> Result<(), ControllerError> {
        if self.machine.phase() == Phase::Cold {
            return Ok(());
        }
        let files = self.dir.generation(self.machine.generation());
        let ended = match &self.child {
            Some((_, pidfd)) => pidfd.is_dead()?,
            None => false,
        };
        if !ended && alive::is_busy(&files.alive())? {
            if self.machine.killing() {
                // A controller before us announced it and was killed itself.
                self.kill_tree()?;
            }
            return Ok(());
        }
        self.buried(&files)
    }

    pub(super) fn buried(&mut self, files: &GenDir) -> Result<(), ControllerError> {
        // Its files are closed; its exit may take a moment more, and the row says that it is dead.
        if let Some((_, handle)) = self.child.take() {
            let _ = handle.wait(Instant::now() + EXIT)?;
        }
        self.pipe = None;
        self.pump()?;
        // What it left behind, in whatever group or session: found as our keeper's descendants and by its marker.
        crash::point("before-burial");
        let killed = self.keeper.bury(files.no)?;
        crash::point("buried");
        self.pump()?;
        let rest = self.out.as_ref().map(super::journal::OutTail::tail);
        if rest.is_some_and(|tail| tail.len > 0) {
            self.machine.torn();
        }
        let exit = exit_of(files).unwrap_or(killed.exit);
        let said = super::stderr::last_words(files);
        // The row's offset counts complete lines only: an unterminated rest is no line.
        self.say(Event::Dead { exit, proven: killed.proven, killed: killed.killed, said })?;
        crash::point("dead-written");
        self.lab = None;
        self.commit()
    }
}

/// What the keeper wrote when it reaped the child.
fn exit_of(files: &GenDir) -> Option<Exit> {
    let text = std::fs::read_to_string(files.exit()).ok()?;
    match text.trim().split_once(' ')? {
        ("code", n) => n.parse().ok().map(Exit::Code),
        ("signal", n) => n.parse().ok().map(Exit::Signal),
        _ => None,
    }
}
