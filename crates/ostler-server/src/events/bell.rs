//! A bell: somebody rings it when files changed, and any number of tasks wait for that.
//!
//! It says only that something happened, never what: whoever hears it looks for himself. So nothing is queued for anybody,
//! and ringing twice is ringing once.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

/// Rung when files may have changed.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    rung: u64,
    /// How often it was rung because a folder changed: there may be other files to watch since.
    moved: u64,
    next_ear: u64,
    waiting: Vec<(u64, Waker)>,
}

/// How often a bell was rung, to see later whether it was rung again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rung {
    all: u64,
    /// Of those, how often because a folder changed.
    pub(crate) moved: u64,
}

impl Bell {
    /// Wakes everybody who waits. `moved`: a folder changed.
    pub(crate) fn ring(&self, moved: bool) {
        let waiting = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.rung += 1;
            state.moved += u64::from(moved);
            std::mem::take(&mut state.waiting)
        };
        waiting.into_iter().for_each(|(_, waker)| waker.wake());
    }

    /// An ear for it.
    pub(crate) fn ear(self: &Arc<Self>) -> Ear {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.next_ear += 1;
        Ear { id: state.next_ear, bell: Arc::clone(self) }
    }
}

/// One who may wait for a bell.
#[derive(Debug)]
pub(crate) struct Ear {
    bell: Arc<Bell>,
    id: u64,
}

impl Ear {
    /// How often it was rung by now. To be asked before one looks at what the bell is about: then no change between the
    /// look and the waiting is missed.
    pub(crate) fn rung(&self) -> Rung {
        let state = self.bell.state.lock().unwrap_or_else(PoisonError::into_inner);
        Rung { all: state.rung, moved: state.moved }
    }

    /// Ready when it was rung after `since`.
    pub(crate) fn poll_rung(&self, cx: &Context<'_>, since: Rung) -> Poll<()> {
        let mut state = self.bell.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.rung != since.all {
            return Poll::Ready(());
        }
        match state.waiting.iter_mut().find(|(id, _)| *id == self.id) {
            Some((_, waker)) => waker.clone_from(cx.waker()),
            None => state.waiting.push((self.id, cx.waker().clone())),
        }
        Poll::Pending
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        let mut state = self.bell.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.waiting.retain(|(id, _)| *id != self.id);
    }
}
