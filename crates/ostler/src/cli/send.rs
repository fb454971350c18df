//! `ostler send`: one more message for a session.

use super::closing::{self, Manner};
use super::created;
use super::face::Face;
use super::follow::{self, Ended, Goal, Until};
use super::found;
use super::prompt::PromptArgs;
use super::run::{UntilChoice, asking};
use super::spec_options::PolicyChoice;
use super::wait;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json::SendDocument;
use crate::view::Detail;
use clap::Args;
use ostler_controller::client::Ostler;
use ostler_core::machine::Mode;
use ostler_core::spec::{LaunchSpec, PermissionPolicy};
use ostler_store::db::SessionRow;
use ostler_store::{Cursor, Entry, SessionFile};

/// Sends a message to a session.
///
/// ostler decides how it reaches the model: into the running turn, as a new turn of the running claude, or by waking
/// the session up. Once this command has printed the delivery's id, the message can't be lost.
///
/// SESSION is the beginning of an id, or a label.
///
/// Examples:
///
///     ostler send 4f3a2b1c "Also update the changelog"
///     ostler send --watch nightly "What did you find?"
///     ostler send --now nightly "Stop that; look at the log first"
///     ostler send --wait 4f3a2b1c "Summarise" --json
///     ostler send nightly --image page.png --file spec.pdf "What is missing on the page?"
///     ostler send nightly --key build-812 "Build 812 has failed"
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct SendArgs {
    /// The session
    session: String,
    #[command(flatten)]
    prompt: PromptArgs,
    /// Wait until the message's turn has settled, and print the answer to this message
    #[arg(long, conflicts_with = "watch")]
    wait: bool,
    /// Show what happens, as `run` does
    #[arg(long)]
    watch: bool,
    /// Come back at the answer, or when everything has settled
    #[arg(long, value_name = "WHAT", default_value = "settled")]
    until: UntilChoice,
    /// Not into what runs: as a turn of its own, as soon as the model is at rest (background tasks may run on)
    #[arg(long)]
    queue: bool,
    /// Break off what runs, and say this next, before every message that was not written to claude yet
    #[arg(long, conflicts_with = "queue")]
    now: bool,
    /// Your own name for the message: sent twice under the same name, it is delivered once; another message under it is
    /// refused (exit status 8)
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

pub(super) fn send(args: SendArgs, face: &mut Face) -> Result<Exit, Failure> {
    let content = args.prompt.read()?;
    let ostler = face.open()?;
    let row = found::session(&ostler, &args.session)?;
    let mode = match (args.now, args.queue) {
        (true, _) => Mode::Now,
        (false, true) => Mode::Queue,
        (false, false) => Mode::Auto,
    };
    // Before the delivery, so that nothing of what it does is missed.
    let from = end_of_journal(&ostler, &row)?;
    let message = created::message(content, mode, args.key);
    let delivery = ostler.deliver(row.id, &message)?;
    if !args.watch && !args.wait {
        accepted(face, &ostler, &row, delivery)?;
        return Ok(Exit::Completed);
    }
    let until = Until::from(args.until);
    let label = row.label.as_deref();
    if args.wait && until == Until::Settled {
        let ended = wait::waited(face, &ostler, row.id, Some(delivery), None)?;
        return closing::close(face, &ostler, row.id, label, &ended, Manner::Whole);
    }
    let goal = Goal {
        session: row.id,
        own: Some(delivery),
        from,
        until,
        asking: asking(face, stored_policy(&ostler, &row)?),
        detail: Detail::Turn,
        interrupts: true,
    };
    if args.wait {
        let shown = std::mem::replace(&mut face.quiet, true);
        let json = std::mem::take(&mut face.json);
        let ended = follow::follow(face, &ostler, goal);
        (face.quiet, face.json) = (shown, json);
        return closing::close(face, &ostler, row.id, label, &ended?, Manner::Whole);
    }
    let ended: Ended = follow::follow(face, &ostler, goal)?;
    closing::close(face, &ostler, row.id, label, &ended, Manner::Shown)
}

fn accepted(
    face: &Face,
    ostler: &Ostler,
    row: &SessionRow,
    delivery: ostler_core::ids::DeliveryId,
) -> Result<(), Failure> {
    if face.json {
        return face.document(&SendDocument::of(row.id, delivery));
    }
    face.print(&format!("{delivery}\n"))?;
    if !face.quiet {
        face.remark(&format!("accepted; `ostler watch {}` looks on", found::short(ostler, row.id)));
    }
    Ok(())
}

/// Where the journal ends now.
fn end_of_journal(ostler: &Ostler, row: &SessionRow) -> Result<Cursor, Failure> {
    let mut follower = ostler.follow(row.id, Cursor::START)?;
    let mut last = Cursor::START;
    while let Some(entry) = follower.next()? {
        if !matches!(entry, Entry::Generation { .. }) {
            last = follower.cursor();
        }
    }
    Ok(last)
}

/// The policy that the session was created with, if it isn't to ask.
pub(super) fn stored_policy(ostler: &Ostler, row: &SessionRow) -> Result<Option<PolicyChoice>, Failure> {
    let file = SessionFile::read(&ostler.home().session(row.id))?;
    Ok(match LaunchSpec::from_json(file.spec.get())?.permission_policy {
        PermissionPolicy::Ask => None,
        PermissionPolicy::Allow => Some(PolicyChoice::Allow),
        PermissionPolicy::Deny => Some(PolicyChoice::Deny),
        PermissionPolicy::Rules => Some(PolicyChoice::Rules),
    })
}
