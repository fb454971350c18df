//! `ostler start`: like `run`, but it doesn't stay.

use super::created::{self, Created};
use super::face::Face;
use super::found;
use super::prompt::PromptArgs;
use super::spec_options::SpecArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json::StartDocument;
use clap::Args;

/// Starts a session, says something to it, and comes back at once.
///
/// The session works on by itself. What it asks for waits for `ostler approve` or `ostler deny`.
///
/// Examples:
///
///     ostler start "Upgrade the dependencies and run the tests"
///     id=$(ostler start -q "Read the code") && ostler wait $id
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct StartArgs {
    #[command(flatten)]
    prompt: PromptArgs,
    #[command(flatten)]
    spec: SpecArgs,
}

pub(super) fn start(args: StartArgs, face: &Face) -> Result<Exit, Failure> {
    let prepared = created::create(&args.prompt, &args.spec, face)?;
    let Created { ostler, session, delivery, label, .. } = prepared.deliver()?;
    let go_on = found::go_on(face, &ostler, session);
    if face.json {
        face.document(&StartDocument::of(session, label, delivery, go_on))?;
    } else if face.quiet {
        face.print(&format!("{session}\n"))?;
    } else {
        let short = found::short(&ostler, session);
        face.print(&format!("{session}\n"))?;
        face.remark(&format!("started; `ostler watch {short}` looks on, `ostler wait {short}` waits"));
    }
    Ok(Exit::Completed)
}
