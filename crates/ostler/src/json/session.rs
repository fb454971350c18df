//! Sessions: `ls`, and the head of `show`.

use crate::view::rfc3339;
use ostler_controller::client::Process;
use ostler_core::record::State;
use ostler_store::db::SessionRow;
use serde::Serialize;

/// A session as a listing sees it.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) row: SessionRow,
    pub(crate) process: Process,
    /// Questions that nobody has answered.
    pub(crate) questions: usize,
}

#[derive(Debug, Serialize)]
pub(crate) struct SessionDocument {
    id: String,
    label: Option<String>,
    state: &'static str,
    reason: Option<String>,
    declared: Option<&'static str>,
    note: Option<String>,
    online: bool,
    liveness: &'static str,
    process: &'static str,
    questions: usize,
    stopped: bool,
    closed: bool,
    conversation: String,
    cwd: String,
    host: String,
    created_at: String,
}

impl SessionDocument {
    pub(crate) fn of(listed: &Listed) -> Self {
        let row = &listed.row;
        let online = row.record.online();
        let (declared, note) = match &row.record.state {
            State::Declared { kind, note, .. } => (Some(kind.word()), note.clone()),
            _ => (None, None),
        };
        Self {
            id: row.id.to_string(),
            label: row.label.clone(),
            state: row.record.state.word(),
            reason: match &row.record.state {
                State::Error { reason } => Some(reason.clone()),
                _ => None,
            },
            declared,
            note,
            online,
            liveness: if online { "online" } else { "offline" },
            process: listed.process.phase.word(),
            questions: listed.questions,
            stopped: row.record.stopped,
            closed: row.record.closed,
            conversation: row.conversation.to_string(),
            cwd: row.cwd.clone(),
            host: row.host.clone(),
            created_at: rfc3339(row.created_at),
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct ListDocument {
    sessions: Vec<SessionDocument>,
    more: bool,
}

impl ListDocument {
    pub(crate) fn of(rows: &[Listed], more: bool) -> Self {
        Self { sessions: rows.iter().map(SessionDocument::of).collect(), more }
    }
}
