//! The documents of verbs that say little.

use super::event::decision_word;
use ostler_controller::client::{BrokenOff, Closed, Interrupted, Resumed, Rubbish, Stopped, Tree, Verdict};
use ostler_core::ids::{DeliveryId, SessionId};
use ostler_core::record::Declaration;
use serde::Serialize;
use std::collections::BTreeMap;

/// `start`.
#[derive(Debug, Serialize)]
pub(crate) struct StartDocument {
    session: String,
    label: Option<String>,
    delivery: String,
    go_on: String,
}

impl StartDocument {
    pub(crate) fn of(session: SessionId, label: Option<String>, delivery: DeliveryId, go_on: String) -> Self {
        Self { session: session.to_string(), label, delivery: delivery.to_string(), go_on }
    }
}

/// `send`.
#[derive(Debug, Serialize)]
pub(crate) struct SendDocument {
    session: String,
    delivery: String,
}

impl SendDocument {
    pub(crate) fn of(session: SessionId, delivery: DeliveryId) -> Self {
        Self { session: session.to_string(), delivery: delivery.to_string() }
    }
}

/// `interrupt`.
#[derive(Debug, Serialize)]
pub(crate) struct InterruptDocument {
    session: String,
    result: &'static str,
    still_queued: Vec<String>,
    cancelled: Vec<String>,
    why: Option<String>,
}

impl InterruptDocument {
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

/// `cancel`.
#[derive(Debug, Serialize)]
pub(crate) struct CancelDocument {
    session: String,
    delivery: String,
}

impl CancelDocument {
    pub(crate) fn of(session: SessionId, delivery: DeliveryId) -> Self {
        Self { session: session.to_string(), delivery: delivery.to_string() }
    }
}

/// `stop`.
#[derive(Debug, Serialize)]
pub(crate) struct StopDocument {
    session: String,
    result: &'static str,
    killed: Option<u32>,
    proven: Option<bool>,
    waiting: usize,
}

impl StopDocument {
    pub(crate) fn of(session: SessionId, done: &Stopped, waiting: usize) -> Self {
        let (result, killed, proven) = match done {
            Stopped::Ended { killed, proven: true } => ("ended", Some(*killed), Some(true)),
            Stopped::Ended { killed, proven: false } => ("not_proven", Some(*killed), Some(false)),
            Stopped::NothingRunning => ("nothing_running", None, None),
        };
        Self { session: session.to_string(), result, killed, proven, waiting }
    }
}

/// `resume`.
#[derive(Debug, Serialize)]
pub(crate) struct ResumeDocument {
    session: String,
    was_stopped: bool,
    waiting: u32,
}

impl ResumeDocument {
    pub(crate) fn of(session: SessionId, done: &Resumed) -> Self {
        Self { session: session.to_string(), was_stopped: done.was_stopped, waiting: done.waiting }
    }
}

/// `close`.
#[derive(Debug, Serialize)]
pub(crate) struct CloseDocument<'a> {
    session: String,
    killed: Option<u32>,
    proven: Option<bool>,
    cancelled: u32,
    worktree: Option<&'static str>,
    path: Option<&'a str>,
    branch: Option<&'a str>,
    why: Option<&'a str>,
    purged: bool,
}

impl<'a> CloseDocument<'a> {
    pub(crate) fn of(session: SessionId, done: &'a Closed) -> Self {
        let (killed, proven) = match done.stopped {
            Stopped::Ended { killed, proven } => (Some(killed), Some(proven)),
            Stopped::NothingRunning => (None, None),
        };
        let (worktree, path, branch, why) = match &done.tree {
            None => (None, None, None, None),
            Some(Tree::Removed { path, branch }) => {
                (Some("removed"), Some(path.as_str()), branch.as_deref(), None)
            }
            Some(Tree::Kept { path }) => (Some("kept"), Some(path.as_str()), None, None),
            Some(Tree::Refused { path, why }) => {
                (Some("refused"), Some(path.as_str()), None, Some(why.as_str()))
            }
        };
        let session = session.to_string();
        let (cancelled, purged) = (done.cancelled, done.purged);
        Self { session, killed, proven, cancelled, worktree, path, branch, why, purged }
    }
}

/// `gc`.
#[derive(Debug, Serialize)]
pub(crate) struct GcDocument {
    dry_run: bool,
    bytes: u64,
    deleted: Vec<RubbishBody>,
}

#[derive(Debug, Serialize)]
struct RubbishBody {
    kind: &'static str,
    path: String,
    session: Option<String>,
    bytes: u64,
}

impl GcDocument {
    pub(crate) fn of(found: &[Rubbish], dry_run: bool) -> Self {
        let one = |r: &Rubbish| RubbishBody {
            kind: r.kind.word(),
            path: r.path.display().to_string(),
            session: r.session.map(|id| id.to_string()),
            bytes: r.bytes,
        };
        let bytes = found.iter().map(|r| r.bytes).sum();
        Self { dry_run, bytes, deleted: found.iter().map(one).collect() }
    }
}

/// `declare`.
#[derive(Debug, Serialize)]
pub(crate) struct DeclareDocument<'a> {
    session: String,
    declared: &'static str,
    note: Option<&'a str>,
    turn: u32,
}

impl<'a> DeclareDocument<'a> {
    pub(crate) fn of(session: SessionId, kind: Declaration, note: Option<&'a str>, turn: u32) -> Self {
        Self { session: session.to_string(), declared: kind.word(), note, turn }
    }
}

/// `approve`, `deny`.
#[derive(Debug, Serialize)]
pub(crate) struct DecisionDocument {
    session: String,
    generation: u32,
    request: String,
    decision: &'static str,
}

impl DecisionDocument {
    pub(crate) fn of(session: SessionId, verdict: &Verdict) -> Self {
        Self {
            session: session.to_string(),
            generation: verdict.generation,
            request: verdict.request_id.clone(),
            decision: decision_word(verdict.choice.decision()),
        }
    }
}

/// `lab`.
#[derive(Debug, Serialize)]
pub(crate) struct LabDocument {
    pub(crate) url: String,
    pub(crate) environment: BTreeMap<&'static str, String>,
}

/// `serve`, as soon as it listens.
#[derive(Debug, Serialize)]
pub(crate) struct ServeDocument {
    addresses: Vec<String>,
    socket: Option<String>,
    token_file: String,
    bridge: Option<String>,
}

impl ServeDocument {
    pub(crate) fn of(ready: &ostler_server::Ready) -> Self {
        Self {
            addresses: ready.addresses.iter().map(|a| format!("http://{a}")).collect(),
            socket: ready.socket.as_ref().map(|p| p.display().to_string()),
            token_file: ready.token_file.display().to_string(),
            bridge: ready.bridge.as_ref().map(|b| format!("http://{}", b.address)),
        }
    }
}

/// `completions`.
#[derive(Debug, Serialize)]
pub(crate) struct CompletionsDocument {
    shell: String,
    script: String,
}

impl CompletionsDocument {
    pub(crate) const fn of(shell: String, script: String) -> Self {
        Self { shell, script }
    }
}

/// `man`.
#[derive(Debug, Serialize)]
pub(crate) struct ManDocument {
    files: Vec<String>,
}

impl ManDocument {
    pub(crate) const fn of(files: Vec<String>) -> Self {
        Self { files }
    }
}
