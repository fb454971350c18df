//! `ostler declare`: an agent says where its own session stands.

use super::face::Face;
use crate::exit::Exit;
use crate::failure::{Failure, UsageError};
use crate::json::DeclareDocument;
use clap::{Args, ValueEnum};
use ostler_controller::client::Declarer;
use ostler_core::record::Declaration;

/// Says where a session stands, from inside it.
///
/// For the agent itself: run by claude's own tools, it says that the work is done, that somebody should look at it, that
/// it can't go on, or that it needs an answer. The session is settled from then on, though claude may still be talking:
/// the next message wakes it anew. `ostler ls --state declared` lists who has said something.
///
/// Which session it is, and the right to speak for it, stand in the environment that ostler gives to claude. There,
/// $OSTLER is this program. Subagents can't declare anything, and neither can anybody outside.
///
/// Examples:
///
///     ostler declare done --note "The tests pass; see the branch"
///     "$OSTLER" declare asking --note "Which of the two databases?"
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct DeclareArgs {
    /// Where it stands
    kind: Kind,
    /// More about it, for people
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    /// The work is done
    Done,
    /// Somebody should look at it
    Review,
    /// It can't go on
    Blocked,
    /// It needs an answer
    Asking,
}

pub(super) fn declare(args: &DeclareArgs, face: &Face) -> Result<Exit, Failure> {
    let kind = match args.kind {
        Kind::Done => Declaration::Done,
        Kind::Review => Declaration::Review,
        Kind::Blocked => Declaration::Blocked,
        Kind::Asking => Declaration::Asking,
    };
    let by = declarer()?;
    let ostler = face.open()?;
    let turn = ostler.declare(&by, kind, args.note.clone())?;
    if face.json {
        face.document(&DeclareDocument::of(by.session, kind, args.note.as_deref(), turn))?;
    } else if !face.quiet {
        face.print(&format!("declared {}\n", kind.word()))?;
    }
    Ok(Exit::Completed)
}

/// Who we are, as the environment says.
fn declarer() -> Result<Declarer, Failure> {
    let text = |name: &'static str| {
        let value = std::env::var(name).ok().filter(|value| !value.is_empty());
        value.ok_or(UsageError::NotInside { name })
    };
    let not = |name: &'static str| UsageError::NotInside { name };
    Ok(Declarer {
        session: text("OSTLER_SESSION")?.parse().map_err(|_| not("OSTLER_SESSION"))?,
        generation: text("OSTLER_GENERATION")?.parse().map_err(|_| not("OSTLER_GENERATION"))?,
        token: text("OSTLER_TOKEN")?,
    })
}
