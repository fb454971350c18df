//! Why a command failed: what happened, why, and what to do.

mod table;
mod usage;

pub(crate) use table::output;
pub use usage::UsageError;

use crate::exit::Exit;
use crate::view::{Paint, Style};
use std::error::Error;

/// What kind of failure it is; decides the exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The command line, the prompt or an option can't be used.
    Usage,
    /// There is no such thing, or the name means several.
    NotFound,
    /// Stopped, closed, or somebody else was first.
    Conflict,
    /// Claude Code is missing, unsupported, or can't be started.
    Claude,
    /// The home, the store or the disk.
    Store,
    /// No controller answers.
    Controller,
    /// The terminal or a pipe.
    Output,
    /// Whoever read our output is gone. Nobody needs to be told.
    ReaderGone,
    /// The scripted API.
    Lab,
    /// `ostler serve` can't listen or run.
    Server,
}

impl Kind {
    /// The one table from kinds to exit statuses.
    #[must_use]
    pub const fn exit(self) -> Exit {
        match self {
            Self::Usage => Exit::Usage,
            Self::NotFound => Exit::NotFound,
            Self::Conflict => Exit::Conflict,
            Self::Claude => Exit::Claude,
            Self::Store => Exit::Store,
            Self::Controller | Self::Output | Self::Lab | Self::Server => Exit::Failed,
            Self::ReaderGone => Exit::Completed,
        }
    }

    /// Its name in JSON.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::Claude => "claude",
            Self::Store => "store",
            Self::Controller => "controller_unreachable",
            Self::Output => "output",
            Self::ReaderGone => "reader_gone",
            Self::Lab => "lab",
            Self::Server => "server",
        }
    }
}

/// A command that failed.
#[derive(Debug)]
pub struct Failure {
    /// What kind of failure.
    pub kind: Kind,
    /// What happened, with its causes.
    pub source: Box<dyn Error + Send + Sync>,
    /// What to do about it.
    pub hints: Vec<String>,
}

impl Failure {
    /// A failure of a kind.
    pub fn new(kind: Kind, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { kind, source: source.into(), hints: Vec::new() }
    }

    /// The same, with something to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// What happened and each of its causes, outermost first; a cause that only repeats what was said is left out.
    #[must_use]
    pub fn chain(&self) -> Vec<String> {
        let mut all = vec![self.source.to_string()];
        let mut cause = self.source.source();
        while let Some(error) = cause {
            let text = error.to_string();
            if all.last().is_none_or(|last| !last.contains(&text)) {
                all.push(text);
            }
            cause = error.source();
        }
        all
    }

    /// For people, several lines.
    #[must_use]
    pub fn report(&self, paint: Paint) -> String {
        let mut out = String::new();
        for (at, text) in self.chain().iter().enumerate() {
            let head = if at == 0 { paint.apply(Style::Bad, "error: ") } else { "  because: ".to_owned() };
            out.push_str(&format!("{head}{}\n", text.trim_end()));
        }
        for hint in &self.hints {
            out.push_str(&format!("{}{hint}\n", paint.apply(Style::Good, "hint: ")));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn a_report_says_what_why_and_what_to_do() {
        let failure = Failure::new(Kind::Store, Outer(std::io::Error::other("no space"))).hint("free some");
        assert_eq!(failure.report(Paint::Plain), "error: outer\n  because: no space\nhint: free some\n");
        assert_eq!(failure.kind.exit(), Exit::Store);
    }
}
