//! Sessions.

use super::rfc3339;
use ostler_core::record::State;
use ostler_store::db::SessionRow;
use serde::Serialize;
use utoipa::ToSchema;

/// A session as a listing sees it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionBody {
    /// Its id.
    id: String,
    /// A name for people.
    label: Option<String>,
    /// `new`, `active`, `idle`, `declared`, `error`.
    state: &'static str,
    /// Why, if it is an error.
    reason: Option<String>,
    /// `done`, `review`, `blocked`, `asking`, if its agent declared something.
    declared: Option<&'static str>,
    /// The agent's note to that.
    note: Option<String>,
    /// True while it is neither stopped nor closed.
    online: bool,
    /// It takes no message until it is resumed.
    stopped: bool,
    /// It takes none any more.
    closed: bool,
    /// Claude's own session id.
    conversation: String,
    /// Working directory.
    cwd: String,
    /// The machine that it lives on.
    host: String,
    /// When it was created.
    created_at: String,
}

impl SessionBody {
    pub(crate) fn of(row: &SessionRow) -> Self {
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
