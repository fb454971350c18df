//! Looking for programs on `PATH`, and passing over what a host put there.
//!
//! A session is often created from inside something else: an editor, the desktop app, another session's shell, a
//! Python environment. What those put in front of the person's own programs is not what the person means by
//! `claude`.

use super::dirs::variable;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A `claude` on `PATH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// As `PATH` gives it.
    pub path: PathBuf,
    /// Set when it is passed over.
    pub hidden: Option<Hidden>,
}

/// Why a `claude` on `PATH` is passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hidden {
    /// It is the one of the host that we run under (`CLAUDE_CODE_EXECPATH`).
    Host,
    /// It belongs to a virtual environment (`VIRTUAL_ENV`).
    VirtualEnv,
}

/// Every file of that name on `PATH`, in order. Empty and relative entries are passed over: they mean whatever
/// directory one happens to be in, and a repository could bring its own `claude`.
#[must_use]
pub fn on_path(name: &str, env: &[(OsString, OsString)]) -> Vec<PathBuf> {
    let path = variable(env, "PATH").unwrap_or_default();
    let names = candidates(name);
    let entries = std::env::split_paths(path).filter(|dir| dir.is_absolute());
    entries
        .flat_map(|dir| names.iter().map(move |n| dir.join(n)).collect::<Vec<_>>())
        .filter(|p| p.is_file())
        .collect()
}

/// A program's possible file names.
fn candidates(name: &str) -> Vec<String> {
    if std::env::consts::EXE_SUFFIX.is_empty() || Path::new(name).extension().is_some() {
        return vec![name.to_owned()];
    }
    [std::env::consts::EXE_SUFFIX, ".cmd", ".bat"].map(|ext| format!("{name}{ext}")).to_vec()
}

/// The `claude`s on `PATH` that a person may mean, in order, each once.
#[must_use]
pub fn claude_on_path(env: &[(OsString, OsString)]) -> Vec<PathBuf> {
    seen_on_path(env).into_iter().filter(|s| s.hidden.is_none()).map(|s| s.path).collect()
}

/// All of them, with the reason for those that are passed over.
#[must_use]
pub fn seen_on_path(env: &[(OsString, OsString)]) -> Vec<Seen> {
    let mut seen: Vec<Seen> = Vec::new();
    for path in on_path("claude", env) {
        if !seen.iter().any(|s| s.path == path) {
            let hidden = hidden(&path, env);
            seen.push(Seen { path, hidden });
        }
    }
    seen
}

fn hidden(path: &Path, env: &[(OsString, OsString)]) -> Option<Hidden> {
    let same = |other: &Path| match (path.canonicalize(), other.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => path == other,
    };
    if variable(env, "CLAUDE_CODE_EXECPATH").is_some_and(|host| same(Path::new(host))) {
        return Some(Hidden::Host);
    }
    let venv = variable(env, "VIRTUAL_ENV").map(Path::new)?;
    let in_venv = ["bin", "Scripts"].iter().any(|bin| path.parent() == Some(venv.join(bin).as_path()));
    in_venv.then_some(Hidden::VirtualEnv)
}
