//! `ostler base train` and `base refresh`.

use super::super::created::message;
use super::super::face::{Face, now};
use super::super::found;
use super::super::prompt::PromptArgs;
use super::super::spec::{launch_spec, launcher_of};
use super::super::spec_options::SpecArgs;
use super::super::wait::duration;
use super::{find, list, view};
use crate::exit::Exit;
use crate::failure::{Failure, UsageError};
use crate::json::BaseDocument;
use crate::view as show;
use clap::Args;
use ostler_controller::client::{NewBase, NewMessage, NewSession, Ostler, Trained};
use ostler_core::content::Content;
use ostler_core::ids::SessionId;
use ostler_core::machine::Mode;
use ostler_core::spec::LaunchSpec;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// The longest name of a base, in bytes.
const MAX_NAME: usize = 128;

/// Trains a base and seals it.
///
/// Everything that decides how claude starts is pinned: program, model, tools, permissions, MCP, settings, directories,
/// prompts, environment. Forks take all of it over. Killing this command loses nothing: the next `ostler` command seals
/// what has been trained.
///
/// Examples:
///
///     ostler base train docs "Read everything under docs/"
///     ostler base train api --model opus --cache-ttl 1h --prompt-file brief.md --then "Now read src/api"
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct TrainArgs {
    /// What to call it; one base that lives has the name alone
    name: String,
    #[command(flatten)]
    prompt: PromptArgs,
    /// One more message, as a turn of its own behind the one before (repeatable)
    #[arg(long, value_name = "PROMPT")]
    then: Vec<String>,
    /// Come back at once; the next command that runs afterwards seals it
    #[arg(long)]
    no_wait: bool,
    /// Come back after this time (such as 90s, 10m, 2h), with exit status 6
    #[arg(long, value_name = "TIME", value_parser = duration)]
    timeout: Option<Duration>,
    #[command(flatten)]
    spec: SpecArgs,
}

/// Trains a base anew: the same messages under the same spec, with the program, the directory and its files as they are
/// now. The old one lives until the new one is sealed.
///
/// Examples:
///
///     ostler base refresh docs
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct RefreshArgs {
    /// The base
    base: String,
    /// Come back at once; the next command that runs afterwards seals it
    #[arg(long)]
    no_wait: bool,
    /// Come back after this time (such as 90s, 10m, 2h), with exit status 6
    #[arg(long, value_name = "TIME", value_parser = duration)]
    timeout: Option<Duration>,
}

pub(super) fn train(args: TrainArgs, face: &Face) -> Result<Exit, Failure> {
    let name = args.name.trim().to_owned();
    if name.is_empty() || name.len() > MAX_NAME {
        return Err(UsageError::BaseName { limit: MAX_NAME }.into());
    }
    let first = args.prompt.read()?;
    let mut spec = launch_spec(&args.spec, face)?;
    let ostler = face.open()?;
    let id = SessionId(Uuid::new_v4());
    if let Some(branch) = &args.spec.worktree {
        let cwd = std::path::PathBuf::from(&spec.cwd);
        let home = ostler.home().root();
        let made = ostler_controller::client::worktree::make(home, id, branch.as_deref(), &cwd)?;
        (spec.cwd, spec.worktree) = (made.cwd, Some(made.worktree));
    }
    let then = args.then.iter().map(|text| Content::Text(text.clone()));
    let contents: Vec<Content> = std::iter::once(first).chain(then).collect();
    let label = args.spec.label.clone().or_else(|| Some(name.clone()));
    let made = spec.worktree.clone();
    let new = new_base(name, id, label, spec, contents, None);
    if let Err(error) = begin(&ostler, &new) {
        if let Some(made) = made.filter(|_| !ostler.home().session(id).path.exists()) {
            ostler_controller::client::worktree::unmake(&made);
        }
        return Err(error);
    }
    let wait = Wait::of(args.no_wait, args.timeout);
    finish(face, &ostler, id, &wait)
}

