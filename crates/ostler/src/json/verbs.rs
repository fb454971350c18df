//! The documents of verbs that say little.

use super::event::{decision_word, word_of};
use crate::cli::Question;
use ostler_controller::client::{Interrupted, Resumed, Stopped, Verdict};
use ostler_core::ids::{DeliveryId, SessionId};
use ostler_core::record::Declaration;
use ostler_store::db::PermissionRow;
use serde::Serialize;
use serde_json::value::RawValue;
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
    why: Option<String>,
}

impl InterruptDocument {
    pub(crate) fn of(session: SessionId, done: &Interrupted) -> Self {
        let (result, still_queued, why) = match done {
            Interrupted::Confirmed(queued) => ("confirmed", queued.clone(), None),
            Interrupted::NothingRunning => ("nothing_running", Vec::new(), None),
            Interrupted::Forced(why) => ("forced", Vec::new(), Some(why.clone())),
        };
        Self { session: session.to_string(), result, still_queued, why }
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
            decision: decision_word(verdict.decision),
        }
    }
}

/// `pending`.
#[derive(Debug, Serialize)]
pub(crate) struct PendingDocument<'a> {
    permissions: Vec<PendingBody<'a>>,
}

#[derive(Debug, Serialize)]
struct PendingBody<'a> {
    session: String,
    generation: u32,
    request: &'a str,
    kind: Option<String>,
    tool: Option<&'a str>,
    argument: Option<&'a str>,
    input: Option<&'a RawValue>,
    reason: Option<&'a str>,
}

impl<'a> PendingDocument<'a> {
    pub(crate) fn of(all: &'a [(&'a PermissionRow, Question)]) -> Self {
        let one = |(row, question): &'a (&'a PermissionRow, Question)| PendingBody {
            session: row.session.to_string(),
            generation: row.journal.generation,
            request: &row.journal.request_id,
            kind: word_of(&row.journal.kind),
            tool: question.tool.as_deref(),
            argument: question.argument.as_deref(),
            input: question.input.as_deref(),
            reason: question.reason.as_deref(),
        };
        Self { permissions: all.iter().map(one).collect() }
    }
}

/// `lab`.
#[derive(Debug, Serialize)]
pub(crate) struct LabDocument {
    pub(crate) url: String,
    pub(crate) environment: BTreeMap<&'static str, String>,
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
