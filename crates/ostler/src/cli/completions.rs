//! `ostler completions`.

use super::face::Face;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json::CompletionsDocument;
use clap::Args;
use clap_complete::Shell;

/// Prints a completion script for a shell.
///
/// Examples:
///
///     ostler completions bash > ~/.local/share/bash-completion/completions/ostler
///     ostler completions zsh > ~/.zfunc/_ostler
///     ostler completions fish > ~/.config/fish/completions/ostler.fish
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(super) fn completions(args: &CompletionsArgs, face: &Face) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::command(), "ostler", &mut script);
    if face.json {
        let script = String::from_utf8_lossy(&script).into_owned();
        face.document(&CompletionsDocument::of(args.shell.to_string(), script))?;
    } else {
        face.print_bytes(&script)?;
    }
    Ok(Exit::Completed)
}