pub(super) fn refresh(args: &RefreshArgs, face: &Face) -> Result<Exit, Failure> {
    let ostler = face.open()?;
    let old = find(&ostler, &args.base)?;
    let row = ostler.db().session(old.session)?;
    let mut spec = ostler.spec_of(old.session)?;
    spec.launcher = launcher_of(&spec, face)?;
    let mut contents = Vec::new();
    for delivery in ostler.db().deliveries(old.session)?.iter().filter(|d| d.continues.is_none()) {
        contents.push(Content::from_stored(&ostler.db().delivery_body(delivery.id)?));
    }
    // A worktree is the old one's, and goes with it.
    spec.worktree = None;
    let id = SessionId(Uuid::new_v4());
    let label = row.and_then(|row| row.label);
    let replaces = old.lives().then_some(old.session);
    begin(&ostler, &new_base(old.name, id, label, spec, contents, replaces))?;
    finish(face, &ostler, id, &Wait::of(args.no_wait, args.timeout))
}

fn new_base(
    name: String,
    id: SessionId,
    label: Option<String>,
    spec: LaunchSpec,
    contents: Vec<Content>,
    replaces: Option<SessionId>,
) -> NewBase {
    // Never into the turn before: each is a turn of its own.
    let messages: Vec<NewMessage> = contents.into_iter().map(|c| message(c, Mode::Queue, None)).collect();
    NewBase { name, session: NewSession { id, label, spec, at: now() }, messages, replaces }
}

fn begin(ostler: &Ostler, new: &NewBase) -> Result<(), Failure> {
    Ok(ostler.train(new)?)
}

/// Whether to stay, and until when.
enum Wait {
    No,
    Until(Option<Instant>),
}

impl Wait {
    fn of(no_wait: bool, timeout: Option<Duration>) -> Self {
        if no_wait { Self::No } else { Self::Until(timeout.and_then(|t| Instant::now().checked_add(t))) }
    }
}

fn finish(face: &Face, ostler: &Ostler, id: SessionId, wait: &Wait) -> Result<Exit, Failure> {
    let trained = match wait {
        Wait::No => Trained::Training,
        Wait::Until(deadline) => watch(face, ostler, id, *deadline)?,
    };
    let shown = view(ostler, find(ostler, &id.to_string())?)?;
    let exit = match (&trained, wait) {
        (Trained::Sealed(_), _) | (Trained::Training, Wait::No) => Exit::Completed,
        (Trained::Training, Wait::Until(_)) => Exit::StillRunning,
        (Trained::Failed(_), _) => Exit::Failed,
    };
    if face.json {
        face.document(&BaseDocument::of(&shown))?;
        return Ok(exit);
    }
    if face.quiet {
        face.print(&format!("{id}\n"))?;
        return Ok(exit);
    }
    match trained {
        Trained::Sealed(_) => face.print(&list::page(face, ostler, &shown))?,
        Trained::Training => {
            face.print(&format!("{id}\n"))?;
            let short = found::short(ostler, id);
            face.remark(&format!("being trained; `ostler watch {short}` looks on"));
        }
        Trained::Failed(why) => face.remark(&format!("not sealed: {}", show::one_line(&why))),
    }
    Ok(exit)
}

/// How often questions are looked for.
const LOOK: Duration = Duration::from_secs(1);

/// Waits for the seal, and says which questions are open meanwhile.
fn watch(face: &Face, ostler: &Ostler, id: SessionId, deadline: Option<Instant>) -> Result<Trained, Failure> {
    let mut told = BTreeSet::new();
    loop {
        for row in ostler.db().pending_permissions(Some(id))? {
            if told.insert((row.journal.generation, row.journal.request_id.clone())) {
                let tool = show::one_line(row.journal.tool.as_deref().unwrap_or("something"));
                let short = found::short(ostler, id);
                face.remark(&format!("it asks for permission ({tool}); `ostler pending {short}` shows it"));
            }
        }
        let next = Instant::now() + LOOK;
        let trained = ostler.wait_sealed(id, Some(deadline.map_or(next, |at| at.min(next))))?;
        let over = deadline.is_some_and(|at| Instant::now() >= at);
        if trained != Trained::Training || over {
            return Ok(trained);
        }
        if Instant::now() < next {
            // Settled, and its child is still leaving.
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
