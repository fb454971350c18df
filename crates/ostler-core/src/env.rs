//! The child's environment: an allow-list over whoever creates the session, stored in the spec, and put together
//! again at every start. Pure.
//!
//! Two steps, because sessions outlive the shell that made them:
//!
//! 1. [`capture`], once: each variable of the creator is kept by value, kept by name, or dropped. Secrets are only
//!    ever kept by name.
//! 2. [`child_env`], at each start: stored values, secrets looked up again, what ostler adds. One that can't be
//!    found fails the start and is named.
//!
//! [`explain`] shows every decision with its reason; it runs the same code.

mod child;
mod rules;

pub use child::{ChildStart, Identity, LabAccess, Place, added, child_env};

use crate::argv::Platform;
use crate::spec::{ByName, Credential, Environment, Source};
use rules::{Class, Verdict};
use std::collections::BTreeMap;
use std::ffi::OsString;
use thiserror::Error;

/// Why an environment can't be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EnvError {
    /// A secret isn't where the spec says.
    #[error(
        "{name} is needed to start this session and {from} has no value for it: set it where ostler runs"
    )]
    Missing {
        /// The child's variable.
        name: String,
        /// Where it was looked for.
        from: String,
    },
    /// A secret's file can't be read.
    #[error("{name} is needed to start this session and its file {path} can't be read: {why}")]
    Unreadable {
        /// The child's variable.
        name: String,
        /// The file.
        path: String,
        /// What the system said.
        why: String,
    },
    /// A credential was asked for that isn't there.
    #[error("the credential {credential} was chosen and {name} is not set")]
    NoCredential {
        /// Its word.
        credential: &'static str,
        /// The variable that it needs.
        name: &'static str,
    },
    /// A variable that only ostler sets.
    #[error("{name} can't be set for a session: {why}")]
    Reserved {
        /// The variable.
        name: String,
        /// The reason.
        why: &'static str,
    },
    /// A secret given as a value would be stored in the spec and shown in process lists.
    #[error(
        "{name} looks like a secret, so its value is not stored: name it without a value and it is taken from the environment at each start, or give a file"
    )]
    SecretValue {
        /// The variable.
        name: String,
    },
    /// A variable was named that the creator doesn't have.
    #[error("{name} was named to be kept and is not set")]
    NotSet {
        /// The variable.
        name: String,
    },
    /// Not a possible name.
    #[error("{name:?} is not a name that a variable can have")]
    BadName {
        /// As given.
        name: String,
    },
    /// Not a possible value.
    #[error("the value of {name} holds a NUL")]
    BadValue {
        /// The variable.
        name: String,
    },
    /// A value that can't be stored.
    #[error("the value of {name} is not valid UTF-8 and can't be stored: correct or unset it")]
    NotUtf8 {
        /// The variable.
        name: String,
    },
    /// A secret's file must not depend on where ostler runs.
    #[error("the file for {name} must be an absolute path, not {path:?}")]
    NotAbsolute {
        /// The variable.
        name: String,
        /// As given.
        path: String,
    },
}

/// What the person chose about a session's environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Who pays; None takes what is set, see [`credential_of`].
    pub credential: Option<Credential>,
    /// Variables to keep besides those of the list.
    pub keep: Vec<String>,
    /// Variables to set, with values that are no secrets.
    pub set: Vec<(String, String)>,
    /// Secrets with a source of their own.
    pub secrets: Vec<ByName>,
}

/// What happens to one variable, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The variable.
    pub name: String,
    /// What happens to it.
    pub action: Action,
    /// The reason, for people.
    pub why: String,
}

/// What happens to a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// Its value is stored and passed on.
    Kept,
    /// Its value is stored and passed on with a part taken out.
    Changed,
    /// Only its name is stored; the value is looked up at each start.
    ByName,
    /// The child doesn't get it.
    Dropped,
    /// ostler sets it.
    Added,
}

impl Action {
    /// Its name in output.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Changed => "changed",
            Self::ByName => "by name",
            Self::Dropped => "dropped",
            Self::Added => "added",
        }
    }
}

