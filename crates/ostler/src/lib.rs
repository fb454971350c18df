//! A supervisor for headless Claude Code sessions: the command line and the other faces.
//!
//! | module | subject |
//! | --- | --- |
//! | [`cli`] | the command line, one file a verb |
//! | [`view`] | the live view of a session, as text for people |
//! | `json` | what `--json` prints |
//! | [`failure`] | why a command failed: what happened, why, what to do |
//! | [`exit`] | exit statuses |
//! | [`internal`] | subcommands that ostler starts itself with |
//! | [`launcher`] | finding and installing claude |
//! | [`doctor`] | what this machine has and lacks |
#![expect(
    rustdoc::invalid_rust_codeblocks,
    reason = "help texts of verbs are shown as they stand, examples indented"
)]

pub mod cli;
pub mod doctor;
pub mod exit;
pub mod failure;
pub mod internal;
mod json;
pub mod launcher;
pub mod view;
