//! Whether the database may have changed, told without opening it.
//!
//! Whoever writes, in whatever process, writes to the write-ahead log or, at a checkpoint, to the database: a file's
//! length or its time changes. File times tick every few milliseconds, so a look right behind a write proves nothing
//! about another write in the same tick; such a look counts as a change.

use super::Db;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// Longer than a tick of file times, which are the kernel's coarse clock: at most 10 ms.
const TICK: Duration = Duration::from_millis(50);
/// The same where a file system keeps whole seconds only.
const COARSE: Duration = Duration::from_secs(2);

/// What the files looked like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Look {
    log: Option<(u64, SystemTime)>,
    database: Option<(u64, SystemTime)>,
}

/// Looks at the database's files.
#[derive(Debug)]
pub struct Glance {
    log: PathBuf,
    database: PathBuf,
    last: Option<Look>,
}

impl Db {
    /// For somebody who reads now and then and would rather not.
    #[must_use]
    pub fn glance(&self) -> Glance {
        let mut log = self.path().as_os_str().to_owned();
        log.push("-wal");
        Glance { log: log.into(), database: self.path().to_owned(), last: None }
    }
}

impl Glance {
    /// True when the database may have changed since the last time that this was asked; always true at first. Ask
    /// before reading, not after.
    pub fn changed(&mut self) -> bool {
        let of = |path: &PathBuf| {
            let meta = std::fs::metadata(path).ok()?;
            Some((meta.len(), meta.modified().ok()?))
        };
        let look = Look { log: of(&self.log), database: of(&self.database) };
        let now = SystemTime::now();
        // A time ahead of the clock, too, proves nothing.
        let settled = |file: &Option<(u64, SystemTime)>| {
            file.is_some_and(|(_, at)| now.duration_since(at).is_ok_and(|age| age >= tick(at)))
        };
        let proves = settled(&look.log) && settled(&look.database);
        let known = proves.then_some(look);
        let changed = known.is_none() || known != self.last;
        self.last = known;
        changed
    }
}

fn tick(at: SystemTime) -> Duration {
    let whole = at.duration_since(SystemTime::UNIX_EPOCH).is_ok_and(|since| since.subsec_nanos() == 0);
    if whole { COARSE } else { TICK }
}
