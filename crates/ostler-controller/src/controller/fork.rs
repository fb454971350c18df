//! A fork's first start: what it copies, what it has to find, and what it waits for.

use super::error::ControllerError;
use super::gate::{Waits, slot};
use super::{Controller, journal, transcript};
use ostler_core::ctl::Event;
use ostler_core::spec::{Forked, OnMiss};
use ostler_os::lockfile;
use std::ffi::OsString;
use std::path::PathBuf;

impl Controller {
    /// What the conversation begins as a copy of; nothing once `/clear` has begun another one.
    pub(super) fn copies(&self) -> Option<&Forked> {
        let own = self.machine.conversation().0 == self.session.0;
        self.spec.fork.as_ref().filter(|_| own)
    }

    /// The transcript that is copied, linked back where a clean-up has deleted it. It must be the one that the fork was
    /// accepted for.
    pub(super) fn source_of(&self, fork: &Forked, env: &[(OsString, OsString)]) -> Result<PathBuf, String> {
        let link = self.home.session(fork.session).transcript();
        let Some(path) = transcript::find_or_link_back(env, fork.conversation, &link) else {
            return Err(format!(
                "the transcript of session {}, which this one copies, is gone",
                fork.session
            ));
        };
        let now = transcript::print(&path)
            .map_err(|e| format!("the transcript {} can't be read: {e}", path.display()))?;
        if now != fork.transcript {
            return Err(format!(
                "session {}, which this one copies, has changed since: its transcript has {} bytes and had {}",
                fork.session, now.bytes, fork.transcript.bytes
            ));
        }
        Ok(path)
    }

    /// The row that says what the first request must find, unless one was seen already.
    pub(super) fn say_what_it_forks(&mut self) -> Result<(), ControllerError> {
        let Some(fork) = self.copies().filter(|_| !self.machine.cache_known()) else { return Ok(()) };
        let event = Event::Forks {
            from: fork.conversation,
            expected_read: fork.expected_read,
            interrupt: fork.on_miss == OnMiss::Interrupt,
        };
        self.say(event)
    }

    /// False: it waits for other forks. What it has to hold besides is held.
    pub(super) fn may_fork(&mut self) -> Result<bool, ControllerError> {
        if self.gate.fork.is_none() {
            self.count_fork()?;
        }
        if self.fork_slots().is_some() && self.gate.fork.is_none() {
            self.gate.wait_for(Waits::Forks);
            return Ok(false);
        }
        if self.gate.canary.is_none() && !self.is_warm()? {
            let Some(base) = self.spec.fork.as_ref().and_then(|fork| fork.base) else { return Ok(true) };
            let file = self.home.slots_dir().join(format!("canary-{base}"));
            self.gate.canary = lockfile::try_lock(&file)?;
            if self.gate.canary.is_none() {
                // Who waits holds nothing that another one needs.
                self.gate.fork = None;
                self.gate.wait_for(Waits::Canary);
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A slot among the forks of the same source, where there is a limit and one is free.
    pub(super) fn count_fork(&mut self) -> Result<(), ControllerError> {
        if let Some((dir, most)) = self.fork_slots() {
            self.gate.fork = slot(&dir, u64::from(most))?;
        }
        Ok(())
    }

    /// Where those slots are, and how many; none without a limit, nor where the source was deleted since.
    fn fork_slots(&self) -> Option<(PathBuf, u32)> {
        let fork = self.spec.fork.as_ref()?;
        let source = self.home.session(fork.session);
        Some((source.fork_slots(), fork.parallel?)).filter(|_| source.path.exists())
    }

    /// Nobody has to go first: the base's prefix is in the cache, as far as that can be known, or this start doesn't
    /// read it.
    fn is_warm(&self) -> Result<bool, ControllerError> {
        let first = self.copies().filter(|f| f.forced.is_empty() && !self.machine.cache_known());
        let Some(base) = first.and_then(|fork| fork.base) else { return Ok(true) };
        let Some(facts) = self.db.base(base)?.and_then(|base| base.facts) else { return Ok(true) };
        let until = facts.warm_until(self.db.base_read_last(base)?);
        Ok(until.is_some_and(|until| until > journal::wall()))
    }
}
