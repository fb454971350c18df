//! Where a conversation's transcript is, and what it had cost.
//!
//! The CLI keeps them in `<config dir>/projects/<folder>/<id>.jsonl`. The folder's name is made from a directory and
//! can't be read back, so a transcript is found by its id alone. Any run of the CLI on the same configuration deletes
//! old ones; ours are hard-linked into the session's folder and linked back (protocol page, "Identity").

use super::log;
use ostler_core::baseline::{COST_STATE_PREFIX, baseline_of};
use ostler_core::ctl::Baseline;
use ostler_core::ids::ConversationId;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// The transcript of a conversation. One that was deleted is linked back from the session's own link first.
pub(super) fn find_or_link_back(
    env: &[(OsString, OsString)],
    conversation: ConversationId,
    own_link: &Path,
) -> Option<PathBuf> {
    let projects = config_dir(env)?.join("projects");
    find(&projects, conversation).or_else(|| link_back(&projects, conversation, own_link))
}

/// Where the CLI that gets this environment keeps everything.
pub(super) fn config_dir(env: &[(OsString, OsString)]) -> Option<PathBuf> {
    let value = |name: &str| env.iter().find(|(n, _)| n == name).map(|(_, v)| PathBuf::from(v));
    value("CLAUDE_CONFIG_DIR").or_else(|| value("HOME").map(|home| home.join(".claude")))
}

fn find(projects: &Path, conversation: ConversationId) -> Option<PathBuf> {
    let name = format!("{conversation}.jsonl");
    let folders = fs::read_dir(projects).ok()?;
    folders.flatten().map(|folder| folder.path().join(&name)).find(|path| path.is_file())
}

/// Puts the link where the CLI had it, as far as its own rows tell; any project folder does, for the CLI finds
/// transcripts by id across folders (older ones: only from the same directory, which is the one it was made from).
fn link_back(projects: &Path, conversation: ConversationId, own_link: &Path) -> Option<PathBuf> {
    if !holds(own_link, conversation) {
        return None;
    }
    let folder = projects.join(folder_name(&first_cwd(own_link)?));
    fs::create_dir_all(&folder).ok()?;
    let path = folder.join(format!("{conversation}.jsonl"));
    match fs::hard_link(own_link, &path) {
        Ok(()) => {
            log(&format!("the transcript of {conversation} was gone; it was linked back"));
            Some(path)
        }
        Err(error) => {
            log(&format!("the transcript of {conversation} is gone and could not be linked back: {error}"));
            None
        }
    }
}

/// How the CLI names a project's folder: each character that is not alphanumeric becomes `-` (protocol page).
fn folder_name(cwd: &str) -> String {
    cwd.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

/// True when the link is of this conversation: after `/clear` it may still be of the one before.
fn holds(own_link: &Path, conversation: ConversationId) -> bool {
    let id = conversation.to_string();
    rows(own_link).any(|row| row.get("sessionId").and_then(|v| v.as_str()) == Some(&id))
}

fn first_cwd(own_link: &Path) -> Option<String> {
    rows(own_link).find_map(|row| row.get("cwd").and_then(|v| v.as_str()).map(str::to_owned))
}

/// The first rows: where ids and directories stand.
fn rows(path: &Path) -> impl Iterator<Item = serde_json::Value> {
    let lines = fs::File::open(path).ok().map(|f| BufReader::new(f).split(b'\n').take(64));
    lines.into_iter().flatten().flatten().filter_map(|line| serde_json::from_slice(&line).ok())
}

/// What the conversation had cost: the last `cost-state` row. Nothing when there is none.
pub(super) fn baseline(path: &Path) -> Baseline {
    let Ok(file) = fs::File::open(path) else { return Baseline::default() };
    let mut reader = BufReader::with_capacity(256 << 10, file);
    let (mut line, mut last) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        match reader.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => break,
            Ok(_) if line.starts_with(COST_STATE_PREFIX) => last.clone_from(&line),
            Ok(_) => {}
        }
    }
    baseline_of(&last).unwrap_or_default()
}

/// Makes the transcript durable and keeps a link to it that no clean-up of the CLI reaches.
pub(super) fn keep(
    env_config: Option<&Path>,
    conversation: ConversationId,
    own_link: &Path,
) -> std::io::Result<()> {
    let Some(path) = env_config.and_then(|dir| find(&dir.join("projects"), conversation)) else {
        return Ok(());
    };
    let file = fs::File::open(&path)?;
    ostler_os::durable::fdatasync(&file)?;
    if own_link.exists() && ostler_os::durable::is_same_file(&file, own_link)? {
        return Ok(());
    }
    // Linked beside and renamed over: there is a whole link at every instant.
    let beside = own_link.with_extension("new");
    let _ = fs::remove_file(&beside);
    match fs::hard_link(&path, &beside) {
        Ok(()) => fs::rename(&beside, own_link),
        // Another file system: there can be no link, and the CLI's own copy is all there is.
        Err(error) if error.kind() == std::io::ErrorKind::CrossesDevices => Ok(()),
        Err(error) => Err(error),
    }
}
