//! `ostler base`: sessions that are trained once and then only copied.

mod diff;
mod list;
mod train;

use super::face::{Face, now};
use super::found;
use crate::exit::Exit;
use crate::failure::{Failure, UsageError};
use crate::json::{BaseDocument, BaseView};
use clap::{Args, Subcommand};
use ostler_controller::client::Ostler;
use ostler_core::base::Base;

/// Trains, lists and retires bases: sessions that are told something once, and then only copied.
///
/// A base is trained by one or more first messages and then sealed: it takes no message any more. `ostler fork` makes
/// copies of it. What a copy shares with its base is read from the prompt cache, at a tenth of the price, for as long as
/// the cache holds.
///
/// Examples:
///
///     ostler base train docs "Read everything under docs/ and remember what stands where"
///     ostler fork docs "Is the part about retries still true?" "Which pages lack an example?"
///     ostler base ls
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct BaseArgs {
    #[command(subcommand)]
    what: BaseVerb,
}

#[derive(Debug, Subcommand)]
enum BaseVerb {
    Train(Box<train::TrainArgs>),
    Ls(list::LsArgs),
    Show(ShowArgs),
    Refresh(train::RefreshArgs),
    Retire(RetireArgs),
    Diff(diff::DiffArgs),
}

/// Shows everything that is known of a base: what a fork of it reads, until when the cache holds, how its forks fared.
///
/// Examples:
///
///     ostler base show docs
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
struct ShowArgs {
    /// The base: its name, or the beginning of its session's id
    base: String,
}

/// Retires a base: nothing is copied from it any more, and its name is free. Its session and its forks stay.
///
/// Examples:
///
///     ostler base retire docs
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
struct RetireArgs {
    /// The base: its name, or the beginning of its session's id
    base: String,
}

pub(super) fn base(args: BaseArgs, face: &Face) -> Result<Exit, Failure> {
    match args.what {
        BaseVerb::Train(args) => train::train(*args, face),
        BaseVerb::Ls(args) => list::ls(&args, face),
        BaseVerb::Show(args) => show(&args, face),
        BaseVerb::Refresh(args) => train::refresh(&args, face),
        BaseVerb::Retire(args) => retire(&args, face),
        BaseVerb::Diff(args) => diff::diff(&args, face),
    }
}

/// The base of that name, or of the session that the name means.
fn find(ostler: &Ostler, name: &str) -> Result<Base, Failure> {
    if let Some(base) = ostler.db().base_named(name)? {
        return Ok(base);
    }
    let row = found::session(ostler, name)?;
    let base = ostler.db().base(row.id)?;
    base.ok_or_else(|| UsageError::NoBase { name: name.to_owned() }.into())
}

/// A base with what its forks say of it.
pub(super) fn view(ostler: &Ostler, base: Base) -> Result<BaseView, Failure> {
    let forks = ostler.db().forks_of_base(base.session)?;
    let read_last = ostler.db().base_read_last(base.session)?;
    Ok(BaseView { base, forks, read_last, now: now() })
}

fn show(args: &ShowArgs, face: &Face) -> Result<Exit, Failure> {
    let ostler = face.open()?;
    let shown = view(&ostler, find(&ostler, &args.base)?)?;
    if face.json {
        face.document(&BaseDocument::of(&shown))?;
    } else {
        face.print(&list::page(face, &ostler, &shown))?;
    }
    Ok(Exit::Completed)
}

fn retire(args: &RetireArgs, face: &Face) -> Result<Exit, Failure> {
    let ostler = face.open()?;
    let base = find(&ostler, &args.base)?;
    ostler.retire(&base, "by hand")?;
    let shown = view(&ostler, find(&ostler, &base.session.to_string())?)?;
    if face.json {
        face.document(&BaseDocument::of(&shown))?;
    } else if !face.quiet {
        let open = shown.forks.iter().filter(|fork| fork.started_at.is_none()).count();
        face.print(&format!("retired {}\n", crate::view::one_line(&base.name)))?;
        if open > 0 {
            face.remark(&format!("{open} of its forks have not been answered yet; they go on"));
        }
    }
    Ok(Exit::Completed)
}
