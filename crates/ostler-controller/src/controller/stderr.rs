//! The child's stderr: capped while it lives, its end kept as last words.

use super::{Controller, log};
use ostler_store::GenDir;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::time::{Duration, Instant};

/// A longer `err` is cut down to its end, in bytes.
const CAP: u64 = 1 << 20;
/// What is kept of it then.
const KEPT: u64 = 64 << 10;
/// How much of it is kept as last words.
const LAST_WORDS: u64 = 4 << 10;
/// How often its length is looked at.
const LOOK: Duration = Duration::from_secs(1);

impl Controller {
    /// Nobody needs a megabyte of it, and a child may write for days.
    pub(super) fn cap_stderr(&mut self) {
        if self.stderr_seen.is_some_and(|at| at.elapsed() < LOOK) {
            return;
        }
        self.stderr_seen = Some(Instant::now());
        let files = self.dir.generation(self.machine.generation());
        match cut(&files) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                log(&format!("stderr of generation {} can't be cut: {error}", files.no));
            }
            _ => {}
        }
    }
}

/// The child appends, so it goes on behind whatever is left. What it writes between the two calls is lost.
fn cut(files: &GenDir) -> io::Result<()> {
    let mut file = File::options().read(true).append(true).open(files.err())?;
    let len = file.metadata()?.len();
    if len <= CAP {
        return Ok(());
    }
    let kept = end_of(&mut file, KEPT)?;
    file.set_len(0)?;
    file.write_all(format!("[ostler: {} bytes before this were cut off]\n", len - KEPT).as_bytes())?;
    file.write_all(&kept)
}

fn end_of(file: &mut File, bytes: u64) -> io::Result<Vec<u8>> {
    let len = file.metadata()?.len();
    file.seek(SeekFrom::Start(len.saturating_sub(bytes)))?;
    let mut end = Vec::new();
    file.take(bytes).read_to_end(&mut end)?;
    Ok(end)
}

/// The end of it, for people.
pub(super) fn last_words(files: &GenDir) -> Option<String> {
    let mut file = File::open(files.err()).ok()?;
    let bytes = end_of(&mut file, LAST_WORDS).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let words = text.trim();
    let skip = words.chars().count().saturating_sub(2_000);
    (!words.is_empty()).then(|| words.chars().skip(skip).collect())
}
