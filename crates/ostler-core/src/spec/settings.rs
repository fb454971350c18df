//! Which settings files a child reads.

use serde::{Deserialize, Serialize};

/// Which settings files count. Always passed, so that a change of the CLI's default changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingSources {
    /// User, project and local.
    #[default]
    Full,
    /// These and no others; an empty list is none.
    Chosen(Vec<SettingSource>),
    /// `--bare`: no discovery of anything (settings, hooks, skills, CLAUDE.md, MCP), and three tools only.
    Bare,
}

/// One place that settings come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingSource {
    /// The person's own, in the configuration directory.
    User,
    /// The project's, shared.
    Project,
    /// The project's, private.
    Local,
}

impl SettingSource {
    /// Every source, in the order in which they are passed.
    pub const ALL: [Self; 3] = [Self::User, Self::Project, Self::Local];

    /// The word for `--setting-sources`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
        }
    }
}

impl SettingSources {
    /// The value of `--setting-sources`: always in the same order, each source once.
    #[must_use]
    pub fn flag_value(&self) -> String {
        let has = |s: SettingSource| match self {
            Self::Full | Self::Bare => true,
            Self::Chosen(chosen) => chosen.contains(&s),
        };
        let words: Vec<&str> =
            SettingSource::ALL.into_iter().filter(|s| has(*s)).map(SettingSource::word).collect();
        words.join(",")
    }
}
