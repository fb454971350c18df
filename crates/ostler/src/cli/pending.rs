//! `ostler pending`: questions that wait for somebody.

use super::face::Face;
use super::{found, question};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json::PendingDocument;
use crate::view::{Style, clip, one_line, width};
use clap::Args;

/// Lists what claude asks and nobody has answered.
///
/// Answer with `ostler approve SESSION` or `ostler deny SESSION`.
///
/// Examples:
///
///     ostler pending
///     ostler pending nightly --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct PendingArgs {
    /// Of this session only
    session: Option<String>,
}

pub(super) fn pending(args: &PendingArgs, face: &Face) -> Result<Exit, Failure> {
    let ostler = face.open()?;
    let only = args.session.as_deref().map(|name| found::session(&ostler, name)).transpose()?;
    let rows = ostler.db().pending_permissions(only.map(|row| row.id))?;
    if face.json {
        let all = rows.iter().map(|row| (row, question::read(&ostler, row))).collect::<Vec<_>>();
        face.document(&PendingDocument::of(&all))?;
        return Ok(Exit::Completed);
    }
    if rows.is_empty() && !face.quiet {
        face.remark("nothing is asked");
    }
    let mut out = String::new();
    for row in &rows {
        let asked = question::read(&ostler, row);
        let session = found::short(&ostler, row.session);
        let tool = one_line(asked.tool.as_deref().unwrap_or("something"));
        let request = one_line(&row.journal.request_id);
        let left =
            face.columns().saturating_sub(width(&session) + width(&request) + width(&tool) + 6).max(20);
        let argument = clip(&one_line(&asked.argument.unwrap_or_default()), left);
        let paint = face.paint;
        out.push_str(&format!(
            "{}  {}  {}  {argument}\n",
            session,
            paint.apply(Style::Dim, &request),
            paint.apply(Style::Tool, &tool)
        ));
    }
    face.print(&out)?;
    Ok(Exit::Completed)
}
