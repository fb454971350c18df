//! `ostler interrupt`.

use super::face::Face;
use super::found;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json::InterruptDocument;
use clap::Args;
use ostler_controller::client::Interrupted;

/// Interrupts the running turn of a session.
///
/// Comes back when claude has confirmed it. The session stays; the next message goes on where this one stopped.
/// Messages that wait behind the turn are kept and run next. With --cancel-queued they are taken back: those that were
/// not written to claude at once, those in claude's queue as far as claude gives them back; what runs all the same is
/// said.
///
/// Examples:
///
///     ostler interrupt 4f3a2b1c
///     ostler interrupt nightly --cancel-queued
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct InterruptArgs {
    /// The session
    session: String,
    /// Take back the messages that wait, too
    #[arg(long)]
    cancel_queued: bool,
}

pub(super) fn interrupt(args: &InterruptArgs, face: &Face) -> Result<Exit, Failure> {
    let ostler = face.open()?;
    let row = found::session(&ostler, &args.session)?;
    let done = ostler.break_off(row.id, args.cancel_queued)?;
    if face.json {
        face.document(&InterruptDocument::of(row.id, &done))?;
    } else if !face.quiet {
        let mut text = match &done.how {
            Interrupted::Confirmed(queued) if queued.is_empty() => "interrupted".to_owned(),
            Interrupted::Confirmed(queued) if args.cancel_queued => {
                format!("interrupted; claude did not give back {} messages, and answers them", queued.len())
            }
            Interrupted::Confirmed(queued) => {
                format!("interrupted; {} waiting messages will still be answered", queued.len())
            }
            Interrupted::NothingRunning => "nothing is running".to_owned(),
            Interrupted::Forced(why) => format!("interrupted by force: {why}"),
        };
        if !done.cancelled.is_empty() {
            text.push_str(&format!("; {} waiting messages were taken back", done.cancelled.len()));
        }
        face.print(&format!("{text}\n"))?;
    }
    Ok(Exit::Completed)
}
