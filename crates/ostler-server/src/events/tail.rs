//! A follower that a task can wait with.

use super::bell::Rung;
use super::hub::{Hub, Visit};
use ostler_store::{Cursor, Follower, Found, JournalError};
use std::sync::Arc;
use std::task::{Context, Poll};

/// A session's journal from some place on, and what comes.
#[derive(Debug)]
pub(crate) struct Tail {
    follower: Follower,
    visit: Visit,
    /// Before the last look.
    rung: Rung,
    gone: bool,
}

impl Tail {
    /// From where `follower` is.
    pub(crate) fn new(hub: &Arc<Hub>, follower: Follower) -> Self {
        let visit = hub.enter(&follower.dir().path);
        let rung = visit.ear().rung();
        Self { follower, visit, rung, gone: false }
    }

    /// What comes next, read through `buf`; None when there is nothing more right now. Reads at most `buf`'s length of whole
    /// lines.
    ///
    /// # Errors
    /// A file can't be read.
    pub(crate) fn look<'a>(&mut self, buf: &'a mut [u8]) -> Result<Option<Found<'a>>, JournalError> {
        self.rung = self.visit.ear().rung();
        self.follower.next_into(buf)
    }

    /// Of the lines that [`Self::look`] found last, only the first `bytes` bytes were taken.
    ///
    /// # Errors
    /// A file can't be read.
    pub(crate) fn took(&mut self, before: Cursor, bytes: usize) -> Result<(), JournalError> {
        self.follower.took(before, bytes)
    }

    /// Ready when it is worth looking again, after a look that found nothing.
    pub(crate) fn poll_more(&mut self, cx: &Context<'_>) -> Poll<()> {
        let (follower, gone) = (&self.follower, &mut self.gone);
        let paths = || {
            let paths = follower.watch_paths();
            *gone = paths.is_empty();
            paths
        };
        if self.visit.attend(self.rung, follower.generation(), paths) || self.gone {
            return Poll::Ready(());
        }
        self.visit.ear().poll_rung(cx, self.rung)
    }

    /// The place behind what was given out last.
    pub(crate) fn cursor(&self) -> Cursor {
        self.follower.cursor()
    }

    /// The follower itself.
    pub(crate) fn follower(&self) -> &Follower {
        &self.follower
    }

    /// The session's folder is gone: it was purged.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone
    }

    /// The server leaves.
    pub(crate) fn is_leaving(&self) -> bool {
        self.visit.hub().is_leaving()
    }
}
