//! `ostler cancel`: a message is taken back.

use super::face::Face;
use super::found;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json::CancelDocument;
use clap::Args;

/// Takes a message back that claude has not begun with.
///
/// A message that was not written to claude yet is taken out of the store; one that stands in claude's queue is asked
/// for, and claude says whether it gives it back. One that claude works on can't be taken back: `ostler interrupt`
/// breaks the turn off. One whose claude died over it is not offered to the next one any more; it is `cut`. The exit status
/// is 8 then.
///
/// SESSION is the beginning of an id, or a label; MESSAGE the beginning of the id that `ostler send` printed.
///
/// Examples:
///
///     ostler cancel nightly 0d9f6a2e
///     id=$(ostler send -q nightly "And the docs") && ostler cancel nightly $id
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct CancelArgs {
    /// The session
    session: String,
    /// The message
    message: String,
}

pub(super) fn cancel(args: &CancelArgs, face: &Face) -> Result<Exit, Failure> {
    let ostler = face.open()?;
    let row = found::session(&ostler, &args.session)?;
    let delivery = found::delivery(&ostler, &row, &args.message)?;
    ostler.cancel(row.id, delivery)?;
    if face.json {
        face.document(&CancelDocument::of(row.id, delivery))?;
    } else if !face.quiet {
        face.print("taken back\n")?;
    }
    Ok(Exit::Completed)
}
