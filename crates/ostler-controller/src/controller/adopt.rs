//! Another controller's child.

use super::error::ControllerError;
use super::pipe::Pipe;
use super::{Controller, log};
use ostler_core::ctl::{Event, Exit};
use ostler_core::machine::Phase;
use ostler_os::process::{self, Identity, PidFd};
use ostler_os::{alive, tree};
use ostler_store::GenDir;
use std::ffi::OsStr;

impl Controller {
    /// After the fold: a child that lives is taken over, one that died meanwhile is buried.
    pub(super) fn take_over(&mut self) -> Result<(), ControllerError> {
        if self.machine.phase() == Phase::Cold {
            return Ok(());
        }
        // How long a child at rest has been resting is not known; it counts from here.
        self.wants.rested_since = Some(self.now());
        let files = self.dir.generation(self.machine.generation());
        self.pump()?;
        if !alive::is_busy(&files.alive())? {
            return if self.machine.phase() == Phase::Starting && !files.alive().exists() {
                // Killed before the fork: it never ran, and the delivery that it was for is offered to the next. What
                // its keeper had made for it goes.
                self.keeper.bury(&files)?;
                self.say(Event::Dead { exit: Exit::Unknown, proven: true, killed: 0, said: None })
            } else {
                self.notice_death()
            };
        }
        self.count_child()?;
        let identity = self.who_is_it(&files)?;
        if self.machine.phase() == Phase::Starting {
            let (pid, start, boot) = match &identity {
                Some(id) => (id.pid, id.start_ticks, id.boot_id.clone()),
                None => (0, 0, process::boot_id()?),
            };
            self.say(Event::Child { pid, start, boot })?;
        }
        let version = crate::crash::version();
        self.say(Event::Adopted { pid: std::process::id(), version })?;
        self.pipe = Pipe::open(&files.in_()).map_err(|e| log(&super::error::chain(&e))).ok();
        if let Some(identity) = identity {
            match PidFd::open_identity(&identity)? {
                Some(handle) => self.child = Some((identity, handle)),
                // It is dead, and something that it left behind holds its lock.
                None => return self.buried(&files),
            }
        }
        if self.spec.lab.is_some() {
            self.hold_lab()?;
        }
        Ok(())
    }

    /// From its row, from the keeper that started it, or by the marker in its environment. Only used to wait for its
    /// death and to send signals: whether it lives is the lock's to say.
    fn who_is_it(&mut self, files: &GenDir) -> Result<Option<Identity>, ControllerError> {
        let rows = self.ctl.as_ref().map(ostler_store::CtlFile::rows).transpose()?.unwrap_or_default();
        for line in rows.into_iter().rev() {
            if let ostler_store::CtlLine::Row(row) = line
                && let Event::Child { pid, start, boot } = row.ev
            {
                return Ok(Some(Identity { pid, start_ticks: start, boot_id: boot }));
            }
        }
        if let Some(identity) = self.keeper.child(files.no)? {
            return Ok(Some(identity));
        }
        let generation = files.no.to_string();
        let session = self.session.to_string();
        let marked = tree::by_marker(OsStr::new("OSTLER_SESSION"), OsStr::new(&session))?;
        let same = tree::by_marker(OsStr::new("OSTLER_GENERATION"), OsStr::new(&generation))?;
        // The oldest of them is the child itself.
        let mut found = Vec::new();
        for pid in marked.into_iter().filter(|pid| same.contains(pid)) {
            found.extend(process::identity_of(pid)?);
        }
        Ok(found.into_iter().min_by_key(|id| id.start_ticks))
    }
}
