//! `ostler stop`.

use super::face::Face;
use super::found;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json::StopDocument;
use clap::Args;
use ostler_controller::client::Stopped;

/// Stops a session: ends its claude and everything that it started, and takes no message until it is resumed.
///
/// claude is asked to leave first, so that its cost is known; what doesn't leave is killed. Comes back when all of it is
/// gone. Messages that wait are kept, and go on when the session is resumed. When it can't be proven that every process
/// is gone the exit status is 3; the session is stopped all the same.
///
/// Example:
///
///     ostler stop 4f3a2b1c
///     ostler resume 4f3a2b1c
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
    let waiting = ostler.db().pending_deliveries(row.id)?.len();
    if face.json {
        face.document(&StopDocument::of(row.id, &done, waiting))?;
    } else if !face.quiet {
        let what = match done {
            Stopped::NothingRunning => "; nothing was running".to_owned(),
            Stopped::Ended { killed: 0, .. } => String::new(),
            Stopped::Ended { killed, .. } => format!("; {killed} processes had to be killed"),
        };
        let waits = if waiting > 0 { format!("; {waiting} messages wait") } else { String::new() };
        face.print(&format!("stopped{what}{waits}\n"))?;
        let resume = found::resume(face, &ostler, row.id);
        face.remark(&format!("it takes no message until `{resume}`"));
    }
    if proven(&done) {
        return Ok(Exit::Completed);
    }
    face.remark(&format!(
        "not proven that all of its processes are gone: look for OSTLER_SESSION={} in process environments",
        row.id
    ));
    Ok(Exit::Failed)
}

/// Nothing of it can be left.
pub(super) const fn proven(done: &Stopped) -> bool {
    !matches!(done, Stopped::Ended { proven: false, .. })
}
