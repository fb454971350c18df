//! `ostler man`.

use super::face::Face;
use crate::exit::Exit;
use crate::failure::{Failure, Kind};
use crate::json::ManDocument;
use clap::Args;
use std::path::PathBuf;

/// Writes the manual pages into a directory.
///
/// Example:
///
///     ostler man ~/.local/share/man/man1
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct ManArgs {
    /// The directory; it is created where it is missing
    directory: PathBuf,
}

/// A page can't be written.
#[derive(Debug, thiserror::Error)]
#[error("failed to write {}", path.display())]
struct PageError {
    path: PathBuf,
    #[source]
    source: std::io::Error,
}

pub(super) fn man(args: &ManArgs, face: &Face) -> Result<Exit, Failure> {
    let failed = |path: &PathBuf| {
        let path = path.clone();
        move |source| Failure::new(Kind::Output, PageError { path, source })
    };
    std::fs::create_dir_all(&args.directory).map_err(failed(&args.directory))?;
    let mut files = Vec::new();
    for (name, command) in pages() {
        let path = args.directory.join(format!("{name}.1"));
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page).map_err(failed(&path))?;
        std::fs::write(&path, page).map_err(failed(&path))?;
        files.push(path);
    }
    let files: Vec<String> = files.iter().map(|f| f.display().to_string()).collect();
    if face.json {
        face.document(&ManDocument::of(files))?;
    } else if !face.quiet {
        face.print(&files.iter().map(|f| format!("{f}\n")).collect::<String>())?;
    }
    Ok(Exit::Completed)
}

/// One page for the program, one for each verb.
fn pages() -> Vec<(String, clap::Command)> {
    let mut whole = super::command();
    whole.build();
    let mut pages = Vec::new();
    collect(&whole, &mut pages);
    pages
}

fn collect(command: &clap::Command, pages: &mut Vec<(String, clap::Command)>) {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    pages.push((name.to_owned(), command.clone()));
    for verb in command.get_subcommands().filter(|c| !c.is_hide_set()) {
        collect(verb, pages);
    }
}
