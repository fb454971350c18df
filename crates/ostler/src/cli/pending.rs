//! `ostler pending`: questions that wait for somebody.

use super::face::Face;
use super::{found, question};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json::PendingDocument;
use crate::view::{Style, clip, clock, one_line, width};
use clap::Args;
use ostler_controller::client::{Question, QuestionState};

/// Lists what claude asks and nobody has answered.
///
/// Tools, plans and hooks are answered with `ostler approve SESSION` or `ostler deny SESSION`, questions of the model and
/// forms with `ostler answer SESSION`.
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
    let all = ostler.pending(only.map(|row| row.id))?;
    if face.json {
        face.document(&PendingDocument::of(&all))?;
        return Ok(Exit::Completed);
    }
    if all.is_empty() && !face.quiet {
        face.remark("nothing is asked");
    }
    let mut out = String::new();
    for asked in &all {
        let session = found::short(&ostler, asked.session);
        let tool = one_line(asked.tool.as_deref().unwrap_or("something"));
        let request = one_line(&asked.request_id);
        let left =
            face.columns().saturating_sub(width(&session) + width(&request) + width(&tool) + 6).max(20);
        let argument = clip(&one_line(&question::argument(asked).unwrap_or_default()), left);
        let paint = face.paint;
        out.push_str(&format!(
            "{}  {}  {}  {argument}\n",
            session,
            paint.apply(Style::Dim, &request),
            paint.apply(Style::Tool, &tool)
        ));
        details(&mut out, face, asked);
    }
    face.print(&out)?;
    Ok(Exit::Completed)
}

/// What one has to know to answer, below the question.
fn details(out: &mut String, face: &Face, asked: &Question) {
    let mut say = |text: String| out.push_str(&format!("    {}\n", face.paint.apply(Style::Dim, &text)));
    for (no, ask) in (1..).zip(&asked.questions) {
        let many = if ask.multi { "  (several may be chosen)" } else { "" };
        say(format!("{no}. {}{many}", one_line(&ask.question)));
        for (no, choice) in (1..).zip(&ask.options) {
            let means = one_line(&choice.description);
            let label = one_line(&choice.label);
            say(if means.is_empty() {
                format!("   {no}) {label}")
            } else {
                format!("   {no}) {label}: {means}")
            });
        }
    }
    if let Some(url) = &asked.url {
        say(format!("at {}", one_line(url)));
    }
    if asked.state == QuestionState::AutoContinueExhausted {
        say("ostler has answered five questions of this turn itself; this one is yours".to_owned());
    }
    if let Some(rule) = asked.rule {
        say(format!("by rule {rule}"));
    }
    if let Some(deadline) = asked.deadline {
        say(format!("denied if nobody answers until {}", clock(deadline)));
    }
}
