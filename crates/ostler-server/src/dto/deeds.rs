//! What became of an interrupt, a stop, a resume, a close.

use ostler_controller::client::{BrokenOff, Closed, Interrupted, Resumed, Stopped, Tree};
use ostler_core::ids::SessionId;
use serde::Serialize;
use utoipa::ToSchema;

/// What became of an interrupt.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct InterruptBody {
    /// The session.
    session: String,
    /// `confirmed`, `nothing_running`, `forced`.
    result: &'static str,
    /// Messages that will still be answered.
    still_queued: Vec<String>,
    /// Waiting messages that were taken back, because that was asked for.
    cancelled: Vec<String>,
    /// Why it had to be forced.
    why: Option<String>,
}

impl InterruptBody {
    pub(crate) fn of(session: SessionId, done: &BrokenOff) -> Self {
        let (result, still_queued, why) = match &done.how {
            Interrupted::Confirmed(queued) => ("confirmed", queued.clone(), None),
            Interrupted::NothingRunning => ("nothing_running", Vec::new(), None),
            Interrupted::Forced(why) => ("forced", Vec::new(), Some(why.clone())),
        };
        let cancelled = done.cancelled.iter().map(ToString::to_string).collect();
        Self { session: session.to_string(), result, still_queued, cancelled, why }
    }
}

/// What became of a stop.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StopBody {
    /// The session.
    session: String,
    /// `ended`, `nothing_running`, `not_proven` (stopped, and something of it may be left).
    result: &'static str,
    /// Processes that had to be killed besides claude.
    killed: Option<u32>,
    /// All of its processes are proven gone.
    proven: Option<bool>,
    /// Messages that wait for a resume.
    waiting: usize,
}

impl StopBody {
    pub(crate) fn of(session: SessionId, done: &Stopped, waiting: usize) -> Self {
        let (result, killed, proven) = match done {
            Stopped::Ended { killed, proven: true } => ("ended", Some(*killed), Some(true)),
            Stopped::Ended { killed, proven: false } => ("not_proven", Some(*killed), Some(false)),
            Stopped::NothingRunning => ("nothing_running", None, None),
        };
        Self { session: session.to_string(), result, killed, proven, waiting }
    }
}

/// What became of a resume.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ResumeBody {
    /// The session.
    session: String,
    /// It was stopped until now.
    was_stopped: bool,
    /// Messages from before the stop, which go on now.
    waiting: u32,
}

impl ResumeBody {
    pub(crate) fn of(session: SessionId, done: &Resumed) -> Self {
        Self { session: session.to_string(), was_stopped: done.was_stopped, waiting: done.waiting }
    }
}

/// What became of a close.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CloseBody {
    /// The session.
    session: String,
    /// Processes that had to be killed besides claude; null: nothing was running.
    killed: Option<u32>,
    /// All of its processes are proven gone.
    proven: Option<bool>,
    /// Messages that waited and were taken back.
    cancelled: u32,
    /// `removed`, `kept`, `refused` (it changed meanwhile, and stays); null: it had none.
    worktree: Option<&'static str>,
    /// Where the worktree is or was.
    path: Option<String>,
    /// Its branch, if that stays though the worktree is removed.
    branch: Option<String>,
    /// What would have been lost.
    why: Option<String>,
    /// Everything of the session is deleted.
    purged: bool,
}

impl CloseBody {
    pub(crate) fn of(session: SessionId, done: Closed) -> Self {
        let (killed, proven) = match done.stopped {
            Stopped::Ended { killed, proven } => (Some(killed), Some(proven)),
            Stopped::NothingRunning => (None, None),
        };
        let (worktree, path, branch, why) = match done.tree {
            None => (None, None, None, None),
            Some(Tree::Removed { path, branch }) => (Some("removed"), Some(path), branch, None),
            Some(Tree::Kept { path }) => (Some("kept"), Some(path), None, None),
            Some(Tree::Refused { path, why }) => (Some("refused"), Some(path), None, Some(why)),
        };
        let session = session.to_string();
        let (cancelled, purged) = (done.cancelled, done.purged);
        Self { session, killed, proven, cancelled, worktree, path, branch, why, purged }
    }
}