/// The credential that an environment holds, in the order in which the CLI itself decides: a cloud provider's switch,
/// `ANTHROPIC_API_KEY` (which `init` reports whenever it is set; measured), `ANTHROPIC_AUTH_TOKEN`,
/// `CLAUDE_CODE_OAUTH_TOKEN`, else the person's login.
#[must_use]
pub fn credential_of(parent: &[(OsString, OsString)], platform: Platform) -> Credential {
    let set = |name: &str| lookup(parent, name, platform).is_some_and(|v| !v.is_empty());
    let on = |name: &str| {
        lookup(parent, name, platform)
            .is_some_and(|v| !v.is_empty() && !matches!(v.to_str(), Some("0" | "false" | "no" | "off")))
    };
    if on("CLAUDE_CODE_USE_BEDROCK") {
        Credential::Bedrock
    } else if on("CLAUDE_CODE_USE_VERTEX") {
        Credential::Vertex
    } else if on("CLAUDE_CODE_USE_FOUNDRY") {
        Credential::Foundry
    } else if set("ANTHROPIC_API_KEY") {
        Credential::ApiKey
    } else if set("ANTHROPIC_AUTH_TOKEN") {
        Credential::AuthToken
    } else if set("CLAUDE_CODE_OAUTH_TOKEN") {
        Credential::OauthToken
    } else {
        Credential::Login
    }
}

/// Makes the environment part of a spec from the creator's environment.
///
/// # Errors
/// A choice that can't be: see the variants of [`EnvError`].
pub fn capture(
    parent: &[(OsString, OsString)],
    choice: &Choice,
    platform: Platform,
) -> Result<Environment, EnvError> {
    let credential = choice.credential.unwrap_or_else(|| credential_of(parent, platform));
    if let Some(name) = rules::needs(credential)
        && lookup(parent, name, platform).is_none_or(|v| v.is_empty())
        && !choice.secrets.iter().any(|s| s.name == name)
    {
        return Err(EnvError::NoCredential { credential: credential.word(), name });
    }
    let mut out = Environment { credential, values: BTreeMap::new(), by_name: Vec::new() };
    for sorted in sorted(parent) {
        take_one(&mut out, parent, choice, sorted, platform)?;
    }
    for name in &choice.keep {
        check_name(name)?;
        rules::reserved(name, platform)?;
        if lookup(parent, name, platform).is_none() {
            return Err(EnvError::NotSet { name: name.clone() });
        }
    }
    for (name, value) in &choice.set {
        if rules::looks_secret(name) {
            return Err(EnvError::SecretValue { name: name.clone() });
        }
        out.by_name.retain(|b| b.name != *name);
        out.values.insert(name.clone(), value.clone());
    }
    for secret in &choice.secrets {
        out.values.remove(&secret.name);
        out.by_name.retain(|b| b.name != secret.name);
        out.by_name.push(secret.clone());
    }
    if !out.values.keys().any(|n| rules::same(n, "PATH", platform)) && platform == Platform::Unix {
        out.values.insert("PATH".to_owned(), rules::DEFAULT_PATH.to_owned());
    }
    out.by_name.sort_by(|a, b| a.name.cmp(&b.name));
    check(&out, &[], platform)?;
    Ok(out)
}

fn take_one(
    out: &mut Environment,
    parent: &[(OsString, OsString)],
    choice: &Choice,
    (name, value): (String, &OsString),
    platform: Platform,
) -> Result<(), EnvError> {
    let text = || value.to_str().map(str::to_owned).ok_or_else(|| EnvError::NotUtf8 { name: name.clone() });
    match judge(parent, choice, out.credential, &name, value, platform).class {
        Class::Value => {
            let text = text()?;
            out.values.insert(name, text);
        }
        Class::Path => {
            let text = rules::clean_path(&text()?, parent, platform).0;
            out.values.insert(name, text);
        }
        Class::Secret { optional } => {
            out.by_name.push(ByName { source: Source::Env(name.clone()), name, optional });
        }
        Class::Drop => {}
    }
    Ok(())
}

