//! `ostler approve`, and what it has in common with `ostler deny`.

use super::face::{Face, now};
use super::{found, question};
use crate::exit::Exit;
use crate::failure::{Failure, UsageError};
use crate::json::DecisionDocument;
use clap::Args;
use ostler_controller::client::{Ostler, Verdict};
use ostler_core::ctl::Decision;
use ostler_store::db::{PermissionRow, SessionRow};
use serde_json::value::RawValue;

/// Says yes to what claude asks.
///
/// REQUEST is needed only when the session asks several things at once; `ostler pending` shows them. The first decision
/// counts: if somebody else was first, this says so and exits with 8.
///
/// Examples:
///
///     ostler approve 4f3a2b1c
///     ostler approve nightly 0b1e5c3d-…
///     ostler approve nightly --input '{"command":"git status"}'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct ApproveArgs {
    /// The session
    session: String,
    /// Which question: the beginning of its id
    request: Option<String>,
    /// Let the tool run with this input instead of its own
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
}

pub(super) fn approve(args: &ApproveArgs, face: &Face) -> Result<Exit, Failure> {
    if let Some(text) = &args.input {
        serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text)
            .map_err(|source| UsageError::NotJson { option: "--input", source })?;
    }
    let compact = args.input.as_deref().map(compact).transpose()?;
    decide(face, &args.session, args.request.as_deref(), Decision::Allow, None, compact)
}

/// On one line, as it is written to the child.
fn compact(text: &str) -> Result<String, Failure> {
    let raw: &RawValue =
        serde_json::from_str(text).map_err(|source| UsageError::NotJson { option: "--input", source })?;
    let value: serde_json::Value = serde_json::from_str(raw.get())
        .map_err(|source| UsageError::NotJson { option: "--input", source })?;
    Ok(value.to_string())
}

/// Decides the one question that is meant.
pub(super) fn decide(
    face: &Face,
    session: &str,
    request: Option<&str>,
    decision: Decision,
    message: Option<String>,
    updated_input: Option<String>,
) -> Result<Exit, Failure> {
    let ostler = face.open()?;
    let row = found::session(&ostler, session)?;
    let asked = meant(&ostler, &row, request)?;
    let verdict = Verdict {
        generation: asked.journal.generation,
        request_id: asked.journal.request_id.clone(),
        decision,
        by: "cli".to_owned(),
        message,
        updated_input,
        at: now(),
    };
    let what = question::describe(&ostler, &asked);
    ostler.decide(row.id, &verdict)?;
    if face.json {
        face.document(&DecisionDocument::of(row.id, &verdict))?;
    } else if !face.quiet {
        let word = match decision {
            Decision::Allow => "allowed",
            Decision::Deny => "denied",
        };
        face.print(&format!("{word}: {what}\n"))?;
    }
    Ok(Exit::Completed)
}

/// The open question that is meant; without a name, the only one. One that is not open any more is given too, so that
/// the store can say who was first.
fn meant(ostler: &Ostler, row: &SessionRow, request: Option<&str>) -> Result<PermissionRow, Failure> {
    let mut open = ostler.db().pending_permissions(Some(row.id))?;
    let session = found::short(ostler, row.id);
    let Some(name) = request else {
        return match (open.pop(), open.len()) {
            (None, _) => Err(UsageError::NoQuestion { session, request: None }.into()),
            (Some(only), 0) => Ok(only),
            (Some(last), _) => {
                open.push(last);
                Err(several(session, &open))
            }
        };
    };
    let mut fitting: Vec<PermissionRow> = ostler
        .db()
        .permissions(row.id)?
        .into_iter()
        .filter(|p| p.journal.request_id.starts_with(name))
        .collect();
    // The same id may have been used by an earlier process of the session; the newest is meant.
    fitting.sort_by_key(|p| p.journal.generation);
    let newest = fitting.last().map(|p| p.journal.generation);
    fitting.retain(|p| Some(p.journal.generation) == newest);
    match (fitting.pop(), fitting.len()) {
        (None, _) => Err(UsageError::NoQuestion { session, request: Some(name.to_owned()) }.into()),
        (Some(only), 0) => Ok(only),
        (Some(last), _) => {
            fitting.push(last);
            Err(several(session, &fitting))
        }
    }
}

fn several(session: String, rows: &[PermissionRow]) -> Failure {
    let requests = rows.iter().map(|r| r.journal.request_id.clone()).collect();
    UsageError::WhichQuestion { session, count: rows.len(), requests }.into()
}
