//! Files as they were: path, SHA-256, size, modification time.

use super::LauncherError;
use ostler_core::spec::{Launcher, PinnedFile};
use sha2::{Digest, Sha256};
use std::fs::{File, Metadata};
use std::io::Read;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// How much is read at once. The executable has 400 MB; it is hashed once and then remembered.
const CHUNK: usize = 1 << 20;

/// Hashes a file.
pub(super) fn pin_file(path: &Path) -> Result<PinnedFile, LauncherError> {
    let text = path.to_str().ok_or_else(|| LauncherError::PathNotText { path: path.to_owned() })?;
    let mut file = File::open(path).map_err(LauncherError::io("open", path))?;
    let metadata = file.metadata().map_err(LauncherError::io("look at", path))?;
    let mut hasher = Sha256::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        let n = file.read(&mut chunk).map_err(LauncherError::io("read", path))?;
        if n == 0 {
            break;
        }
        hasher.update(&chunk[..n]);
    }
    let sha256 = hasher.finalize().iter().map(|b| format!("{b:02x}")).collect();
    Ok(PinnedFile { path: text.to_owned(), sha256, size: metadata.len(), mtime_ns: mtime_ns(&metadata) })
}

/// Whether a file is still the one that was pinned, as far as `stat` tells.
pub(super) fn looks_same(pinned: &PinnedFile) -> std::io::Result<bool> {
    let metadata = std::fs::metadata(&pinned.path)?;
    Ok(metadata.is_file() && metadata.len() == pinned.size && mtime_ns(&metadata) == pinned.mtime_ns)
}

/// Checks, before a child is started, that a stored launcher still means the same files. Hashes only a file whose
/// time or size has changed.
///
/// # Errors
/// [`LauncherError::Gone`] or [`LauncherError::Changed`].
pub fn check(launcher: &Launcher) -> Result<(), LauncherError> {
    let resolved = &launcher.resolved;
    for pinned in std::iter::once(&resolved.program).chain(&resolved.scripts) {
        let version = resolved.version.clone();
        let path = Path::new(&pinned.path);
        match looks_same(pinned) {
            Ok(true) => {}
            Ok(false) => {
                let now = pin_file(path)?;
                if now.sha256 != pinned.sha256 {
                    return Err(LauncherError::Changed { path: path.to_owned(), version });
                }
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                return Err(LauncherError::Gone { path: path.to_owned(), version });
            }
            Err(e) => return Err(LauncherError::io("look at", path)(e)),
        }
    }
    Ok(())
}

/// A file that another program reads and runs: it says so in its first two bytes, or is a batch file.
pub(super) fn is_script(path: &Path) -> bool {
    let mut start = [0; 2];
    let shebang = File::open(path).and_then(|mut f| f.read_exact(&mut start)).is_ok() && &start == b"#!";
    shebang || ostler_core::argv::windows::is_batch(&path.to_string_lossy())
}

fn mtime_ns(metadata: &Metadata) -> u64 {
    let since = metadata.modified().ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok());
    since.and_then(|d| u64::try_from(d.as_nanos()).ok()).unwrap_or(0)
}
