//! `ostler fork`: copies of a base, or of a session that rests.

mod change;
mod prompts;
mod waits;

use super::created::message;
use super::face::{Face, now};
use super::found;
use super::wait::duration;
use crate::exit::Exit;
use crate::failure::{Failure, UsageError};
use crate::json::{ForkDocument, ForkedBody};
use clap::{Args, ValueEnum};
use ostler_controller::client::{NewFork, NewSession, Ostler, Source};
use ostler_core::ids::{DeliveryId, SessionId};
use ostler_core::machine::Mode;
use ostler_core::spec::{LaunchSpec, OnMiss};
use ostler_store::db::{Fate, SessionRow};
use prompts::{Asked, PromptsArgs};
use std::collections::BTreeSet;
use std::time::Duration;
use uuid::Uuid;
pub(crate) use waits::Sum;

/// Makes copies of a base, or of a session that rests, and says something to each.
///
/// Each PROMPT is a fork of its own: an ordinary session, with everything in it that its source had said and heard. It
/// takes everything over that decides how claude starts, so that it reads the source's prefix from the prompt cache; the
/// first answer of each is compared with what it had to read: hit, partial (half or more) or miss.
///
/// A difference that would break the prefix (the program was replaced, say) is refused by name; `--force` wants it all
/// the same. The source may be a fork; while it works it is refused.
///
/// Examples:
///
///     ostler fork docs "Is the part about retries still true?" "Which pages lack an example?"
///     ostler fork docs --wait --max-parallel 4 --prompt-file a.md --prompt-file b.md
///     ostler fork docs - --wait --json < prompts.ndjson
///     ostler fork 4f3a2b1c --worktree --max-budget-usd 2 "Try it the other way"
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct ForkArgs {
    /// The base's name, or a session
    source: String,
    #[command(flatten)]
    prompts: PromptsArgs,
    /// A name for people, for each of them
    #[arg(long, value_name = "NAME")]
    label: Option<String>,
    /// Each works in a git worktree of its own, where that keeps the prefix; a name only for a single one
    #[arg(long, value_name = "BRANCH", require_equals = true, num_args = 0..=1)]
    worktree: Option<Option<String>>,
    /// Dollars that one child of a fork may spend
    #[arg(long, value_name = "USD")]
    max_budget_usd: Option<f64>,
    /// Rounds of the model in one turn
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_turns: Option<u32>,
    /// At most so many forks of this source live at once, whoever made them with a limit
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_parallel: Option<u32>,
    /// When a fork does not find its prefix in the cache
    #[arg(long, value_name = "WHAT", default_value = "continue")]
    on_miss: OnMissChoice,
    /// Start it differently (repeatable): model=…, tools=…, permissions=…, prompt=…, schema=…, dirs=…, mcp=…, settings=…,
    /// agents=…, flags=EFFORT, cwd=…, environment=NAME=VALUE, cache_ttl=…, program=…; refused where it breaks the prefix
    #[arg(long, value_name = "FIELD=VALUE")]
    change: Vec<String>,
    /// Fork although fields differ that break the prefix; which ones is recorded
    #[arg(long)]
    force: bool,
    /// Wait until each has settled, and print their answers
    #[arg(long)]
    wait: bool,
    /// Give up waiting after this time (such as 90s, 10m, 2h), with exit status 6
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "wait")]
    timeout: Option<Duration>,
}

/// What follows on a miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum OnMissChoice {
    /// It goes on
    Continue,
    /// Its turn is interrupted at once
    Interrupt,
}

/// A fork that was accepted.
pub(super) struct Made {
    session: SessionId,
    delivery: DeliveryId,
    label: Option<String>,
}

