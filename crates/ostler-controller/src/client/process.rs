//! What the operating system has of a session, at a glance: from files and locks alone, without asking anybody.

use super::Ostler;
use ostler_core::ids::{GenerationNo, SessionId};
use ostler_core::machine::Phase;
use ostler_store::GenDir;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

/// How much of the end of `ctl` is looked at, in bytes: room for the rows behind which a child leaves.
const TAIL: u64 = 4096;

/// A session's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Where it stands.
    pub phase: Phase,
    /// The newest generation; 0 before the first.
    pub generation: GenerationNo,
}

impl Ostler {
    /// Where a session's process stands. The kernel decides whether it lives; the ends of its files tell the rest.
    #[must_use]
    pub fn process(&self, session: SessionId) -> Process {
        let dir = self.home().session(session);
        let generation = dir.generations().unwrap_or_default().last().copied().unwrap_or(0);
        let files = dir.generation(generation);
        let lives = generation > 0 && ostler_os::alive::is_busy(&files.alive()).unwrap_or(false);
        let phase = match lives {
            false => Phase::Cold,
            true if is_leaving(&files) => Phase::Ending,
            true if is_silent(&files) => Phase::Starting,
            true => Phase::Resident,
        };
        Process { phase, generation }
    }
}

/// It has said nothing yet.
fn is_silent(files: &GenDir) -> bool {
    std::fs::metadata(files.out()).is_ok_and(|m| m.len() == 0)
}

/// It was told to leave, or is being killed: nothing but that stands in `ctl` any more.
fn is_leaving(files: &GenDir) -> bool {
    let tail = tail(files).unwrap_or_default();
    let kinds = tail.split(|b| *b == b'\n').filter_map(|row| {
        let row: serde_json::Value = serde_json::from_slice(row).ok()?;
        row["ev"]["kind"].as_str().map(str::to_owned)
    });
    kinds.into_iter().any(|kind| kind == "ending" || kind == "kill")
}

fn tail(files: &GenDir) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(files.ctl())?;
    let len = file.metadata()?.len();
    file.seek(SeekFrom::Start(len.saturating_sub(TAIL)))?;
    let mut tail = Vec::new();
    file.take(TAIL).read_to_end(&mut tail)?;
    Ok(tail)
}
