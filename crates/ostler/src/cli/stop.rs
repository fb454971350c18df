//! `ostler stop`.

use super::face::Face;
use super::found;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json::StopDocument;
use clap::Args;
use ostler_controller::client::Stopped;

/// Ends the claude of a session now, and everything that it started.
///
/// claude is asked to leave first, so that its cost is known; what doesn't leave is killed. The session stays and takes
/// further messages.
///
/// Example:
///
///     ostler stop 4f3a2b1c
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct StopArgs {
    /// The session
    session: String,
}

pub(super) fn stop(args: &StopArgs, face: &Face) -> Result<Exit, Failure> {
    let ostler = face.open()?;
    let row = found::session(&ostler, &args.session)?;
    let done = ostler.stop(row.id)?;
    if face.json {
        face.document(&StopDocument::of(row.id, &done))?;
    } else if !face.quiet {
        let text = match done {
            Stopped::NothingRunning => "nothing is running".to_owned(),
            Stopped::Ended { killed, proven } => {
                let left =
                    if killed > 0 { format!("; {killed} processes had to be killed") } else { String::new() };
                let doubt = if proven { "" } else { "; not proven that all of its processes are gone" };
                format!("ended{left}{doubt}")
            }
        };
        face.print(&format!("{text}\n"))?;
    }
    Ok(Exit::Completed)
}
