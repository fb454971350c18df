//! The two permission settings of a session, which are independent: the CLI's mode decides what is asked, ostler's
//! policy decides who answers.

use serde::{Deserialize, Serialize};

/// The CLI's own mode, in its words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PermissionMode {
    /// Ask for what isn't allowed by a rule.
    #[default]
    Default,
    /// Edits in the working directories need no question.
    AcceptEdits,
    /// A classifier decides.
    Auto,
    /// No questions. Refused by the CLI as root.
    BypassPermissions,
    /// What would be asked is denied.
    DontAsk,
    /// Read and plan only.
    Plan,
}

impl PermissionMode {
    /// Every mode.
    pub const ALL: [Self; 6] =
        [Self::Default, Self::AcceptEdits, Self::Auto, Self::BypassPermissions, Self::DontAsk, Self::Plan];

    /// The word for `--permission-mode`. `default` is accepted by every supported version, though `--help` calls it
    /// `manual` (measured on 2.1.200 and 2.1.332).
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::AcceptEdits => "acceptEdits",
            Self::Auto => "auto",
            Self::BypassPermissions => "bypassPermissions",
            Self::DontAsk => "dontAsk",
            Self::Plan => "plan",
        }
    }

    /// The mode of that word; `manual` is [`Self::Default`].
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        if word == "manual" {
            return Some(Self::Default);
        }
        Self::ALL.into_iter().find(|m| m.word() == word)
    }
}

/// What ostler's broker does with a question of the child.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionPolicy {
    /// A person answers.
    #[default]
    Ask,
    /// Allow at once.
    Allow,
    /// Deny at once.
    Deny,
    /// Deny at once what no rule allows.
    Rules,
}
