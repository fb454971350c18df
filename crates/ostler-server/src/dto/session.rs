//! Sessions.

use super::rfc3339;
use ostler_controller::client::{ClientError, Ostler, Process};
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
    /// `online` or `offline`: the same as a word.
    liveness: &'static str,
    /// What the operating system has of it: `cold`, `starting`, `resident`, `ending`.
    process: &'static str,
    /// Questions that nobody has answered.
    questions: usize,
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
    /// With what a listing says besides its row.
    pub(crate) fn read(ostler: &Ostler, row: &SessionRow) -> Result<Self, ClientError> {
        let questions = ostler.db().pending_permissions(Some(row.id))?.len();
        Ok(Self::of(row, ostler.process(row.id), questions))
    }

    fn of(row: &SessionRow, process: Process, questions: usize) -> Self {
        let (declared, note) = match &row.record.state {
            State::Declared { kind, note, .. } => (Some(kind.word()), note.clone()),
            _ => (None, None),
        };
        let online = row.record.online();
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
            process: process.phase.word(),
            questions,
            stopped: row.record.stopped,
            closed: row.record.closed,
            conversation: row.conversation.to_string(),
            cwd: row.cwd.clone(),
            host: row.host.clone(),
            created_at: rfc3339(row.created_at),
        }
    }
}
