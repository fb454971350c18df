//! `ostler deny`.

use super::approve::{meant, settle};
use super::face::Face;
use super::found;
use crate::exit::Exit;
use crate::failure::Failure;
use clap::Args;
use ostler_controller::client::Choice;

/// Says no to what claude asks.
///
/// claude is told the reason and goes on without it. A plan that is denied is worked over: the reason is what is wrong with
/// it.
///
/// Examples:
///
///     ostler deny 4f3a2b1c
///     ostler deny nightly --reason "Use the staging database"
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct DenyArgs {
    /// The session
    session: String,
    /// Which question: the beginning of its id
    request: Option<String>,
    /// What claude is told
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// End the turn as well
    #[arg(long)]
    interrupt: bool,
}

pub(super) fn deny(args: &DenyArgs, face: &Face) -> Result<Exit, Failure> {
    let ostler = face.open()?;
    let row = found::session(&ostler, &args.session)?;
    let asked = meant(&ostler, &row, args.request.as_deref())?;
    let choice = Choice::Deny { message: args.reason.clone(), interrupt: args.interrupt };
    settle(face, &ostler, &asked, choice)
}
