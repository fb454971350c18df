//! Stop and resume. The record moves first, durably; then the child is ended. A chore in the same transaction tells the
//! next command what is left to do when this one is killed in between.

use super::{ClientError, Ostler, Resumed, Stopped};
use crate::protocol::{Answer, Ask};
use ostler_core::ids::{Millis, SessionId};
use ostler_core::record::RecordEvent;
use ostler_store::db::Chore;

impl Ostler {
    /// Stops a session: it takes no message and nothing starts it until it is resumed, and its child is ended now.
    /// Comes back when the child's tree is dead. Stopping a stopped session makes sure of that once more.
    ///
    /// # Errors
    /// [`ClientError::NotTaking`] when it is closed. [`ClientError::Controller`]: it is stopped, but its child could
    /// not be ended yet.
    pub fn stop(&self, session: SessionId) -> Result<Stopped, ClientError> {
        let moved = self.db().move_record(session, &RecordEvent::Stops, Some(&Chore::Stop), wall())?;
        if moved.before.closed {
            return Err(ClientError::NotTaking { session, state: "closed" });
        }
        crate::crash::point("stop-recorded");
        let done = self.end_child(session)?;
        self.db().chore_done(session, &Chore::Stop)?;
        Ok(done)
    }

    /// Takes a stop back. Starts no turn by itself; messages that were accepted before the stop and that no child was
    /// given go on.
    ///
    /// # Errors
    /// [`ClientError::NotTaking`] when it is closed; [`ClientError::Controller`] when messages wait and no controller
    /// can be started for them.
    pub fn resume(&self, session: SessionId) -> Result<Resumed, ClientError> {
        let moved = self.db().move_record(session, &RecordEvent::Resumes, None, wall())?;
        if moved.before.closed {
            return Err(ClientError::NotTaking { session, state: "closed" });
        }
        let waiting = self.db().pending_deliveries(session)?.len();
        if waiting > 0 {
            self.poke(session)?;
        }
        Ok(Resumed {
            was_stopped: moved.after.is_some(),
            waiting: u32::try_from(waiting).unwrap_or(u32::MAX),
        })
    }

    /// Has the child of a stopped or closed session ended.
    pub(super) fn end_child(&self, session: SessionId) -> Result<Stopped, ClientError> {
        match self.deed(session, &Ask::Stop)? {
            Some(Answer::Ended { killed, proven }) => Ok(Stopped::Ended { killed, proven }),
            None | Some(Answer::NothingRunning) => Ok(Stopped::NothingRunning),
            Some(other) => Err(super::talk::odd(session, &other)),
        }
    }

    /// Nothing can be done with a session that is stopped or closed.
    pub(super) fn refuse_halted(&self, session: SessionId) -> Result<(), ClientError> {
        let (record, _) = self.db().record(session)?;
        match (record.closed, record.stopped) {
            (true, _) => Err(ClientError::NotTaking { session, state: "closed" }),
            (_, true) => Err(ClientError::NotTaking { session, state: "stopped" }),
            _ => Ok(()),
        }
    }

    /// A closed session answers `closed` to everything that would act on it.
    pub(super) fn refuse_closed(&self, session: SessionId) -> Result<(), ClientError> {
        match self.db().record(session)?.0.closed {
            true => Err(ClientError::NotTaking { session, state: "closed" }),
            false => Ok(()),
        }
    }

    /// Goes on with what a stop or a close has begun and nobody is at work on. True: a keeper was started for it.
    pub(super) fn do_chore(&self, session: SessionId, chore: &Chore) -> Result<bool, ClientError> {
        if self.is_attended(session)? {
            // The record says what is to be done, and its controller does it.
            return Ok(false);
        }
        if self.child_lives(session) || self.is_unburied(session)? {
            self.start_keeper(session)?;
            return Ok(true);
        }
        match chore {
            Chore::Stop => self.db().chore_done(session, chore)?,
            Chore::Close { worktree, purge } => self.go_on_closing(session, *worktree, *purge)?,
        }
        Ok(false)
    }
}

pub(super) fn wall() -> Millis {
    crate::controller::wall()
}