/// The rule for one variable, with the person's choice on top.
fn judge(
    parent: &[(OsString, OsString)],
    choice: &Choice,
    credential: Credential,
    name: &str,
    value: &OsString,
    platform: Platform,
) -> Verdict {
    if choice.set.iter().any(|(n, _)| rules::same(n, name, platform))
        || choice.secrets.iter().any(|s| rules::same(&s.name, name, platform))
    {
        return Verdict { class: Class::Drop, why: "the spec sets another value".to_owned() };
    }
    let mut verdict = rules::verdict(name, credential, platform);
    let kept = choice.keep.iter().any(|k| rules::same(k, name, platform));
    if kept && verdict.class == Class::Drop && rules::reserved(name, platform).is_ok() {
        verdict = if rules::looks_secret(name) {
            Verdict {
                class: Class::Secret { optional: false },
                why: "named by you; looks like a secret".to_owned(),
            }
        } else {
            Verdict { class: Class::Value, why: "named by you".to_owned() }
        };
    }
    if verdict.class == Class::Value && value.to_str().is_some_and(rules::holds_password) {
        verdict = Verdict {
            class: Class::Secret { optional: false },
            why: format!("{}; it holds a password, so only its name is stored", verdict.why),
        };
    }
    if verdict.class == Class::Path
        && let Some(text) = value.to_str()
        && let Some(removed) = rules::clean_path(text, parent, platform).1
    {
        verdict.why = format!("programs are found by it; {removed} taken out, it belongs to VIRTUAL_ENV");
    }
    verdict
}

/// Every variable of the creator and every one that ostler adds, with what happens to it and why; by name.
#[must_use]
pub fn explain(
    parent: &[(OsString, OsString)],
    choice: &Choice,
    spec: Option<&crate::spec::LaunchSpec>,
    platform: Platform,
) -> Vec<Decision> {
    let credential = choice.credential.unwrap_or_else(|| credential_of(parent, platform));
    let mut out: Vec<Decision> = Vec::new();
    for (name, value) in sorted(parent) {
        let Verdict { class, why } = judge(parent, choice, credential, &name, value, platform);
        let action = match class {
            Class::Value => Action::Kept,
            Class::Path if why.contains("taken out") => Action::Changed,
            Class::Path => Action::Kept,
            Class::Secret { .. } => Action::ByName,
            Class::Drop => Action::Dropped,
        };
        out.push(Decision { name, action, why });
    }
    for (name, _) in &choice.set {
        out.push(Decision { name: name.clone(), action: Action::Added, why: "set by you".to_owned() });
    }
    for s in &choice.secrets {
        out.push(Decision { name: s.name.clone(), action: Action::ByName, why: "given by you".to_owned() });
    }
    for (name, why) in child::added(spec) {
        out.push(Decision { name: name.to_owned(), action: Action::Added, why: why.to_owned() });
    }
    out.sort_by(|a, b| (&a.name, a.action).cmp(&(&b.name, b.action)));
    out
}

/// Checks an environment part that came out of a stored spec, and a launcher's prefix.
pub(crate) fn check(
    environment: &Environment,
    prefix: &[(String, String)],
    platform: Platform,
) -> Result<(), EnvError> {
    let values = environment.values.iter().map(|(n, v)| (n, v, false));
    let prefix = prefix.iter().map(|(n, v)| (n, v, true));
    for (name, value, typed) in values.chain(prefix) {
        check_name(name)?;
        rules::reserved(name, platform)?;
        if value.contains('\0') {
            return Err(EnvError::BadValue { name: name.clone() });
        }
        if typed && rules::looks_secret(name) {
            return Err(EnvError::SecretValue { name: name.clone() });
        }
    }
    for b in &environment.by_name {
        check_name(&b.name)?;
        rules::reserved(&b.name, platform)?;
        match &b.source {
            Source::Env(from) => check_name(from)?,
            Source::File(path) if !platform.is_absolute(path) => {
                return Err(EnvError::NotAbsolute { name: b.name.clone(), path: path.clone() });
            }
            Source::File(_) => {}
        }
    }
    Ok(())
}

fn check_name(name: &str) -> Result<(), EnvError> {
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err(EnvError::BadName { name: name.to_owned() });
    }
    Ok(())
}

/// The value of a variable.
fn lookup<'a>(parent: &'a [(OsString, OsString)], name: &str, platform: Platform) -> Option<&'a OsString> {
    parent.iter().find(|(n, _)| n.to_str().is_some_and(|n| rules::same(n, name, platform))).map(|(_, v)| v)
}

/// By name, so that the result doesn't depend on the order of the creator's environment. A name that isn't Unicode
/// is none that the list knows, and is left out.
fn sorted(parent: &[(OsString, OsString)]) -> Vec<(String, &OsString)> {
    let mut all: Vec<(String, &OsString)> =
        parent.iter().filter_map(|(n, v)| Some((n.to_str()?.to_owned(), v))).collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all.dedup_by(|a, b| a.0 == b.0);
    all
}
