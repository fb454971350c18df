//! What executables said and hashed to when they were last asked, so that a `run` neither hashes 400 MB nor waits for
//! `--help`. A file of the cache: losing it costs a second, and a damaged one counts as empty.

use super::hash;
use ostler_core::spec::PinnedFile;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// More executables than anybody uses at once; the oldest go.
const MOST: usize = 32;

/// What an executable says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Answer {
    /// `2.1.332`.
    pub(super) version: String,
    /// It reads `--agents` from a file.
    pub(super) agents_by_file: bool,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Known {
    executables: Vec<Entry>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    file: PinnedFile,
    answer: Answer,
}

/// What is known of the file at `path`, when it hasn't changed since.
pub(super) fn recall(cache: &Path, path: &Path) -> Option<(PinnedFile, Answer)> {
    let path = path.to_str()?;
    let entry = read(cache).executables.into_iter().find(|e| e.file.path == path)?;
    hash::looks_same(&entry.file).ok()?.then_some((entry.file, entry.answer))
}

/// Keeps it for next time. Two that write at once: one of them asks again some day.
pub(super) fn remember(cache: &Path, file: &PinnedFile, answer: &Answer) {
    let mut known = read(cache);
    known.executables.retain(|e| e.file.path != file.path);
    known.executables.push(Entry { file: file.clone(), answer: answer.clone() });
    let surplus = known.executables.len().saturating_sub(MOST);
    known.executables.drain(..surplus);
    let Ok(bytes) = serde_json::to_vec_pretty(&known) else { return };
    // A cache that can't be written is no reason to fail; it only costs the second again.
    if ostler_os::durable::create_dir_private(cache).is_ok() {
        let _ = ostler_os::durable::replace_file(&place(cache), &bytes);
    }
}

fn read(cache: &Path) -> Known {
    std::fs::read(place(cache)).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

fn place(cache: &Path) -> PathBuf {
    cache.join("executables.json")
}
