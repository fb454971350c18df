//! What ostler wrote to claude or decided, as the API tells it: the `control` events of docs/json.md.

use crate::dto::{CacheBody, rfc3339};
use ostler_core::ctl::{self, Decision, Exit, Line, Row};
use ostler_core::ids::GenerationNo;
use serde::Serialize;
use utoipa::ToSchema;

/// A row of ours. Which fields have a value depends on `kind`.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct ControlBody {
    /// The process; 0: none.
    generation: u32,
    /// When.
    at: String,
    /// What happened.
    kind: &'static str,
    /// The message that it is about.
    delivery: Option<String>,
    /// The control request that it is about.
    request: Option<String>,
    /// Of a write: `user`, `answer`, or the control request's subtype; what was declared.
    subtype: Option<String>,
    /// `allow`, `deny`.
    decision: Option<&'static str>,
    /// Who decided.
    by: Option<String>,
    /// A reason or a text.
    message: Option<String>,
    /// The turn that began or settled.
    turn: Option<u32>,
    /// The process id.
    pid: Option<u32>,
    /// How the process ended.
    exit_code: Option<i32>,
    /// The signal that ended it.
    exit_signal: Option<i32>,
    /// Processes that it left and that were killed.
    killed: Option<u32>,
    /// All of its processes are proven gone.
    proven: Option<bool>,
    /// Of `cache`: what a fork's first request found in the prompt cache.
    cache: Option<CacheBody>,
}

impl ControlBody {
    pub(crate) fn of(generation: GenerationNo, row: &Row) -> Self {
        let place = Self { generation, at: rfc3339(row.at), kind: kind(&row.ev), ..Self::default() };
        place.saying(&row.ev)
    }

    fn saying(self, event: &ctl::Event) -> Self {
        use ctl::Event as E;
        match event {
            E::Spawn { delivery, .. } => Self { delivery: Some(delivery.to_string()), ..self },
            E::Forks { from, .. } => Self { message: Some(from.to_string()), ..self },
            E::Cache { seen } => Self { cache: Some((*seen).into()), ..self },
            E::Child { pid, .. } | E::Adopted { pid, .. } => Self { pid: Some(*pid), ..self },
            E::Begin { line, .. } => self.about(line),
            E::Decided { request_id, decision, by, message, .. } => Self {
                request: Some(request_id.clone()),
                decision: Some(decision_word(*decision)),
                by: Some(by.clone()),
                message: message.clone(),
                ..self
            },
            E::Asked { request_id } | E::Exhausted { request_id } => {
                Self { request: Some(request_id.clone()), ..self }
            }
            E::Expired { deadline } => Self { message: word_of(deadline), ..self },
            E::Ending { why } => Self { message: word_of(why), ..self },
            E::Kill { why } => Self { message: word_of(why), ..self },
            E::Dead { exit, proven, killed, said } => Self {
                exit_code: if let Exit::Code(code) = exit { Some(*code) } else { None },
                exit_signal: if let Exit::Signal(signal) = exit { Some(*signal) } else { None },
                killed: Some(*killed),
                proven: Some(*proven),
                message: said.clone(),
                ..self
            },
            E::TurnBegan { turn } | E::Settled { turn, .. } => Self { turn: Some(*turn), ..self },
            E::Cancelled { delivery } => Self { delivery: Some(delivery.to_string()), ..self },
            E::Parked { reason, .. } => Self { message: Some(reason.clone()), ..self },
            E::Slow { silent } => Self { message: Some(format!("silent for {} s", silent / 1000)), ..self },
            E::Foreign { bytes } => {
                Self { message: Some(format!("transcript changed by {bytes} bytes")), ..self }
            }
            E::Declared { declaration, note, turn } => Self {
                subtype: Some(declaration.word().to_owned()),
                message: note.clone(),
                turn: Some(*turn),
                ..self
            },
            E::Note { text } => Self { message: Some(text.clone()), ..self },
            E::Done { .. } | E::Closed | E::Unknown => self,
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

/// The word for what happened.
pub(crate) const fn kind(event: &ctl::Event) -> &'static str {
    use ctl::Event as E;
    match event {
        E::Spawn { .. } => "spawn",
        E::Forks { .. } => "forks",
        E::Cache { .. } => "cache",
        E::Child { .. } => "child",
        E::Begin { .. } => "write",
        E::Done { .. } => "written",
        E::Decided { .. } => "decided",
        E::Asked { .. } => "asked",
        E::Exhausted { .. } => "auto_continue_exhausted",
        E::Adopted { .. } => "adopted",
        E::Expired { .. } => "expired",
        E::Ending { .. } => "ending",
        E::Kill { .. } => "kill",
        E::Dead { .. } => "dead",
        E::TurnBegan { .. } => "turn_began",
        E::Settled { .. } => "settled",
        E::Cancelled { .. } => "cancelled",
        E::Parked { .. } => "parked",
        E::Slow { .. } => "slow",
        E::Foreign { .. } => "foreign",
        E::Declared { .. } => "declared",
        E::Closed => "closed",
        E::Note { .. } => "note",
        E::Unknown => "unknown",
    }
}

const fn decision_word(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "allow",
        Decision::Deny => "deny",
    }
}

/// The word under which a plain enum is stored.
fn word_of(value: &impl Serialize) -> Option<String> {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => Some(word),
        _ => None,
    }
}
