//! The places that a launcher is configured and cached in.

use super::LauncherError;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The value of a variable; an empty one counts as not set.
pub(crate) fn variable<'a>(env: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
    env.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_os_str()).filter(|v| !v.is_empty())
}

/// ostler's cache: `$XDG_CACHE_HOME/ostler`, else `~/.cache/ostler`. Everything in it can be made again.
///
/// # Errors
/// [`LauncherError::NoCache`] when neither variable is set.
pub fn cache_dir(env: &[(OsString, OsString)]) -> Result<PathBuf, LauncherError> {
    base_dir(env, "XDG_CACHE_HOME", ".cache").ok_or(LauncherError::NoCache)
}

/// The configuration file: `$OSTLER_CONFIG`, else `$XDG_CONFIG_HOME/ostler/config.toml`, else
/// `~/.config/ostler/config.toml`. It needs not exist.
#[must_use]
pub fn config_file(env: &[(OsString, OsString)]) -> Option<PathBuf> {
    if let Some(path) = variable(env, "OSTLER_CONFIG") {
        return Some(path.into());
    }
    base_dir(env, "XDG_CONFIG_HOME", ".config").map(|dir| dir.join("config.toml"))
}

/// The XDG rules: a relative value is ignored.
fn base_dir(env: &[(OsString, OsString)], xdg: &str, below_home: &str) -> Option<PathBuf> {
    let base = variable(env, xdg).map(PathBuf::from).filter(|p| p.is_absolute());
    let base = base.or_else(|| {
        let home = variable(env, "HOME").or_else(|| variable(env, "USERPROFILE"))?;
        Some(Path::new(home).join(below_home))
    });
    base.map(|dir| dir.join("ostler"))
}

/// The command line under the key `claude` of the configuration file, and the file's path.
pub(super) fn configured(env: &[(OsString, OsString)]) -> Result<Option<(String, PathBuf)>, LauncherError> {
    let Some(path) = config_file(env) else { return Ok(None) };
    let wrong = |why: String| LauncherError::Config { path: path.clone(), why };
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound && variable(env, "OSTLER_CONFIG").is_none() => {
            return Ok(None);
        }
        Err(e) => return Err(wrong(e.to_string())),
    };
    let table: toml::Table = text.parse().map_err(|e: toml::de::Error| wrong(e.message().to_owned()))?;
    match table.get("claude") {
        None => Ok(None),
        Some(toml::Value::String(line)) => Ok(Some((line.clone(), path))),
        Some(_) => Err(wrong("the value of `claude` must be a string, a command line".to_owned())),
    }
}
