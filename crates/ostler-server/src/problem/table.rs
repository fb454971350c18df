//! The one table from errors of the library to problems.

use super::Problem;
use crate::launch::{Fault, Refused};
use axum::http::StatusCode;
use ostler_controller::client::ClientError;
use ostler_store::db::FindError;
use ostler_store::{CursorError, DbError, JournalError};
use std::error::Error;

/// What happened and each of its causes; a cause that only repeats what was said is left out.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut all = vec![error.to_string()];
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if all.last().is_none_or(|last| !last.contains(&text)) {
            all.push(text);
        }
        cause = error.source();
    }
    all.join(": ")
}

fn store(error: &(dyn Error + 'static)) -> Problem {
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "store", "The store can't be used", chain(error))
}

fn not_found(kind: &'static str, title: &'static str, error: &(dyn Error + 'static)) -> Problem {
    Problem::new(StatusCode::NOT_FOUND, kind, title, chain(error))
}

fn conflict(kind: &'static str, title: &'static str, error: &(dyn Error + 'static)) -> Problem {
    Problem::new(StatusCode::CONFLICT, kind, title, chain(error))
}

impl From<ClientError> for Problem {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Db(e) => e.into(),
            ClientError::Journal { session, source } => match source.downcast::<JournalError>() {
                Ok(journal) => Self::from(*journal).with("session", session.to_string()),
                Err(source) => store(source.as_ref()).with("session", session.to_string()),
            },
            ClientError::EmptyPrompt | ClientError::Key { .. } | ClientError::NoteTooLong { .. } => {
                Self::bad_request(error.to_string())
            }
            ClientError::NoCwd { .. }
            | ClientError::Answer(_)
            | ClientError::Input { .. }
            | ClientError::NothingToRemember
            | ClientError::Pattern(_) => Self::bad_request(chain(&error)),
            ClientError::TooManyRules { limit } => {
                conflict("too-many-rules", "There are too many rules", &error).with("limit", limit)
            }
            ClientError::PromptTooLarge { limit, .. } => {
                let detail = error.to_string();
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", "Too large", detail)
                    .with("limit", limit)
            }
            ClientError::NotTaking { session, state: "closed" } => {
                conflict("closed", "The session is closed", &error).with("session", session.to_string())
            }
            ClientError::NotTaking { session, state: "sealed" } => {
                conflict("sealed", "The session is a sealed base", &error)
                    .hint("a base is only copied, by `ostler fork`")
                    .with("session", session.to_string())
            }
            ClientError::Fork(ref fork) => conflict("fork", "The session can't be copied so", fork),
            ClientError::NotTaking { session, .. } => conflict("stopped", "The session is stopped", &error)
                .hint("POST …/resume takes the stop back")
                .with("session", session.to_string()),
            ClientError::OtherBody => {
                let title = "The idempotency key was used for something else";
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "other-body", title, error.to_string())
            }
            ClientError::NoDelivery { session, .. } => {
                not_found("no-delivery", "No such message", &error).with("session", session.to_string())
            }
            ClientError::TooLate { delivery, ref state } => conflict("too-late", "Too late", &error)
                .with("delivery", delivery.to_string())
                .with("state", state.clone()),
            ClientError::Lost { decision, ref by } => conflict("lost", "Already decided", &error)
                .with("winner", serde_json::json!({"decision": decision, "by": by})),
            ClientError::Withdrawn => conflict("withdrawn", "The question was withdrawn", &error),
            ClientError::NoQuestion => not_found("no-question", "No such question", &error),
            ClientError::Controller { session, .. } => {
                let title = "The session's controller can't be reached";
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "controller-unreachable", title, error.to_string())
                    .hint("what was accepted stays accepted, and is tried again")
                    .with("session", session.to_string())
            }
            ClientError::Inside { .. } => {
                Self::new(StatusCode::FORBIDDEN, "inside", "From inside the session", error.to_string())
            }
            ClientError::Worktree { session, .. } => {
                conflict("worktree", "The worktree would lose something", &error)
                    .with("session", session.to_string())
            }
            other => store(&other),
        }
    }
}

impl From<FindError> for Problem {
    fn from(error: FindError) -> Self {
        match error {
            FindError::Db(e) => e.into(),
            FindError::NotFound { .. } => not_found("no-session", "No such session", &error),
            FindError::Ambiguous { ref candidates, .. } => {
                let ids: Vec<_> = candidates.iter().map(|(id, _)| id.to_string()).collect();
                conflict("ambiguous", "The name means several sessions", &error).with("candidates", ids)
            }
        }
    }
}

impl From<DbError> for Problem {
    fn from(error: DbError) -> Self {
        match &error {
            DbError::NoSession { .. } => not_found("no-session", "No such session", &error),
            DbError::SessionExists { id } => {
                conflict("exists", "The session exists", &error).with("session", id.to_string())
            }
            DbError::NoDelivery { .. } => not_found("no-delivery", "No such message", &error),
            DbError::DiskFull { .. } => {
                let title = "The disk is full";
                Self::new(StatusCode::INSUFFICIENT_STORAGE, "disk-full", title, chain(&error))
            }
            DbError::Busy { .. } => {
                let title = "The store is busy";
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", title, chain(&error))
                    .hint("try again in a second")
            }
            _ => store(&error),
        }
    }
}

impl From<CursorError> for Problem {
    fn from(error: CursorError) -> Self {
        match &error {
            CursorError::Malformed { .. } => Self::bad_request(error.to_string()),
            _ => not_found("no-cursor", "No such place in the journal", &error)
                .hint("leave the cursor out to begin at the beginning"),
        }
    }
}

impl From<JournalError> for Problem {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Cursor(e) => e.into(),
            other => store(&other),
        }
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        let detail = chain(refused.source.as_ref());
        let problem = match refused.fault {
            Fault::Request => Self::bad_request(detail),
            Fault::Claude => {
                let title = "claude can't be used";
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "claude", title, detail)
            }
            Fault::Store => store(refused.source.as_ref()),
        };
        refused.hints.into_iter().fold(problem, Self::hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    /// Those that take a disk or another process to be produced.
    #[test]
    fn a_full_disk_and_a_busy_store_have_words_of_their_own() {
        let path = PathBuf::from("/home/ostler.db");
        let full = DbError::DiskFull { path: path.clone(), source: "no space".into() };
        assert_eq!(Problem::from(full).status(), StatusCode::INSUFFICIENT_STORAGE);
        let busy = DbError::Busy { path, waited_ms: 10_000 };
        let busy = Problem::from(ClientError::Db(busy));
        assert_eq!(
            (busy.status(), busy.kind.as_str()),
            (StatusCode::SERVICE_UNAVAILABLE, "urn:ostler:problem:busy")
        );
    }
}
