//! Events: one a line, from verbs that go on.

use crate::view::rfc3339;
use ostler_core::ctl::{self, Decision, Exit, Line};
use ostler_core::ids::{DeliveryId, SessionId};
use ostler_core::spec::LaunchSpec;
use ostler_store::Entry;
use serde::Serialize;
use serde_json::value::RawValue;
use std::path::Path;

/// The first event of `run`: what was started.
#[derive(Debug, Serialize)]
pub(crate) struct SessionEvent {
    event: &'static str,
    session: String,
    label: Option<String>,
    delivery: String,
    cwd: String,
    model: String,
    claude: String,
    lab: bool,
    home: String,
}

impl SessionEvent {
    pub(crate) fn of(
        session: SessionId,
        label: Option<&str>,
        delivery: DeliveryId,
        spec: &LaunchSpec,
        home: &Path,
    ) -> Self {
        Self {
            event: "session",
            session: session.to_string(),
            label: label.map(str::to_owned),
            delivery: delivery.to_string(),
            cwd: spec.cwd.clone(),
            model: spec.model.clone(),
            claude: spec.launcher.resolved.version.clone(),
            lab: spec.lab.is_some(),
            home: home.display().to_string(),
        }
    }
}

/// An entry of the journal.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum JournalEvent {
    /// What follows is about this process of the session.
    Generation { generation: u32 },
    /// A line that claude wrote, unchanged.
    Line { cursor: String, generation: u32, message: Box<RawValue> },
    /// Bytes that are no message; `watch --raw` has them.
    Garbled { cursor: String, generation: u32, file: &'static str, start: u64, end: u64 },
    /// What ostler wrote to claude or decided.
    Control(Box<ControlEvent>),
}

/// A row of ours. Which fields have a value depends on `kind`.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ControlEvent {
    cursor: String,
    generation: u32,
    at: String,
    kind: &'static str,
    delivery: Option<String>,
    request: Option<String>,
    subtype: Option<String>,
    decision: Option<&'static str>,
    by: Option<String>,
    message: Option<String>,
    turn: Option<u32>,
    pid: Option<u32>,
    exit_code: Option<i32>,
    exit_signal: Option<i32>,
    killed: Option<u32>,
    proven: Option<bool>,
    cache: Option<super::CacheBody>,
}

impl JournalEvent {
    pub(crate) fn of(entry: &Entry) -> Self {
        match entry {
            Entry::Generation { no } => Self::Generation { generation: *no },
            Entry::Out { no, start, end, bytes, cursor } => {
                let text = std::str::from_utf8(bytes).ok().map(str::trim).filter(|t| t.starts_with('{'));
                match text.and_then(|t| RawValue::from_string(t.to_owned()).ok()) {
                    Some(message) => Self::Line { cursor: cursor.to_string(), generation: *no, message },
                    None => garbled(cursor, *no, "out", *start, *end),
                }
            }
            Entry::OutOversized { no, start, end, cursor } => garbled(cursor, *no, "out", *start, *end),
            Entry::Tail { no, start, len, cursor } => garbled(cursor, *no, "out", *start, start + len),
            Entry::CtlGarbled { no, start, end, cursor } => garbled(cursor, *no, "ctl", *start, *end),
            Entry::Ctl { no, row, cursor, .. } => {
                let place = ControlEvent {
                    cursor: cursor.to_string(),
                    generation: *no,
                    at: rfc3339(row.at),
                    ..ControlEvent::default()
                };
                Self::Control(Box::new(place.saying(&row.ev)))
            }
        }
    }
}

fn garbled(
    cursor: &ostler_store::Cursor,
    generation: u32,
    file: &'static str,
    start: u64,
    end: u64,
) -> JournalEvent {
    JournalEvent::Garbled { cursor: cursor.to_string(), generation, file, start, end }
}

impl ControlEvent {
    fn saying(self, event: &ctl::Event) -> Self {
        use ctl::Event as E;
        match event {
            E::Spawn { .. } => Self { kind: "spawn", ..self },
            E::Forks { from, .. } => Self { kind: "forks", message: Some(from.to_string()), ..self },
            E::Cache { seen } => Self { kind: "cache", cache: Some((*seen).into()), ..self },
            E::Child { pid, .. } => Self { kind: "child", pid: Some(*pid), ..self },
            E::Begin { line, .. } => Self { kind: "write", ..self.about(line) },
            E::Done { .. } => Self { kind: "written", ..self },
            E::Decided { request_id, decision, by, message, .. } => Self {
                kind: "decided",
                request: Some(request_id.clone()),
                decision: Some(decision_word(*decision)),
                by: Some(by.clone()),
                message: message.clone(),
                ..self
            },
            E::Asked { request_id } => Self { kind: "asked", request: Some(request_id.clone()), ..self },
            E::Exhausted { request_id } => {
                Self { kind: "auto_continue_exhausted", request: Some(request_id.clone()), ..self }
            }
            E::Adopted { pid, .. } => Self { kind: "adopted", pid: Some(*pid), ..self },
            E::Expired { deadline } => Self { kind: "expired", message: word_of(deadline), ..self },
            E::Ending { why } => Self { kind: "ending", message: word_of(why), ..self },
            E::Kill { why } => Self { kind: "kill", message: word_of(why), ..self },
            E::Dead { exit, proven, killed, said } => Self {
                kind: "dead",
                exit_code: if let Exit::Code(code) = exit { Some(*code) } else { None },
                exit_signal: if let Exit::Signal(signal) = exit { Some(*signal) } else { None },
                killed: Some(*killed),
                proven: Some(*proven),
                message: said.clone(),
                ..self
            },
            E::TurnBegan { turn } => Self { kind: "turn_began", turn: Some(*turn), ..self },
            E::Settled { turn, .. } => Self { kind: "settled", turn: Some(*turn), ..self },
            E::Cancelled { delivery } => {
                Self { kind: "cancelled", delivery: Some(delivery.to_string()), ..self }
            }
            E::Parked { reason, .. } => Self { kind: "parked", message: Some(reason.clone()), ..self },
            E::Slow { silent } => {
                Self { kind: "slow", message: Some(format!("silent for {} s", silent / 1000)), ..self }
            }
            E::Foreign { bytes } => Self {
                kind: "foreign",
                message: Some(format!("transcript changed by {bytes} bytes")),
                ..self
            },
            E::Declared { declaration, note, turn } => Self {
                kind: "declared",
                subtype: Some(declaration.word().to_owned()),
                message: note.clone(),
                turn: Some(*turn),
                ..self
            },
            E::Closed => Self { kind: "closed", ..self },
            E::Note { text } => Self { kind: "note", message: Some(text.clone()), ..self },
            E::Unknown => Self { kind: "unknown", ..self },
        }
    }

    fn about(self, line: &Line) -> Self {
        match line {
            Line::User { delivery } => {
                Self { subtype: Some("user".to_owned()), delivery: Some(delivery.to_string()), ..self }
            }
            Line::Request { request_id, subtype, about, .. } => Self {
                subtype: Some(subtype.clone()),
                request: Some(request_id.clone()),
                delivery: about.map(|d| d.to_string()),
                ..self
            },
            Line::Answer { request_id } => {
                Self { subtype: Some("answer".to_owned()), request: Some(request_id.clone()), ..self }
            }
        }
    }
}

pub(super) const fn decision_word(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "allow",
        Decision::Deny => "deny",
    }
}

/// The word under which a plain enum is stored.
pub(super) fn word_of(value: &impl Serialize) -> Option<String> {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => Some(word),
        _ => None,
    }
}
