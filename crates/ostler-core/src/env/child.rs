//! One start: stored values, secrets looked up again, and what ostler adds.

use super::{EnvError, rules};
use crate::argv::Platform;
use crate::ids::{GenerationNo, SessionId};
use crate::spec::{ByName, LaunchSpec, Source};
use std::collections::BTreeMap;
use std::ffi::OsString;

/// What is known only when a child is started.
#[derive(Clone, Debug)]
pub struct ChildStart<'a> {
    /// Who it is.
    pub identity: Identity<'a>,
    /// Where it finds ostler.
    pub place: Place<'a>,
    /// Where the lab answers now; needed exactly when the spec is one for the lab.
    pub lab: Option<LabAccess<'a>>,
    /// The kind of this system.
    pub platform: Platform,
}

/// Who a child is: its mark, and what it shows to speak for its session (`ostler declare`).
#[derive(Clone, Copy)]
pub struct Identity<'a> {
    /// The session.
    pub session: SessionId,
    /// The generation that is being started.
    pub generation: GenerationNo,
    /// The session's secret.
    pub token: &'a str,
}

impl std::fmt::Debug for Identity<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The token must not get into a log.
        write!(f, "{} generation {}", self.session, self.generation)
    }
}

/// Where a child finds ostler.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The home that its session is in.
    pub home: &'a str,
    /// The executable.
    pub program: &'a str,
}

/// How a child reaches the lab.
#[derive(Clone, Copy, Debug)]
pub struct LabAccess<'a> {
    /// `http://127.0.0.1:PORT`.
    pub base_url: &'a str,
    /// A configuration directory for the lab's sessions, so that they never touch the person's own.
    pub config_dir: &'a str,
}

/// What ostler adds to every child, and why; the lab's part when `spec` is for the lab.
#[must_use]
pub fn added(spec: Option<&LaunchSpec>) -> Vec<(&'static str, &'static str)> {
    let mut all = vec![
        (
            "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS",
            "the child reports when it is idle; turns are settled by it",
        ),
        ("DISABLE_AUTOUPDATER", "the binary must not change under a session"),
        ("OSTLER", "the ostler executable, for `ostler declare`"),
        ("OSTLER_GENERATION", "marks the child's process tree"),
        ("OSTLER_HOME", "where `ostler declare` finds the session"),
        ("OSTLER_SESSION", "marks the child's process tree"),
        ("OSTLER_TOKEN", "the session's secret: `ostler declare` shows it"),
    ];
    let Some(spec) = spec else { return all };
    if spec.cache_ttl.main.is_some() {
        all.push(("CLAUDE_CODE_PROMPT_CACHE_TTL", "the launch spec's cache TTL"));
    }
    if spec.cache_ttl.subagents.is_some() {
        all.push(("CLAUDE_CODE_SUBAGENT_PROMPT_CACHE_TTL", "the launch spec's cache TTL"));
    }
    if spec.lab.is_some() {
        let why = "the session talks to the lab and to nobody else";
        all.extend(LAB_NAMES.map(|name| (name, why)));
    }
    all
}

const LAB_NAMES: [&str; 6] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    "CLAUDE_CONFIG_DIR",
    "DISABLE_ERROR_REPORTING",
    "DISABLE_TELEMETRY",
];

