//! Where a conversation's transcript is, and what it had cost.
//!
//! The CLI keeps them in `<config dir>/projects/<folder>/<id>.jsonl`. The folder's name is made from a directory and
//! can't be read back, so a transcript is found by its id alone. Any run of the CLI on the same configuration deletes
//! old ones; ours are hard-linked into the session's folder and linked back (protocol page, "Identity").

use super::log;
use ostler_core::baseline::{COST_STATE_PREFIX, baseline_of};
use ostler_core::ctl::Baseline;
use ostler_core::ids::{ConversationId, GenerationNo};
use ostler_core::spec::Transcript;
use ostler_store::{GenDir, SessionDir};
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// The transcript of a conversation. One that was deleted is linked back from the session's own link first.
pub(crate) fn find_or_link_back(
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

/// A transcript, to know it again: its length and its hash.
pub(crate) fn print(path: &Path) -> std::io::Result<Transcript> {
    let mut file = fs::File::open(path)?;
    let mut hash = Sha256::new();
    let bytes = std::io::copy(&mut file, &mut hash)?;
    let sha256 = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Transcript { bytes, sha256 })
}

/// How long a transcript was when a generation was dead.
#[derive(serde::Serialize, serde::Deserialize)]
struct Length {
    conversation: ConversationId,
    bytes: u64,
}

/// How many generations back a length is looked for: those that never ran have none.
const BACK: u32 = 16;

/// Notes it beside the generation's other files; 0 where there is no transcript.
pub(super) fn note_length(
    files: &GenDir,
    config: &Path,
    conversation: ConversationId,
) -> std::io::Result<()> {
    let found = find(&config.join("projects"), conversation);
    let bytes = found.map(|path| path.metadata()).transpose()?.map_or(0, |metadata| metadata.len());
    let text = serde_json::to_vec(&Length { conversation, bytes })?;
    // Whole or not there; after a crash of the machine it is not needed.
    let new = files.path.join("transcript.new");
    fs::write(&new, text)?;
    fs::rename(new, files.path.join("transcript"))
}

/// By how many bytes somebody else has changed the transcript since our last generation: whatever it has gained or
/// lost while nobody of ours could write to it.
pub(super) fn foreign(
    dir: &SessionDir,
    next: GenerationNo,
    conversation: ConversationId,
    transcript: Option<&Path>,
) -> Option<i64> {
    let noted = (next.saturating_sub(BACK)..next).rev().find_map(|no| {
        let text = fs::read(dir.generation(no).path.join("transcript")).ok()?;
        serde_json::from_slice::<Length>(&text).ok()
    })?;
    let now = match transcript {
        Some(path) => path.metadata().ok()?.len(),
        None => 0,
    };
    let change = i64::try_from(now).ok()? - i64::try_from(noted.bytes).ok()?;
    (noted.conversation == conversation && change != 0).then_some(change)
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
