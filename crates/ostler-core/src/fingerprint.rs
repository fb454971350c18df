//! Everything that can reach the cached prefix, one hash a field.
//!
//! A fork is cheap only while the first request of its child repeats, byte for byte, what its base had sent. What that
//! request is made of comes from the launch spec and from what the child found when it started; each part is a
//! [`Field`] here. Whether a difference in a field breaks the prefix depends on the version of the CLI: the table
//! `fingerprint/classes.txt` says what was measured. Pure: what has to be looked at is passed in as [`Found`].
//!
//! Hashes and not values, because prompts and settings are nobody's business and can be long.

use crate::spec::{LaunchSpec, PinnedFile, SettingSources};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// A part of what the cached prefix is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// The model that is asked for, and those to fall back to.
    Model,
    /// The bytes of the program, and of scripts in front of it.
    Program,
    /// What the program says its version is.
    Version,
    /// The tools that are offered or removed.
    Tools,
    /// Permission mode and rules.
    Permissions,
    /// Who is asked for permissions.
    PromptTool,
    /// MCP servers.
    Mcp,
    /// Settings that are given as text.
    Settings,
    /// Which settings files count.
    Sources,
    /// Added directories and plugins.
    Dirs,
    /// Subagents, and the agent that the session is.
    Agents,
    /// System prompt: replaced, or added to.
    Prompt,
    /// The answer's schema.
    Schema,
    /// Effort, and flags that are passed on.
    Flags,
    /// The working directory.
    Cwd,
    /// What git says of the working directory.
    Git,
    /// Variables: names, and values of what is no secret.
    Environment,
    /// How long the cache is asked to hold.
    CacheTtl,
}

impl Field {
    /// Every field, in the order in which they are named.
    pub const ALL: [Self; 18] = [
        Self::Model,
        Self::Program,
        Self::Version,
        Self::Tools,
        Self::Permissions,
        Self::PromptTool,
        Self::Mcp,
        Self::Settings,
        Self::Sources,
        Self::Dirs,
        Self::Agents,
        Self::Prompt,
        Self::Schema,
        Self::Flags,
        Self::Cwd,
        Self::Git,
        Self::Environment,
        Self::CacheTtl,
    ];

    /// Its name in tables, messages and JSON.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Program => "program",
            Self::Version => "version",
            Self::Tools => "tools",
            Self::Permissions => "permissions",
            Self::PromptTool => "prompt_tool",
            Self::Mcp => "mcp",
            Self::Settings => "settings",
            Self::Sources => "sources",
            Self::Dirs => "dirs",
            Self::Agents => "agents",
            Self::Prompt => "prompt",
            Self::Schema => "schema",
            Self::Flags => "flags",
            Self::Cwd => "cwd",
            Self::Git => "git",
            Self::Environment => "environment",
            Self::CacheTtl => "cache_ttl",
        }
    }

    /// The field of that name.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.word() == word)
    }
}

/// What a difference in a field does on one version of the CLI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Less than the whole prefix is read.
    Breaking,
    /// All of it is.
    Neutral,
}

impl Class {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Breaking => "breaking",
            Self::Neutral => "neutral",
        }
    }
}

const CLASSES: &str = include_str!("fingerprint/classes.txt");

/// The versions that the table knows, in its order.
pub fn known_versions() -> impl Iterator<Item = &'static str> {
    rows()
        .find(|cells| cells.first() == Some(&"field"))
        .into_iter()
        .flat_map(|cells| cells.into_iter().skip(1))
}

/// The class of a field on a version; breaking on a version that nobody has measured.
#[must_use]
pub fn class(field: Field, version: &str) -> Class {
    let Some(column) = known_versions().position(|known| known == version) else { return Class::Breaking };
    let row = rows().find(|cells| cells.first() == Some(&field.word()));
    match row.and_then(|cells| cells.get(column + 1).copied()) {
        Some("neutral") => Class::Neutral,
        _ => Class::Breaking,
    }
}

fn rows() -> impl Iterator<Item = Vec<&'static str>> {
    CLASSES.lines().filter(|line| !line.starts_with('#')).map(|line| line.split_whitespace().collect())
}

/// What is looked at on the machine, because no launch spec says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// SHA-256 of the program as it is now, in hex; None: it can't be read.
    pub program: Option<String>,
    /// What git says of the working directory: commit, branch, changes; None: it is no repository.
    pub git: Option<String>,
}

/// One hash for each field.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(BTreeMap<Field, String>);

/// A field in which two fingerprints differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Which.
    pub field: Field,
    /// What that does.
    pub class: Class,
}

impl Fingerprint {
    /// The fingerprint of a launch spec on a machine where this was found.
    #[must_use]
    pub fn of(spec: &LaunchSpec, found: &Found) -> Self {
        let field = |field| (field, hash(&text_of(field, spec, found)));
        Self(Field::ALL.into_iter().map(field).collect())
    }

    /// The hash of a field, 16 bytes in hex.
    #[must_use]
    pub fn get(&self, field: Field) -> Option<&str> {
        self.0.get(&field).map(String::as_str)
    }