pub(super) fn fork(args: &ForkArgs, face: &mut Face) -> Result<Exit, Failure> {
    let asked = args.prompts.read()?;
    let distinct: BTreeSet<_> = asked.iter().filter_map(|a| a.id).collect();
    if distinct.len() < asked.iter().filter(|a| a.id.is_some()).count() {
        return Err(UsageError::SameId.into());
    }
    if asked.len() > 1 && matches!(args.worktree, Some(Some(_))) {
        return Err(UsageError::Together { first: "--worktree=BRANCH", second: "several prompts" }.into());
    }
    let ostler = face.open()?;
    let source = ostler.source(source_row(&ostler, &args.source)?)?;
    let mut spec = source.spec_of_copy();
    for change in &args.change {
        change::apply(&mut spec, change, face)?;
    }
    // Everything is stored before anybody is told, and before anything starts.
    let mut made = Vec::with_capacity(asked.len());
    for one in asked {
        match accept(&ostler, &source, &spec, args, one) {
            Ok(fork) => made.push(fork),
            Err(error) => {
                // All of them or none: nobody was told of those before it.
                for fork in &made {
                    let _ = ostler.close(fork.session, Fate::Discard, true);
                }
                return Err(error);
            }
        }
    }
    tell(face, &ostler, &source, args, &made)?;
    let mut unreached = None;
    for fork in &made {
        if let Err(error) = ostler.ensure(fork.session) {
            unreached.get_or_insert(error);
        }
    }
    match unreached {
        _ if args.wait => waits::all(face, &ostler, &source, &made, args.timeout),
        // They were accepted, and the next command tries again.
        Some(error) => Err(error.into()),
        None => Ok(Exit::Completed),
    }
}

/// The session that is copied: a base's by its name first.
fn source_row(ostler: &Ostler, name: &str) -> Result<SessionRow, Failure> {
    if let Some(base) = ostler.db().base_named(name)?
        && let Some(row) = ostler.db().session(base.session)?
    {
        return Ok(row);
    }
    found::session(ostler, name)
}

fn accept(
    ostler: &Ostler,
    source: &Source,
    spec: &LaunchSpec,
    args: &ForkArgs,
    asked: Asked,
) -> Result<Made, Failure> {
    let session = asked.id.unwrap_or_else(|| SessionId(Uuid::new_v4()));
    let label = asked.label.or_else(|| args.label.clone());
    let spec = LaunchSpec {
        max_budget_usd: asked.max_budget_usd.or(args.max_budget_usd),
        max_turns: asked.max_turns.or(args.max_turns),
        ..spec.clone()
    };
    spec.validate(ostler_core::argv::Platform::of(std::env::consts::OS))?;
    let message = message(asked.content, Mode::Auto, None);
    let delivery = message.id;
    let on_miss = match args.on_miss {
        OnMissChoice::Continue => OnMiss::Continue,
        OnMissChoice::Interrupt => OnMiss::Interrupt,
    };
    ostler.fork(
        source,
        &NewFork {
            session: NewSession { id: session, label: label.clone(), spec, at: now() },
            message,
            worktree: args.worktree.clone(),
            force: args.force,
            on_miss,
            parallel: args.max_parallel,
        },
    )?;
    Ok(Made { session, delivery, label })
}

fn tell(
    face: &mut Face,
    ostler: &Ostler,
    source: &Source,
    args: &ForkArgs,
    made: &[Made],
) -> Result<(), Failure> {
    if face.json {
        let forks = made.iter().map(|m| ForkedBody::of(m.session, m.delivery, m.label.clone())).collect();
        let document = ForkDocument::of(source, forks);
        return if args.wait { face.event(&document.as_event()) } else { face.document(&document) };
    }
    if args.wait {
        return Ok(());
    }
    face.print(&made.iter().map(|m| format!("{}\n", m.session)).collect::<String>())?;
    if !face.quiet {
        let first = made.first().map(|m| found::short(ostler, m.session)).unwrap_or_default();
        face.remark(&format!("forked; `ostler wait {first}` waits for the first of them"));
    }
    Ok(())
}
