//! `ostler gc`.

use super::face::Face;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json::GcDocument;
use crate::view;
use clap::Args;
use ostler_controller::client::RubbishKind;
use std::time::Duration;

/// Deletes what nobody needs any more.
///
/// That is: sessions that were closed longer ago than `--older-than`, with their journals, messages and ledger rows; and
/// what kills left behind: half-made sessions, purges and closes that were cut off, bodies of messages that were never
/// accepted, worktrees of sessions that are not there, if nothing would be lost. Never anything with a live claude, an
/// open lock, or a message without an end, and never a session that can still be woken: its transcript is kept by a link
/// of its own, also when claude's clean-up deletes the original.
///
/// Examples:
///
///     ostler gc --dry-run
///     ostler gc --older-than 7d
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct GcArgs {
    /// Closed sessions are kept for this long (such as 12h, 30d)
    #[arg(long, value_name = "TIME", default_value = "30d", value_parser = age)]
    older_than: Duration,
    /// Say what would be deleted, and delete nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn gc(args: &GcArgs, face: &Face) -> Result<Exit, Failure> {
    let ostler = face.open()?;
    let found = ostler.gc(args.older_than, args.dry_run)?;
    if face.json {
        face.document(&GcDocument::of(&found, args.dry_run))?;
        return Ok(Exit::Completed);
    }
    if face.quiet {
        return Ok(Exit::Completed);
    }
    let mut out = String::new();
    for rubbish in &found {
        let what = match rubbish.kind {
            RubbishKind::Session => "closed session",
            RubbishKind::Purged => "half deleted session",
            RubbishKind::HalfMade => "half made session",
            RubbishKind::Body => "message that was never accepted",
            RubbishKind::Worktree => "worktree of no session",
        };
        out.push_str(&format!("{what}  {}  {}\n", view::bytes(rubbish.bytes), rubbish.path.display()));
    }
    let sum = view::bytes(found.iter().map(|r| r.bytes).sum());
    let done = if args.dry_run { "would be deleted" } else { "deleted" };
    out.push_str(&match found.len() {
        0 => "nothing to delete\n".to_owned(),
        n => format!("{n} {done}, {sum}\n"),
    });
    face.print(&out)?;
    Ok(Exit::Completed)
}

/// `30d`, `12h`, `0s`.
pub(super) fn age(text: &str) -> Result<Duration, String> {
    let bad = || "a time is a number with s, m, h or d behind it, such as 30d".to_owned();
    let at = text.char_indices().next_back().map_or(0, |(at, _)| at);
    let (number, unit) = text.split_at(at);
    let number: u64 = number.parse().map_err(|_| bad())?;
    let scale = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err(bad()),
    };
    number.checked_mul(scale).map(Duration::from_secs).ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_units() {
        assert_eq!(age("30d"), Ok(Duration::from_secs(30 * 86_400)));
        assert_eq!((age("0s"), age("12h")), (Ok(Duration::ZERO), Ok(Duration::from_secs(43_200))));
        for text in ["", "d", "30", "-1d", "1y", "99999999999999999999d", "1é"] {
            assert!(age(text).is_err(), "{text}");
        }
    }
}
