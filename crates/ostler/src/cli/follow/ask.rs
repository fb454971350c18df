//! Questions of the child: put to the person at the terminal, or denied where nobody can be asked.
//!
//! The store is what counts: a question is asked while its row is open, and the prompt goes away when somebody else was
//! first.

use crate::cli::face::now;
use crate::cli::question;
use crate::failure::{Failure, Kind};
use ostler_controller::client::{ClientError, Ostler, Verdict};
use ostler_core::ctl::Decision;
use ostler_core::ids::{GenerationNo, SessionId};
use ostler_os::poll::{Pollable, Source};
use ostler_os::term::{Key, RawMode};
use ostler_store::db::PermissionRow;
use std::time::Instant;

/// Who answers questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Asking {
    /// The person at this terminal.
    Person,
    /// Nobody is there: no.
    Deny,
    /// Not we: a policy, or somebody else.
    Others,
}

/// What a child is told when nobody can be asked.
const NOBODY: &str = "Nobody can be asked: this run has no terminal. Do without it.";

/// The one who asks.
pub(super) struct Asker {
    asking: Asking,
    open: Option<Open>,
}

/// A question that a person looks at.
struct Open {
    name: (GenerationNo, String),
    keys: RawMode,
    /// The reason for a no, as far as it is typed.
    reason: Option<String>,
}

impl Asker {
    pub(super) const fn new(asking: Asking) -> Self {
        Self { asking, open: None }
    }

    /// Looks at what is open, and at the keys. Gives what is to be said.
    pub(super) fn attend(&mut self, ostler: &Ostler, session: SessionId) -> Result<Vec<String>, Failure> {
        if self.asking == Asking::Others {
            return Ok(Vec::new());
        }
        let rows = ostler.db().pending_permissions(Some(session))?;
        if self.asking == Asking::Deny {
            return rows.iter().map(|row| deny(ostler, row)).collect();
        }
        let still = |open: &Open| rows.iter().any(|row| name(row) == open.name);
        if self.open.as_ref().is_some_and(|open| !still(open)) {
            self.open = None;
        }
        let Some(row) = rows.iter().find(|row| self.open.as_ref().is_none_or(|open| name(row) == open.name))
        else {
            return Ok(Vec::new());
        };
        if self.open.is_none() {
            let keys = RawMode::enter().map_err(|e| Failure::new(Kind::Output, e))?;
            self.open = Some(Open { name: name(row), keys, reason: None });
        }
        match self.read_keys()? {
            None => Ok(Vec::new()),
            Some((decision, message)) => {
                self.open = None;
                settle(ostler, row, decision, "terminal", message).map(|said| said.into_iter().collect())
            }
        }
    }

    /// What the person sees below the question.
    pub(super) fn prompt(&self) -> Option<String> {
        Some(match &self.open.as_ref()?.reason {
            None => "  y: yes · n: no".to_owned(),
            Some(reason) => format!("  no, because (Enter: no reason given): {reason}▏"),
        })
    }

    /// Takes the question off the screen; the terminal is as it was before.
    pub(super) fn close(&mut self) {
        self.open = None;
    }

    /// The keyboard, while somebody is asked.
    pub(super) fn keys(&self) -> Option<Source<'_>> {
        self.open.as_ref().map(|open| open.keys.source())
    }

    fn read_keys(&mut self) -> Result<Option<(Decision, Option<String>)>, Failure> {
        let Some(open) = &mut self.open else { return Ok(None) };
        let failed = |e| Failure::new(Kind::Output, e);
        while let Some(key) = open.keys.read_key(Some(Instant::now())).map_err(failed)? {
            match (&mut open.reason, key) {
                (None, Key::Char('y' | 'Y')) => return Ok(Some((Decision::Allow, None))),
                (None, Key::Char('n' | 'N')) => open.reason = Some(String::new()),
                (None, _) => {}
                (Some(reason), Key::Enter) => {
                    let reason = reason.trim().to_owned();
                    return Ok(Some((Decision::Deny, (!reason.is_empty()).then_some(reason))));
                }
                (Some(reason), Key::Char(c)) => reason.push(c),
                (Some(reason), Key::Backspace) => drop(reason.pop()),
                (Some(reason), Key::Control('u')) => reason.clear(),
                (Some(_), Key::Escape) => open.reason = None,
                (Some(_), _) => {}
            }
        }
        Ok(None)
    }
}

fn name(row: &PermissionRow) -> (GenerationNo, String) {
    (row.journal.generation, row.journal.request_id.clone())
}

fn deny(ostler: &Ostler, row: &PermissionRow) -> Result<String, Failure> {
    settle(ostler, row, Decision::Deny, "pipe", Some(NOBODY.to_owned()))?;
    let what = question::describe(ostler, row);
    Ok(format!("denied: {what} (no terminal to ask at; --permission allow, deny or ask says otherwise)"))
}

/// Stores the decision. That somebody else was first is no failure, only something to say.
fn settle(
    ostler: &Ostler,
    row: &PermissionRow,
    decision: Decision,
    by: &str,
    message: Option<String>,
) -> Result<Option<String>, Failure> {
    let verdict = Verdict {
        generation: row.journal.generation,
        request_id: row.journal.request_id.clone(),
        decision,
        by: by.to_owned(),
        message,
        updated_input: None,
        at: now(),
    };
    match ostler.decide(row.session, &verdict) {
        Ok(()) => Ok(None),
        Err(error @ (ClientError::Lost { .. } | ClientError::Withdrawn | ClientError::NoQuestion)) => {
            Ok(Some(format!("! {error}")))
        }
        Err(error) => Err(error.into()),
    }
}
