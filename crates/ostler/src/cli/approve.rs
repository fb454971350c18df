//! `ostler approve`, and what it has in common with `ostler deny` and `ostler answer`.

use super::face::{Face, now};
use super::{found, question};
use crate::exit::Exit;
use crate::failure::{Failure, UsageError};
use crate::json::DecisionDocument;
use clap::Args;
use ostler_controller::client::{Choice, Decider, Ostler, Verdict};
use ostler_store::db::{PermissionRow, SessionRow};

/// Says yes to what claude asks.
///
/// REQUEST is needed only when the session asks several things at once; `ostler pending` shows them. The first decision
/// counts: if somebody else was first, this says so and exits with 8.
///
/// A question of the model needs an answer, not a yes: `ostler answer`.
///
/// Examples:
///
///     ostler approve 4f3a2b1c
///     ostler approve nightly 0b1e5c3d-…
///     ostler approve nightly --always
///     ostler approve nightly --input '{"command":"git status"}'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct ApproveArgs {
    /// The session
    session: String,
    /// Which question: the beginning of its id
    request: Option<String>,
    /// Let the tool run with this input instead of its own: JSON, or @FILE
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    /// And don't ask about the like again: claude remembers what it suggests itself (`ostler pending --json` shows it)
    #[arg(long)]
    always: bool,
}

pub(super) fn approve(args: &ApproveArgs, face: &Face) -> Result<Exit, Failure> {
    let input = args.input.as_deref().map(json_or_file).transpose()?;
    let ostler = face.open()?;
    let row = found::session(&ostler, &args.session)?;
    let asked = meant(&ostler, &row, args.request.as_deref())?;
    if input.is_none() && !ostler.question(&asked).questions.is_empty() {
        return Err(UsageError::NeedsAnswer { session: found::short(&ostler, row.id) }.into());
    }
    settle(face, &ostler, &asked, Choice::Allow { input, always: args.always })
}

/// What was typed, or what stands in the file behind an `@`.
fn json_or_file(value: &str) -> Result<String, Failure> {
    let text = match value.strip_prefix('@') {
        None => value.to_owned(),
        Some(path) => {
            std::fs::read_to_string(path).map_err(|source| UsageError::File { path: path.into(), source })?
        }
    };
    serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&text)
        .map_err(|source| UsageError::NotJson { option: "--input", source })?;
    Ok(text)
}

/// Decides the question, and says so.
pub(super) fn settle(
    face: &Face,
    ostler: &Ostler,
    asked: &PermissionRow,
    choice: Choice,
) -> Result<Exit, Failure> {
    let word = match &choice {
        Choice::Allow { always: true, .. } => "allowed from now on",
        Choice::Allow { .. } => "allowed",
        Choice::Deny { .. } => "denied",
        Choice::Answer(_) => "answered",
    };
    let verdict = Verdict {
        generation: asked.journal.generation,
        request_id: asked.journal.request_id.clone(),
        choice,
        by: "cli".to_owned(),
        decider: Decider::This,
        at: now(),
    };
    ostler.decide(asked.session, &verdict)?;
    if face.json {
        face.document(&DecisionDocument::of(asked.session, &verdict))?;
    } else if !face.quiet {
        face.print(&format!("{word}: {}\n", question::describe(ostler, asked)))?;
    }
    Ok(Exit::Completed)
}

/// The open question that is meant; without a name, the only one. One that is not open any more is given too, so that
/// the store can say who was first.
pub(super) fn meant(
    ostler: &Ostler,
    row: &SessionRow,
    request: Option<&str>,
) -> Result<PermissionRow, Failure> {
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
