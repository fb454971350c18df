//! `ostler run`: the front door.

use super::closing::{self, Manner};
use super::created::{self, Created};
use super::face::Face;
use super::follow::{self, Asking, Goal, Until};
use super::prompt::PromptArgs;
use super::spec_options::{PolicyChoice, SpecArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json::SessionEvent;
use crate::view::Detail;
use clap::{Args, ValueEnum};
use ostler_store::Cursor;

/// Starts a session, says something to it, and shows what happens.
///
/// Text appears as the model writes it, tool calls with their main argument and the size of their result. At the end
/// stand the outcome, tokens, dollars, and the command with which the session goes on.
///
/// When claude asks for permission, you are asked: y or n, with a reason if you like, or a for always; a question of the
/// model is answered by the number of a choice or in words. Ctrl-C interrupts the turn, a
/// second one stops the session (`ostler resume` takes that back), a third one leaves. Closing the terminal or killing this command does nothing to the
/// session: `ostler ls` and `ostler watch` find it again.
///
/// In a pipe nobody can be asked, so what claude asks for is denied, and the exit status is 5 then. Say
/// `--permission allow`, or make rules (`ostler rule add`) to let it work.
///
/// Examples:
///
///     ostler run --lab "Say hello"
///     ostler run "Find out why the tests are slow"
///     ostler run --model opus --max-budget-usd 2 --label nightly < task.md
///     ostler run -q "Name this branch" > name.txt
///     ostler run --image shot.png "What is wrong here?"
///     ostler run -- "- begins with a dash"
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct RunArgs {
    #[command(flatten)]
    prompt: PromptArgs,
    /// Come back at the answer, or when everything has settled: background tasks, follow-up turns
    #[arg(long, value_name = "WHAT", default_value = "settled")]
    until: UntilChoice,
    #[command(flatten)]
    spec: SpecArgs,
}

/// When to come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum UntilChoice {
    /// At the first result that answers this message
    Answer,
    /// When nothing is owed any more
    Settled,
}

impl From<UntilChoice> for Until {
    fn from(choice: UntilChoice) -> Self {
        match choice {
            UntilChoice::Answer => Self::Answer,
            UntilChoice::Settled => Self::Settled,
        }
    }
}

/// Who is asked, given what was said about it.
pub(super) fn asking(face: &Face, policy: Option<PolicyChoice>) -> Asking {
    match policy {
        Some(PolicyChoice::Allow | PolicyChoice::Deny | PolicyChoice::Rules) => Asking::Others,
        None | Some(PolicyChoice::Ask) if face.can_ask() => Asking::Person,
        Some(PolicyChoice::Ask) => Asking::Others,
        None => Asking::Deny,
    }
}

pub(super) fn run(args: RunArgs, face: &mut Face) -> Result<Exit, Failure> {
    let prepared = created::create(&args.prompt, &args.spec, face)?;
    let Created { ostler, session, delivery, label, spec } = prepared.deliver()?;
    if face.json {
        face.event(&SessionEvent::of(session, label.as_deref(), delivery, &spec, ostler.home().root()))?;
    }
    let goal = Goal {
        session,
        own: Some(delivery),
        from: Cursor::START,
        until: args.until.into(),
        asking: asking(face, args.spec.permission),
        detail: Detail::Turn,
        interrupts: true,
    };
    let ended = follow::follow(face, &ostler, goal)?;
    closing::close(face, &ostler, session, label.as_deref(), &ended, Manner::Shown)
}
