//! `ostler close`.

use super::face::Face;
use super::found;
use super::stop::proven;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json::CloseDocument;
use crate::view::one_line;
use clap::Args;
use ostler_controller::client::{Closed, Tree};
use ostler_store::db::Fate;

/// Closes a session for good: its claude is ended, messages that wait are taken back.
///
/// Its record, what it said and what it cost stay, and `ostler show` and `ostler watch` show them; everything that would
/// act on it answers that it is closed. `--purge` deletes all of that too.
///
/// A worktree that ostler made for it (`start --worktree`) is removed when it is clean and all of its commits are in some
/// other branch, and its branch with it. Otherwise nothing happens, and what would be lost is named: commit or merge it,
/// or say `--keep-worktree` or `--force-worktree`.
///
/// Examples:
///
///     ostler close 4f3a2b1c
///     ostler close nightly --keep-worktree
///     ostler close 4f3a2b1c --purge
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct CloseArgs {
    /// The session
    session: String,
    /// Delete everything of it: journal, messages, ledger
    #[arg(long)]
    purge: bool,
    /// Leave its worktree and its branch alone
    #[arg(long, conflicts_with = "force_worktree")]
    keep_worktree: bool,
    /// Remove its worktree with everything in it that was not committed
    #[arg(long)]
    force_worktree: bool,
}

pub(super) fn close(args: &CloseArgs, face: &Face) -> Result<Exit, Failure> {
    let ostler = face.open()?;
    let row = found::session(&ostler, &args.session)?;
    let fate = match (args.keep_worktree, args.force_worktree) {
        (true, _) => Fate::Keep,
        (_, true) => Fate::Discard,
        _ => Fate::Remove,
    };
    let done = ostler.close(row.id, fate, args.purge)?;
    if face.json {
        face.document(&CloseDocument::of(row.id, &done))?;
    } else if !face.quiet {
        face.print(&format!("{}\n", words(&done)))?;
    }
    let whole = proven(&done.stopped) && !matches!(done.tree, Some(Tree::Refused { .. }));
    if !proven(&done.stopped) {
        face.remark(&format!(
            "not proven that all of its processes are gone: look for OSTLER_SESSION={} in process environments",
            row.id
        ));
    }
    Ok(if whole { Exit::Completed } else { Exit::Failed })
}

fn words(done: &Closed) -> String {
    let mut text = if done.purged { "closed and deleted" } else { "closed" }.to_owned();
    match done.cancelled {
        0 => {}
        1 => text.push_str("; a message that waited was taken back"),
        n => text.push_str(&format!("; {n} messages that waited were taken back")),
    }
    match &done.tree {
        None => {}
        Some(Tree::Removed { branch: None, .. }) => {
            text.push_str("; its worktree and its branch are removed")
        }
        Some(Tree::Removed { branch: Some(branch), .. }) => {
            text.push_str(&format!("; its worktree is removed, the branch {} stays", one_line(branch)));
        }
        Some(Tree::Kept { path }) => text.push_str(&format!("; its worktree stays: {}", one_line(path))),
        Some(Tree::Refused { path, why }) => {
            text.push_str(&format!("; its worktree {} stays: {}", one_line(path), one_line(why)));
        }
    }
    text
}