/// The child's whole environment, sorted by name.
///
/// `parent` is the environment of whoever starts the child; only variables that the spec takes by name are looked up
/// in it. `read_file` gives the text of a secret's file, or says why not.
///
/// # Errors
/// [`EnvError::Missing`] or [`EnvError::Unreadable`] for a secret that isn't there.
pub fn child_env(
    spec: &LaunchSpec,
    parent: &[(OsString, OsString)],
    read_file: &dyn Fn(&str) -> Result<String, String>,
    start: &ChildStart<'_>,
) -> Result<Vec<(OsString, OsString)>, EnvError> {
    super::check(&spec.environment, &spec.launcher.resolved.env, start.platform)?;
    let mut env = Variables { all: BTreeMap::new(), platform: start.platform };
    for (name, value) in &spec.environment.values {
        env.set(name, value.into());
    }
    for wanted in &spec.environment.by_name {
        if let Some(value) = look_up(wanted, parent, read_file, start.platform)? {
            env.set(&wanted.name, value);
        }
    }
    for (name, value) in &spec.launcher.resolved.env {
        env.set(name, value.into());
    }
    match (&spec.lab, start.lab) {
        (Some(_), Some(lab)) => on_the_lab(&mut env, lab),
        (Some(_), None) => {
            return Err(EnvError::Missing {
                name: "ANTHROPIC_BASE_URL".to_owned(),
                from: "the lab".to_owned(),
            });
        }
        (None, _) => {}
    }
    if let Some(ttl) = spec.cache_ttl.main {
        env.set("CLAUDE_CODE_PROMPT_CACHE_TTL", ttl.word().into());
    }
    if let Some(ttl) = spec.cache_ttl.subagents {
        env.set("CLAUDE_CODE_SUBAGENT_PROMPT_CACHE_TTL", ttl.word().into());
    }
    env.set("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "1".into());
    env.set("DISABLE_AUTOUPDATER", "1".into());
    let Identity { session, generation, token } = start.identity;
    env.set("OSTLER", start.place.program.into());
    env.set("OSTLER_GENERATION", generation.to_string().into());
    env.set("OSTLER_HOME", start.place.home.into());
    env.set("OSTLER_SESSION", session.to_string().into());
    env.set("OSTLER_TOKEN", token.into());
    Ok(env.all.into_iter().map(|(n, v)| (n.into(), v)).collect())
}

/// Names that differ in case only are one variable on Windows.
struct Variables {
    all: BTreeMap<String, OsString>,
    platform: Platform,
}

impl Variables {
    fn set(&mut self, name: &str, value: OsString) {
        let platform = self.platform;
        self.all.retain(|n, _| !rules::same(n, name, platform));
        self.all.insert(name.to_owned(), value);
    }
}

/// Nothing that leads anywhere but to the lab is left, whatever the spec holds.
fn on_the_lab(env: &mut Variables, lab: LabAccess<'_>) {
    let platform = env.platform;
    env.all.retain(|n, _| !rules::is_paying(n, platform) && !rules::is_proxy(n));
    for name in LAB_NAMES {
        let value = match name {
            "ANTHROPIC_API_KEY" => "lab",
            "ANTHROPIC_BASE_URL" => lab.base_url,
            "CLAUDE_CONFIG_DIR" => lab.config_dir,
            _ => "1",
        };
        env.set(name, value.into());
    }
}

fn look_up(
    wanted: &ByName,
    parent: &[(OsString, OsString)],
    read_file: &dyn Fn(&str) -> Result<String, String>,
    platform: Platform,
) -> Result<Option<OsString>, EnvError> {
    let found = match &wanted.source {
        Source::Env(name) => super::lookup(parent, name, platform).filter(|v| !v.is_empty()).cloned(),
        Source::File(path) => match read_file(path) {
            Ok(text) => Some(without_line_break(&text).into()).filter(|v: &OsString| !v.is_empty()),
            Err(_) if wanted.optional => None,
            Err(why) => {
                return Err(EnvError::Unreadable { name: wanted.name.clone(), path: path.clone(), why });
            }
        },
    };
    if found.as_ref().is_some_and(|v| v.as_encoded_bytes().contains(&0)) {
        return Err(EnvError::BadValue { name: wanted.name.clone() });
    }
    if found.is_none() && !wanted.optional {
        let from = match &wanted.source {
            Source::Env(name) => format!("the variable {name}"),
            Source::File(path) => format!("the file {path}"),
        };
        return Err(EnvError::Missing { name: wanted.name.clone(), from });
    }
    Ok(found)
}

/// Editors end files with a line break; no secret has one.
fn without_line_break(text: &str) -> &str {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\r').unwrap_or(text)
}
