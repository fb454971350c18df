//! `ostler deny`.

use super::approve::decide;
use super::face::Face;
use crate::exit::Exit;
use crate::failure::Failure;
use clap::Args;
use ostler_core::ctl::Decision;

/// Says no to what claude asks.
///
/// claude is told the reason and goes on without it.
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
}

pub(super) fn deny(args: &DenyArgs, face: &Face) -> Result<Exit, Failure> {
    decide(face, &args.session, args.request.as_deref(), Decision::Deny, args.reason.clone(), None)
}