    /// Where the other one differs, with what that does on this version of the CLI. A field that only one of them has
    /// differs: an older ostler did not look at it.
    #[must_use]
    pub fn differences(&self, other: &Self, version: &str) -> Vec<Difference> {
        let differs = |field: &Field| self.get(*field) != other.get(*field);
        let difference = |field| Difference { field, class: class(field, version) };
        Field::ALL.into_iter().filter(differs).map(difference).collect()
    }
}

fn hash(text: &str) -> String {
    Sha256::digest(text).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// What a field is made of, each part ended so that two lists can't run into each other.
fn text_of(field: Field, spec: &LaunchSpec, found: &Found) -> String {
    let mut parts = Parts::default();
    match field {
        Field::Model => parts.one(&spec.model).all(&spec.fallback_models),
        Field::Program => {
            let scripts = spec.launcher.resolved.scripts.iter().map(|s: &PinnedFile| s.sha256.as_str());
            parts.option(found.program.as_deref()).all(scripts)
        }
        Field::Version => parts.one(&spec.launcher.resolved.version),
        Field::Tools => parts.list(spec.tools.as_deref()).all(removed(spec)),
        Field::Permissions => {
            let rules = spec.disallowed.iter().filter(|rule| rule.contains('('));
            parts.one(spec.permission_mode.word()).flag(spec.skip_permissions).all(&spec.allowed).all(rules)
        }
        Field::PromptTool => parts.one("stdio"),
        Field::Mcp => parts.flag(spec.strict_mcp).all(&spec.mcp),
        Field::Settings => parts.option(spec.settings.as_deref()),
        Field::Sources => {
            parts.flag(spec.setting_sources == SettingSources::Bare).one(&spec.setting_sources.flag_value())
        }
        Field::Dirs => parts.all(&spec.added_dirs).one("plugins").all(&spec.plugin_dirs),
        Field::Agents => parts.option(spec.agents.as_deref()).option(spec.agent.as_deref()),
        Field::Prompt => {
            parts.option(spec.system_prompt.as_deref()).option(spec.append_system_prompt.as_deref())
        }
        Field::Schema => parts.option(spec.json_schema.as_deref()),
        Field::Flags => {
            parts.option(spec.effort.as_deref());
            for extra in &spec.extra {
                parts.one(&extra.flag).option(extra.value.as_deref());
            }
            &mut parts
        }
        Field::Cwd => parts.one(&spec.cwd),
        Field::Git => parts.option(found.git.as_deref()),
        Field::Environment => {
            for (name, value) in &spec.environment.values {
                parts.one(name).one(value);
            }
            for (name, value) in &spec.launcher.resolved.env {
                parts.one(name).one(value);
            }
            let names = spec.environment.by_name.iter().map(|v| v.name.as_str());
            parts.one(spec.environment.credential.word()).all(names)
        }
        Field::CacheTtl => {
            let word = |ttl: Option<crate::spec::Ttl>| ttl.map(crate::spec::Ttl::word);
            parts.option(word(spec.cache_ttl.main)).option(word(spec.cache_ttl.subagents))
        }
    };
    parts.0
}

/// A rule without a pattern removes the tool itself.
fn removed(spec: &LaunchSpec) -> impl Iterator<Item = &String> {
    spec.disallowed.iter().filter(|rule| !rule.contains('('))
}

#[derive(Default)]
struct Parts(String);

impl Parts {
    fn one(&mut self, text: &str) -> &mut Self {
        // The length in front: no text can look like the end of another.
        self.0.push_str(&format!("{}:{text},", text.len()));
        self
    }

    fn all<S: AsRef<str>>(&mut self, texts: impl IntoIterator<Item = S>) -> &mut Self {
        for text in texts {
            self.one(text.as_ref());
        }
        self.0.push(';');
        self
    }

    fn option(&mut self, text: Option<&str>) -> &mut Self {
        match text {
            Some(text) => self.one(text),
            None => {
                self.0.push('-');
                self
            }
        }
    }

    fn list(&mut self, texts: Option<&[String]>) -> &mut Self {
        match texts {
            Some(texts) => self.all(texts),
            None => self.option(None),
        }
    }

    fn flag(&mut self, set: bool) -> &mut Self {
        self.one(if set { "yes" } else { "no" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_knows_every_field_on_every_version() {
        let versions = known_versions().count();
        assert!(versions >= 6);
        for field in Field::ALL {
            let row =
                rows().find(|cells| cells.first() == Some(&field.word())).expect("a row for each field");
            assert_eq!(row.len(), versions + 1, "{}", field.word());
            assert!(row[1..].iter().all(|cell| ["breaking", "neutral"].contains(cell)), "{row:?}");
            assert_eq!(Field::of_word(field.word()), Some(field));
        }
    }

    #[test]
    fn an_unknown_version_breaks_everything() {
        assert!(Field::ALL.into_iter().all(|field| class(field, "9.9.9") == Class::Breaking));
        assert_eq!(class(Field::Cwd, "2.1.332"), Class::Neutral);
        assert_eq!(class(Field::Cwd, "2.1.200"), Class::Breaking);
        assert_eq!(class(Field::Model, "2.1.332"), Class::Breaking);
    }
}
