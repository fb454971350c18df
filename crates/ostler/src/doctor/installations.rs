//! Every Claude Code on this machine that can be seen, with its version. Two at once are the usual reason for "but I
//! updated it".

use super::Context;
use crate::launcher::{Hidden, Search, cache_dir, on_path, seen_on_path, version_of};
use serde::Serialize;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A person waits for this.
const DEADLINE: Duration = Duration::from_secs(5);

/// One installation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Installation {
    /// Where it was seen first.
    pub path: PathBuf,
    /// The file behind the links, where that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub real: Option<PathBuf>,
    /// Who put it there.
    pub kind: Kind,
    /// What it says that it is.
    pub version: Option<String>,
    /// Why it has no version, or why it isn't used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Who put an installation there, or how it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// On `PATH`.
    Path,
    /// Claude Code's own installer.
    Native,
    /// `npm install -g`.
    NpmGlobal,
    /// ostler.
    OstlerCache,
    /// The host that we run under.
    Host,
}

/// All of them, each file once.
pub(super) fn seen(context: &Context<'_>) -> Vec<Installation> {
    let mut found: Vec<Installation> = Vec::new();
    for (path, kind, note) in places(context) {
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        if path.is_file() && !found.iter().any(|i| i.real.as_ref().unwrap_or(&i.path) == &real) {
            let real = (real != path).then_some(real);
            found.push(Installation { path, real, kind, version: None, note });
        }
    }
    let mut search = Search::new(context.env, context.cwd);
    search.deadline = DEADLINE;
    std::thread::scope(|scope| {
        for installation in &mut found {
            scope.spawn(|| match version_of(&installation.path, &search) {
                Ok(version) => installation.version = Some(version.to_string()),
                Err(e) => installation.note = Some(super::report(&e)),
            });
        }
    });
    found
}

fn places(context: &Context<'_>) -> Vec<(PathBuf, Kind, Option<String>)> {
    let mut all = Vec::new();
    for seen in seen_on_path(context.env) {
        let (kind, note) = match seen.hidden {
            None => (Kind::Path, None),
            Some(Hidden::Host) => {
                (Kind::Host, Some("passed over: it belongs to the program that ostler runs under"))
            }
            Some(Hidden::VirtualEnv) => {
                (Kind::Path, Some("passed over: it belongs to a virtual environment"))
            }
        };
        all.push((seen.path, kind, note.map(str::to_owned)));
    }
    let variable = |name: &str| context.env.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_os_str());
    if let Some(host) = variable("CLAUDE_CODE_EXECPATH").filter(|v| !v.is_empty()) {
        all.push((
            host.into(),
            Kind::Host,
            Some("passed over: it belongs to the program that ostler runs under".into()),
        ));
    }
    if let Some(home) = variable("HOME").map(Path::new) {
        all.push((home.join(".local/bin/claude"), Kind::Native, None));
        all.extend(files_in(&home.join(".local/share/claude/versions")).map(|p| (p, Kind::Native, None)));
        all.push((home.join(".claude/local/claude"), Kind::NpmGlobal, None));
    }
    for npm in on_path("npm", context.env) {
        // `<prefix>/bin/npm` → `<prefix>/lib/node_modules`.
        if let Some(prefix) = npm.parent().and_then(Path::parent) {
            all.push((prefix.join("bin/claude"), Kind::NpmGlobal, None));
        }
    }
    if let Ok(cache) = cache_dir(context.env) {
        let versions = files_in(&cache.join("claude"));
        all.extend(versions.flat_map(|v| native_executables(&v)).map(|p| (p, Kind::OstlerCache, None)));
    }
    all
}

/// The executables of one installation in the cache, whatever the platform's package is called.
fn native_executables(version: &Path) -> Vec<PathBuf> {
    files_in(&version.join("node_modules/@anthropic-ai")).map(|package| package.join("claude")).collect()
}

/// The entries of a folder but for hidden ones, sorted; none when it isn't there.
fn files_in(dir: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let visible = |name: &OsStr| !name.as_encoded_bytes().starts_with(b".");
    let mut paths: Vec<PathBuf> = entries.filter(|e| visible(&e.file_name())).map(|e| e.path()).collect();
    paths.sort();
    paths.into_iter()
}
