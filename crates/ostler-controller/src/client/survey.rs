//! What a fingerprint needs besides the launch spec: the program as it is now, and what git says of a directory.

use super::worktree;
use ostler_core::fingerprint::Found;
use ostler_core::spec::{LaunchSpec, PinnedFile};
use sha2::{Digest, Sha256};
use std::fs::{File, Metadata};
use std::path::Path;
use std::time::UNIX_EPOCH;

/// Looks.
pub(super) fn survey(spec: &LaunchSpec) -> Found {
    Found { program: program(&spec.launcher.resolved.program), git: git(Path::new(&spec.cwd)) }
}

/// The program's hash: the one that is pinned while neither length nor time have changed, else that of its bytes.
fn program(pinned: &PinnedFile) -> Option<String> {
    let mut file = File::open(&pinned.path).ok()?;
    let metadata = file.metadata().ok()?;
    if metadata.len() == pinned.size && mtime(&metadata) == Some(pinned.mtime_ns) {
        return Some(pinned.sha256.clone());
    }
    let mut hash = Sha256::new();
    std::io::copy(&mut file, &mut hash).ok()?;
    Some(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

fn mtime(metadata: &Metadata) -> Option<u64> {
    let since = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since.as_nanos()).ok()
}

/// Commit, branch and what is changed: what the CLI tells the model of a repository.
fn git(dir: &Path) -> Option<String> {
    let ask = |words: &[&str]| worktree::git(dir, words).ok()?.ok();
    // Without its index being refreshed: nothing is written there.
    let status = ask(&["--no-optional-locks", "status", "--porcelain=v1", "--branch"])?;
    let head = ask(&["rev-parse", "-q", "--verify", "HEAD"]).unwrap_or_default();
    Some(format!("{head}\n{status}"))
}
