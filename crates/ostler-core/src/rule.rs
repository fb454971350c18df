//! Durable rules: who may use which tool for what, without a person being asked each time.
//!
//! A rule is a [`Pattern`] (`Bash(git *)`), an [`Effect`], and a [`Scope`]. Which of several decides is settled by
//! [`choose`]: deny before ask before allow, then the most specific, then the newest. Patterns are described in
//! docs/permissions.md; the table below says where each part of them is read.
//!
//! | file | subject |
//! | --- | --- |
//! | `rule/call.rs` | what a tool call is about: its main argument |
//! | `rule/pattern.rs` | reading a pattern, and whether it fits a call |
//! | `rule/glob.rs` | `*`, `**`, `?` |
//! | `rule/shell.rs` | command lines: simple, or made of parts |
//! | `rule/path.rs` | paths, made absolute without a look at the disk |

mod call;
mod glob;
mod path;
mod pattern;
mod shell;

pub use call::Call;
pub use pattern::{Pattern, PatternError};
pub use shell::{Shell, read as read_shell};

use crate::ids::{Millis, RuleId, SessionId};
use serde::{Deserialize, Serialize};

/// How many rules a home may have: each question is held against all of them.
pub const MAX_RULES: usize = 1000;

/// What a rule says. The order is the order of precedence, the strongest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// The call may run.
    Allow,
    /// A person must be asked, whatever the policy or a weaker rule says.
    Ask,
    /// The call may not run.
    Deny,
}

impl Effect {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// Where a rule holds. The order is by how specific it is, the most specific last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", content = "what", rename_all = "snake_case")]
pub enum Scope {
    /// In every session of the home.
    Everything,
    /// In sessions whose working directory is this one, or below it. An absolute path.
    Cwd(String),
    /// In sessions of this label.
    Label(String),
    /// In this session.
    Session(SessionId),
}

impl Scope {
    /// Its kind, in one word.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Everything => "everything",
            Self::Cwd(_) => "cwd",
            Self::Label(_) => "label",
            Self::Session(_) => "session",
        }
    }

    /// What it names; None for everything.
    #[must_use]
    pub fn what(&self) -> Option<String> {
        match self {
            Self::Everything => None,
            Self::Cwd(text) | Self::Label(text) => Some(text.clone()),
            Self::Session(id) => Some(id.to_string()),
        }
    }

    /// The same from its two parts; None where they don't fit.
    #[must_use]
    pub fn of(word: &str, what: Option<&str>) -> Option<Self> {
        match (word, what) {
            ("everything", None) => Some(Self::Everything),
            ("cwd", Some(dir)) => Some(Self::Cwd(dir.to_owned())),
            ("label", Some(label)) => Some(Self::Label(label.to_owned())),
            ("session", Some(id)) => id.parse().ok().map(Self::Session),
            _ => None,
        }
    }

    fn covers(&self, place: &Place<'_>) -> bool {
        match self {
            Self::Everything => true,
            Self::Cwd(dir) => path::is_below(place.cwd, dir),
            Self::Label(label) => place.label == Some(label),
            Self::Session(id) => place.session == Some(*id),
        }
    }

    const fn weight(&self) -> (u8, usize) {
        match self {
            Self::Everything => (0, 0),
            Self::Cwd(dir) => (1, dir.len()),
            Self::Label(_) => (2, 0),
            Self::Session(_) => (3, 0),
        }
    }
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its id.
    pub id: RuleId,
    /// What it says.
    pub effect: Effect,
    /// Of which calls.
    pub pattern: Pattern,
    /// Where.
    pub scope: Scope,
    /// Who made it: `cli`, `http`, …
    pub made_by: String,
    /// When.
    pub made_at: Millis,
    /// It holds until then; None: for ever.
    pub expires_at: Option<Millis>,
}

/// Where a call is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place<'a> {
    /// The session.
    pub session: Option<SessionId>,
    /// Its label.
    pub label: Option<&'a str>,
    /// Its working directory, absolute. Relative paths in patterns and calls are relative to it.
    pub cwd: &'a str,
}

impl Rule {
    /// It decides this call in this place at this time.
    #[must_use]
    pub fn fits(&self, call: &Call, place: &Place<'_>, now: Millis) -> bool {
        let holds = self.expires_at.is_none_or(|until| now < until);
        holds && self.scope.covers(place) && self.pattern.fits(self.effect, call, place.cwd)
    }

    fn weight(&self) -> impl Ord {
        (self.effect, self.scope.weight(), self.pattern.weight(), self.made_at, self.id)
    }
}

/// The rule that decides a call: deny before ask before allow, then the most specific (scope, then pattern), then the
/// newest. None: no rule speaks of it.
#[must_use]
pub fn choose<'r>(rules: &'r [Rule], call: &Call, place: &Place<'_>, now: Millis) -> Option<&'r Rule> {
    rules.iter().filter(|rule| rule.fits(call, place, now)).max_by_key(|rule| rule.weight())
}
