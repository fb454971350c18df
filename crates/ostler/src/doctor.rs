//! What this machine has and lacks, before a session finds out the hard way.
//!
//! Everything is looked at and nothing is changed. Each finding says what is there, why it matters and what to do;
//! `doctor --json` prints [`Report`] as it is.

mod account;
mod installations;
mod limits;
mod place;
mod tools;

pub use installations::{Installation, Kind};

use crate::launcher::{Install, LauncherError, Search, find};
use serde::Serialize;
use std::ffi::OsString;
use std::path::Path;

/// What is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The caller's environment.
    pub env: &'a [(OsString, OsString)],
    /// The caller's directory.
    pub cwd: &'a Path,
    /// ostler's home, which needs not exist yet.
    pub home: &'a Path,
    /// The command line given with `--claude`.
    pub command: Option<&'a str>,
}

/// Everything that was found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The worst of [`Self::findings`].
    pub status: Status,
    /// In the order in which they are shown.
    pub findings: Vec<Finding>,
    /// Every Claude Code on this machine that was seen.
    pub installations: Vec<Installation>,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// A fixed name, such as `limits.inotify`.
    pub id: &'static str,
    /// How bad it is.
    pub status: Status,
    /// What is there.
    pub what: String,
    /// Why it matters; empty when it is fine.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// What to do; empty when there is nothing to do.
    #[serde(rename = "do", skip_serializing_if = "String::is_empty")]
    pub advice: String,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Fine.
    Ok,
    /// It works, and something will bite.
    Warn,
    /// Sessions can't run.
    Fail,
}

impl Finding {
    fn ok(id: &'static str, what: impl Into<String>) -> Self {
        Self { id, status: Status::Ok, what: what.into(), why: String::new(), advice: String::new() }
    }

    fn warn(id: &'static str, what: impl Into<String>, why: &str, advice: &str) -> Self {
        Self { id, status: Status::Warn, what: what.into(), why: why.to_owned(), advice: advice.to_owned() }
    }

    fn fail(id: &'static str, what: impl Into<String>, why: &str, advice: &str) -> Self {
        Self { status: Status::Fail, ..Self::warn(id, what, why, advice) }
    }
}

/// Looks at everything. Takes as long as the installed `claude`s need to say their versions, all at once.
#[must_use]
pub fn examine(context: &Context<'_>) -> Report {
    let mut findings = vec![claude(context)];
    findings.extend(place::findings(context));
    findings.extend(limits::findings());
    findings.extend(account::findings(context));
    findings.extend(tools::findings(context));
    let status = findings.iter().map(|f| f.status).max().unwrap_or(Status::Ok);
    Report { status, findings, installations: installations::seen(context) }
}

/// What `run` would start here.
fn claude(context: &Context<'_>) -> Finding {
    const ID: &str = "claude";
    let mut search = Search::new(context.env, context.cwd);
    search.command = context.command;
    search.install = Install::Refused;
    match find(&search, &mut |_| {}) {
        Ok(found) => {
            let resolved = &found.launcher.resolved;
            Finding::ok(
                ID,
                format!("Claude Code {} at {} ({})", resolved.version, resolved.program.path, found.origin),
            )
        }
        Err(LauncherError::InstallRefused { version }) if tools::has_npm(context) => Finding::ok(
            ID,
            format!("no claude is installed; the first session will install {version} by npm"),
        ),
        Err(LauncherError::InstallRefused { .. }) => Finding::fail(
            ID,
            "no claude is installed",
            "sessions are children of it",
            &LauncherError::NoNpm.to_string(),
        ),
        Err(e) => Finding::fail(ID, report(&e), "sessions are children of it", "see what it says"),
    }
}

/// An error with its causes.
fn report(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(c) = cause {
        text.push_str(": ");
        text.push_str(&c.to_string());
        cause = c.source();
    }
    text
}
