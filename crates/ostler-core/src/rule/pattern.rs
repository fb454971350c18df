//! Patterns: `Tool` or `Tool(argument)`.

use super::call::{self, Argument, Call};
use super::glob::{self, Kind};
use super::{Effect, path};
use std::fmt;
use std::str::FromStr;

/// The longest pattern, in bytes.
const MAX: usize = 4096;

/// Which calls a rule is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pattern {
    text: String,
    tool: String,
    argument: Option<String>,
}

/// Why a text is no pattern, or not one for this effect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// It is empty.
    #[error("the pattern is empty")]
    Empty,
    /// It is too long.
    #[error("the pattern has {len} bytes; at most {MAX} are taken")]
    TooLong {
        /// Its length.
        len: usize,
    },
    /// Not `Tool` and not `Tool(argument)`.
    #[error("a pattern is a tool's name, or a name and an argument in brackets: Bash(git *)")]
    Shape,
    /// The tool's name has characters that no tool's name has.
    #[error("{name:?} is no name of a tool; in names only `*` stands for anything")]
    Name {
        /// The name.
        name: String,
    },
    /// The tool has no argument that is known.
    #[error("ostler does not know which argument of {tool} is meant; name the tool alone")]
    NoArgument {
        /// The tool.
        tool: String,
    },
    /// Claude Code's own way to write a beginning.
    #[error("`:*` is written ` *` here: {better}; a colon that is meant is written `:?*`")]
    Prefix {
        /// What was probably meant.
        better: String,
    },
    /// A path in a home.
    #[error(
        "a path in a pattern is absolute, or relative to the session's working directory; `~` is not known here"
    )]
    Home,
    /// A question needs an answer, not a yes.
    #[error("no rule can answer AskUserQuestion: a rule may deny it, or ask")]
    Question,
}

impl Pattern {
    /// Checks that a rule of this effect may have it.
    ///
    /// # Errors
    /// [`PatternError::Question`].
    pub fn check(&self, effect: Effect) -> Result<(), PatternError> {
        if effect == Effect::Allow && self.tool == "AskUserQuestion" {
            Err(PatternError::Question)
        } else {
            Ok(())
        }
    }

    /// It is about this call. An allow is narrow (only a simple command line, only an exact plan); deny and ask are
    /// wide (any part of a command line).
    pub(super) fn fits(&self, effect: Effect, call: &Call, cwd: &str) -> bool {
        let allow = effect == Effect::Allow;
        if !self.names(&call.tool) || (allow && call.unusual) {
            return false;
        }
        // A plan is approved by somebody who means plans.
        if allow && call.tool == "ExitPlanMode" && self.tool != call.tool {
            return false;
        }
        let Some(wanted) = &self.argument else { return true };
        let Some(found) = &call.argument else { return false };
        match call::argument(&call.tool) {
            Some(Argument::Shell) => call.shell.as_ref().is_some_and(|shell| {
                if allow {
                    return shell.simple && is_command(wanted, &squeezed(found));
                }
                let unquoted = is_command(wanted, &squeezed(found));
                unquoted || shell.parts.iter().any(|part| is_command(wanted, part))
            }),
            // A path in somebody's home is not known here: no allow is about it, and every deny may be.
            Some(Argument::Path) => match path::absolute(found, cwd) {
                None => !allow,
                Some(found) => is_path(&path_glob(wanted, cwd), &found),
            },
            Some(Argument::Url) => match wanted.strip_prefix("domain:") {
                Some(domain) => host(found).is_some_and(|host| is_of(&host, domain)),
                None => glob::matches(wanted, found, Kind::Text),
            },
            Some(Argument::Text) => glob::matches(wanted, found, Kind::Text),
            None => false,
        }
    }

    fn names(&self, tool: &str) -> bool {
        // `mcp__github` is every tool of that server.
        let server = self.tool.strip_prefix("mcp__").filter(|name| !name.contains("__"));
        let of_server = || tool.strip_prefix(&self.tool).is_some_and(|rest| rest.starts_with("__"));
        glob::matches(&self.tool, tool, Kind::Text) || (server.is_some() && of_server())
    }

    /// How specific it is.
    pub(super) fn weight(&self) -> (bool, bool, usize) {
        let exact = !self.tool.contains('*');
        let letters = glob::literals(&self.tool) + self.argument.as_deref().map_or(0, glob::literals);
        (exact, self.argument.is_some(), letters)
    }
}

/// One blank between words, so that a rule need not count them. Quotes are left alone: whoever writes a rule about
/// quoted words writes the quotes.
fn squeezed(command: &str) -> String {
    command.split([' ', '\t']).filter(|w| !w.is_empty()).collect::<Vec<_>>().join(" ")
}

/// `git *` is also `git` alone.
fn is_command(wanted: &str, found: &str) -> bool {
    let alone = wanted.strip_suffix(" *").is_some_and(|program| glob::matches(program, found, Kind::Text));
    alone || glob::matches(wanted, found, Kind::Text)
}

/// `src/**` is also `src` itself, which is what a search names.
fn is_path(wanted: &str, found: &str) -> bool {
    let itself = wanted.strip_suffix("/**").is_some_and(|folder| glob::matches(folder, found, Kind::Path));
    itself || glob::matches(wanted, found, Kind::Path)
}

/// Patterns are relative to the session's working directory, as paths are.
fn path_glob(wanted: &str, cwd: &str) -> String {
    // What the folder is called is no glob.
    let mut base = String::new();
    for c in cwd.chars() {
        if matches!(c, '*' | '?' | '\\') {
            base.push('\\');
        }
        base.push(c);
    }
    path::absolute(wanted, &base).unwrap_or_else(|| wanted.to_owned())
}

/// The host of an http(s) URL, in lower case. Anything odd has none.
fn host(url: &str) -> Option<String> {
    let lower = url.to_ascii_lowercase();
    let rest = lower.strip_prefix("https://").or_else(|| lower.strip_prefix("http://"))?;
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let name = authority.split_once(':').map_or(authority, |(name, _)| name);
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
    (!name.is_empty() && name.chars().all(plain)).then(|| name.trim_end_matches('.').to_owned())
}

fn is_of(host: &str, domain: &str) -> bool {
    let domain = domain.to_ascii_lowercase();
    host == domain || host.strip_suffix(&domain).is_some_and(|rest| rest.ends_with('.'))
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(PatternError::Empty);
        }
        if text.len() > MAX {
            return Err(PatternError::TooLong { len: text.len() });
        }
        let (tool, argument) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => (tool, Some(rest.strip_suffix(')').ok_or(PatternError::Shape)?)),
        };
        let of_a_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '*' | ':');
        if tool.is_empty() || argument.is_some_and(|a| a.trim().is_empty()) {
            return Err(PatternError::Shape);
        }
        if !tool.chars().all(of_a_name) {
            return Err(PatternError::Name { name: tool.to_owned() });
        }
        if let Some(argument) = argument {
            let kind =
                call::argument(tool).ok_or_else(|| PatternError::NoArgument { tool: tool.to_owned() })?;
            if let Some(program) = argument.strip_suffix(":*").filter(|_| kind == Argument::Shell) {
                return Err(PatternError::Prefix { better: format!("{tool}({program} *)") });
            }
            if kind == Argument::Path && argument.starts_with('~') {
                return Err(PatternError::Home);
            }
        }
        Ok(Self { text: text.to_owned(), tool: tool.to_owned(), argument: argument.map(str::to_owned) })
    }
}
