//! Sessions: `ls`, and the head of `show`.

use crate::view::rfc3339;
use ostler_core::record::State;
use ostler_store::db::SessionRow;
use serde::Serialize;

#[derive(Debug, Serialize)]
pub(crate) struct SessionDocument {
    id: String,
    label: Option<String>,
    state: &'static str,
    reason: Option<String>,
    online: bool,
    stopped: bool,
    closed: bool,
    conversation: String,
    cwd: String,
    host: String,
    created_at: String,
}

impl SessionDocument {
    pub(crate) fn of(row: &SessionRow) -> Self {
        Self {
            id: row.id.to_string(),
            label: row.label.clone(),
            state: row.record.state.word(),
            reason: match &row.record.state {
                State::Error { reason } => Some(reason.clone()),
                _ => None,
            },
            online: row.record.online(),
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
    pub(crate) fn of(rows: &[SessionRow], more: bool) -> Self {
        Self { sessions: rows.iter().map(SessionDocument::of).collect(), more }
    }
}
