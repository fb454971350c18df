//! `ostler resume`.

use super::face::Face;
use super::found;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json::ResumeDocument;
use clap::Args;

/// Takes a stop back: the session takes messages again.
///
/// Starts no turn by itself. Messages that were accepted before the stop and that no claude was given go on now.
///
/// Example:
///
///     ostler resume 4f3a2b1c
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct ResumeArgs {
    /// The session
    session: String,
}

pub(super) fn resume(args: &ResumeArgs, face: &Face) -> Result<Exit, Failure> {
    let ostler = face.open()?;
    let row = found::session(&ostler, &args.session)?;
    let done = ostler.resume(row.id)?;
    if face.json {
        face.document(&ResumeDocument::of(row.id, &done))?;
    } else if !face.quiet {
        let what = if done.was_stopped { "resumed" } else { "it was not stopped" };
        let waits = match done.waiting {
            0 => String::new(),
            1 => "; a message that waited goes on".to_owned(),
            n => format!("; {n} messages that waited go on"),
        };
        face.print(&format!("{what}{waits}\n"))?;
    }
    Ok(Exit::Completed)
}
