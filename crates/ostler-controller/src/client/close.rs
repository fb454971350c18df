//! Close: the end of a session. Its record is closed first, with a chore that says the rest; every step behind that may
//! be done twice, so whoever finds the chore goes on with it.

use super::halt::wall;
use super::{ClientError, Closed, Decider, Ostler, Stopped, Tree, worktree};
use crate::crash;
use ostler_core::ids::SessionId;
use ostler_core::record::RecordEvent;
use ostler_core::rows::DeliveryState;
use ostler_core::spec::{LaunchSpec, Worktree};
use ostler_os::lockfile;
use ostler_store::SessionFile;
use ostler_store::db::{Chore, Fate};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// For another process that closes the same session, and for keeper and controller to leave.
const PATIENCE: Duration = Duration::from_secs(20);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(5);
/// How the folder of a session is called while it is deleted.
pub(super) const PURGED: &str = ".purged-";

impl Ostler {
    /// Closes a session for good: its child is ended, messages that wait are taken back, its worktree is treated as
    /// said. Record, journal and ledger stay, unless `purge`.
    ///
    /// # Errors
    /// [`ClientError::NotTaking`] when it is closed already (unless `purge`); [`ClientError::Worktree`] when work would
    /// be lost: nothing has happened then; [`ClientError::Inside`]; [`ClientError::Controller`]: it is closed, and the
    /// next command goes on.
    pub fn close(&self, session: SessionId, fate: Fate, purge: bool) -> Result<Closed, ClientError> {
        let (record, _) = self.db().record(session)?;
        if record.closed && !purge {
            return Err(ClientError::NotTaking { session, state: "closed" });
        }
        if purge {
            self.refuse_inside(session, Decider::This)?;
        }
        let made = self.worktree_of(session);
        if let Some(made) = made.as_ref().filter(|_| fate == Fate::Remove) {
            worktree::check(made).map_err(|source| ClientError::Worktree { session, source })?;
        }
        let chore = Chore::Close { worktree: fate, purge };
        self.db().move_record(session, &RecordEvent::Closes, Some(&chore), wall())?;
        crash::point("close-recorded");
        let lock = lockfile::lock_within(&self.closing(session), PATIENCE).map_err(|e| file("lock", e))?;
        if lock.is_none() {
            let why = "another process is closing it and does not come to an end".to_owned();
            return Err(ClientError::Controller { session, why });
        }
        self.finish_close(session, fate, purge)
    }

    /// Goes on with a close that somebody began and did not finish; nothing while somebody is at it.
    pub(super) fn go_on_closing(
        &self,
        session: SessionId,
        fate: Fate,
        purge: bool,
    ) -> Result<(), ClientError> {
        if !self.home().session(session).path.exists() {
            // Killed between the folder and the rows; or somebody deleted the folder.
            let chore = Chore::Close { worktree: fate, purge };
            return if purge { self.purge(session) } else { Ok(self.db().chore_done(session, &chore)?) };
        }
        match lockfile::try_lock(&self.closing(session)).map_err(|e| file("lock", e))? {
            Some(_lock) => self.finish_close(session, fate, purge).map(drop),
            None => Ok(()),
        }
    }

    fn closing(&self, session: SessionId) -> PathBuf {
        self.home().session(session).path.join("closing")
    }

    fn finish_close(&self, session: SessionId, fate: Fate, purge: bool) -> Result<Closed, ClientError> {
        let stopped = self.end_child(session)?;
        crash::point("close-ended");
        let cancelled = self.take_back(session)?;
        crash::point("close-cancelled");
        let tree = self.worktree_of(session).map(|made| end_worktree(&made, fate));
        crash::point("close-worktree");
        let proven = !matches!(stopped, Stopped::Ended { proven: false, .. });
        // Nothing is deleted under what may be alive, nor the only story of a worktree that stays for its changes.
        let purged = purge && proven && !matches!(tree, Some(Tree::Refused { .. }));
        if purged {
            self.purge(session)?;
        } else {
            self.db().chore_done(session, &Chore::Close { worktree: fate, purge })?;
        }
        Ok(Closed { stopped, cancelled, tree, purged })
    }

    /// Takes back everything that has no end: what was never written by a mark in the store, what a dead child was given
    /// by a row in its journal, which a controller has to write.
    fn take_back(&self, session: SessionId) -> Result<u32, ClientError> {
        let cancelled = self.db().cancel_unwritten(session)?;
        let deadline = Instant::now() + PATIENCE;
        let written = self.db().pending_deliveries(session)?;
        while !self.db().pending_deliveries(session)?.is_empty() {
            if !self.is_attended(session)? {
                self.start_keeper(session)?;
            }
            if Instant::now() >= deadline {
                let why = "it does not take back what was written".to_owned();
                return Err(ClientError::Controller { session, why });
            }
            std::thread::sleep(LOOK * 10);
        }
        // What a dead child had begun with is cut, and was not taken back.
        let mut back = cancelled;
        for pending in written {
            let row = self.db().delivery(pending.id)?;
            back += u32::from(row.is_some_and(|row| row.state == DeliveryState::Cancelled));
        }
        Ok(back)
    }

    /// Deletes folder and rows, so that a kill in between leaves either the chore or a folder that `gc` knows by its name.
    pub(super) fn purge(&self, session: SessionId) -> Result<(), ClientError> {
        let deadline = Instant::now() + PATIENCE;
        while self.is_attended(session)? || self.child_lives(session) {
            if Instant::now() >= deadline {
                let why = "keeper or controller does not leave".to_owned();
                return Err(ClientError::Controller { session, why });
            }
            std::thread::sleep(LOOK);
        }
        let dir = self.home().session(session);
        let gone = self.home().sessions_dir().join(format!("{PURGED}{session}"));
        match fs::rename(&dir.path, &gone) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            done => done.map_err(|source| io_failed("delete", &dir.path, source))?,
        }
        ostler_os::durable::sync_dir(&self.home().sessions_dir()).map_err(|e| file("delete", e))?;
        crash::point("purge-renamed");
        self.db().forget_session(session)?;
        crash::point("purge-forgotten");
        match fs::remove_dir_all(&gone) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done.map_err(|source| io_failed("delete", &gone, source)),
        }
    }

    /// The worktree that ostler made for a session.
    pub(super) fn worktree_of(&self, session: SessionId) -> Option<Worktree> {
        let file = SessionFile::read(&self.home().session(session)).ok()?;
        LaunchSpec::from_json(file.spec.get()).ok()?.worktree
    }
}

fn end_worktree(made: &Worktree, fate: Fate) -> Tree {
    let path = made.path.clone();
    match fate {
        Fate::Keep => Tree::Kept { path },
        Fate::Remove | Fate::Discard => match worktree::remove(made, fate == Fate::Discard) {
            Ok(true) => Tree::Removed { path, branch: None },
            Ok(false) => Tree::Removed { path, branch: Some(made.branch.clone()) },
            // It changed since it was looked at first. The session is closed; what was worked on stays.
            Err(error) => Tree::Refused { path, why: error.to_string() },
        },
    }
}

fn file(what: &'static str, error: ostler_os::PathError) -> ClientError {
    ClientError::File { what, path: error.path.clone(), source: Box::new(error) }
}

fn io_failed(what: &'static str, path: &Path, source: io::Error) -> ClientError {
    ClientError::File { what, path: path.to_owned(), source: Box::new(source) }
}
