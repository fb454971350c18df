//! What runs in a session does not decide for it.
//!
//! A process is inside a session when it carries the marker of one of its children, descends from a process that does,
//! or is in the control group of its newest child. That stops mistakes: an agent that approves its own question because
//! it can. It does not stop malice: a process that takes pains to leave all three is not recognised.

use super::{ClientError, Ostler};
use ostler_core::ids::SessionId;
use ostler_os::scope::Scope;
use ostler_os::tree;
use std::ffi::OsStr;
use std::fs;

/// Whoever decides, so far as it can be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decider {
    /// This process.
    This,
    /// Another process of this machine: the peer of a local socket.
    Process(u32),
    /// Somebody elsewhere, who has shown a secret that is not given to children.
    Remote,
}

impl Decider {
    fn pid(self) -> Option<u32> {
        match self {
            Self::This => Some(std::process::id()),
            Self::Process(pid) => Some(pid),
            Self::Remote => None,
        }
    }
}

impl Ostler {
    /// Refuses whoever runs inside the session.
    ///
    /// # Errors
    /// [`ClientError::Inside`].
    pub fn refuse_inside(&self, session: SessionId, decider: Decider) -> Result<(), ClientError> {
        match decider.pid() {
            Some(pid) if self.is_inside(session, pid) => Err(ClientError::Inside { session }),
            _ => Ok(()),
        }
    }

    /// The same for all sessions that have a child.
    ///
    /// # Errors
    /// [`ClientError::Inside`] names the one; the store can't be read.
    pub(super) fn refuse_inside_any(&self, decider: Decider) -> Result<(), ClientError> {
        if decider == Decider::Remote {
            return Ok(());
        }
        for session in self.db().sessions_owing()? {
            if self.child_lives(session) {
                self.refuse_inside(session, decider)?;
            }
        }
        Ok(())
    }

    fn is_inside(&self, session: SessionId, pid: u32) -> bool {
        let id = session.to_string();
        let name = OsStr::new("OSTLER_SESSION");
        if pid == std::process::id() && std::env::var_os(name).is_some_and(|value| value == *id) {
            return true;
        }
        let marked = tree::by_marker(name, OsStr::new(&id)).unwrap_or_default();
        let below = |of: &u32| tree::descendants(*of).is_ok_and(|all| all.contains(&pid));
        marked.contains(&pid) || marked.iter().any(below) || self.is_in_scope(session, pid)
    }

    fn is_in_scope(&self, session: SessionId, pid: u32) -> bool {
        let dir = self.home().session(session);
        let Some(newest) = dir.generations().ok().and_then(|all| all.last().copied()) else { return false };
        let text =
            fs::read_to_string(crate::keeper::scope_file(&dir.generation(newest).path)).unwrap_or_default();
        Scope::read(&text).is_some_and(|scope| scope.members().is_ok_and(|all| all.contains(&pid)))
    }
}
