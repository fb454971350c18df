//! `ostler watch`: looking on.

use super::face::Face;
use super::follow::{self, Asking, Ended, Goal, Left, Until};
use super::found;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::view::Detail;
use clap::Args;
use ostler_controller::client::Ostler;
use ostler_core::ids::SessionId;
use ostler_os::poll::Pollable;
use ostler_os::signals::{Signal, Signals};
use ostler_os::watch::{Backend, FileWatch};
use ostler_store::journal::read_range;
use ostler_store::{Cursor, Entry};
use std::time::{Duration, Instant};

/// Shows what a session says and does, from its beginning or from a cursor, until it has settled.
///
/// Looking on changes nothing: Ctrl-C only ends the looking.
///
/// Examples:
///
///     ostler watch 4f3a2b1c
///     ostler watch nightly --follow
///     ostler watch nightly --json --since 1.48211.3075
///     ostler watch nightly --raw > session.ndjson
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct WatchArgs {
    /// The session
    session: String,
    /// Begin behind this cursor, as an event of --json gave it
    #[arg(long, value_name = "CURSOR")]
    since: Option<Cursor>,
    /// Go on when the session has settled, for what comes next
    #[arg(long, short)]
    follow: bool,
    /// Show what is there and end
    #[arg(long, conflicts_with = "follow")]
    no_wait: bool,
    /// Write what claude wrote to its standard output, byte for byte, all its processes one after the other
    #[arg(long, conflicts_with = "json")]
    raw: bool,
}

pub(super) fn watch(args: &WatchArgs, face: &mut Face) -> Result<Exit, Failure> {
    let ostler = face.open()?;
    let row = found::session(&ostler, &args.session)?;
    let from = args.since.unwrap_or(Cursor::START);
    let until = match (args.follow, args.no_wait) {
        (true, _) => Until::Forever,
        (_, true) => Until::Now,
        _ => Until::Settled,
    };
    if args.raw {
        return raw(face, &ostler, row.id, from, until);
    }
    // Quiet would show nothing at all.
    face.quiet = false;
    let goal = Goal {
        session: row.id,
        own: None,
        from,
        until,
        asking: Asking::Others,
        detail: Detail::Session,
        interrupts: false,
    };
    match follow::follow(face, &ostler, goal)? {
        Ended::Parked(reason) => {
            face.remark(&format!("parked: {}", crate::view::one_line(&reason)));
            Ok(Exit::Failed)
        }
        Ended::Stopped(reason) => {
            face.remark(&reason);
            Ok(Exit::Conflict)
        }
        Ended::Left(Left::Told) => Ok(Exit::StillRunning),
        _ => Ok(Exit::Completed),
    }
}

/// How often the store is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// The most that is read of one line at a time.
const PIECE: u64 = 1 << 20;

/// The bytes of every generation's `out`.
fn raw(
    face: &Face,
    ostler: &Ostler,
    session: SessionId,
    from: Cursor,
    until: Until,
) -> Result<Exit, Failure> {
    let mut follower = ostler.follow(session, from)?;
    let failed = |e| Failure::new(crate::failure::Kind::Output, e);
    let signals = Signals::install(&[Signal::Interrupt, Signal::Terminate]).map_err(failed)?;
    let mut watch = FileWatch::new(Backend::Auto, Duration::from_millis(20));
    let (mut over, mut looked) = (false, None::<Instant>);
    loop {
        while let Some(entry) = follower.next()? {
            write(face, ostler, session, &entry)?;
        }
        // It may have moved on to files that were not watched yet: then there may be more.
        if watch.set(follower.watch_paths()) {
            continue;
        }
        if over || until == Until::Now {
            return Ok(Exit::Completed);
        }
        if until == Until::Settled && looked.is_none_or(|at| at.elapsed() >= LOOK) {
            looked = Some(Instant::now());
            // One more round: something may have been written before it settled and after we read.
            over = ostler.wait(session, looked)? != still_running();
        }
        if over {
            continue;
        }
        watch.wait(Some(Instant::now() + LOOK), &[signals.source()]).map_err(failed)?;
        if signals.take(Signal::Interrupt) + signals.take(Signal::Terminate) > 0 {
            return Ok(Exit::Completed);
        }
    }
}

const fn still_running() -> ostler_controller::client::Waited {
    ostler_controller::client::Waited::StillRunning
}

fn write(face: &Face, ostler: &Ostler, session: SessionId, entry: &Entry) -> Result<(), Failure> {
    match entry {
        Entry::Out { bytes, .. } => {
            let mut line = Vec::with_capacity(bytes.len() + 1);
            line.extend_from_slice(bytes);
            line.push(b'\n');
            face.print_bytes(&line)
        }
        Entry::OutOversized { no, start, end, .. } => range(face, ostler, session, *no, *start, *end),
        Entry::Tail { no, start, len, .. } => range(face, ostler, session, *no, *start, start + len),
        _ => Ok(()),
    }
}

fn range(
    face: &Face,
    ostler: &Ostler,
    session: SessionId,
    no: u32,
    start: u64,
    end: u64,
) -> Result<(), Failure> {
    let files = ostler.home().session(session).generation(no);
    let mut at = start;
    while at < end {
        let next = end.min(at + PIECE);
        face.print_bytes(&read_range(&files, at, next)?)?;
        at = next;
    }
    Ok(())
}
