//! Process trees: who is in one, and killing it whole.

mod kill;
#[cfg_attr(target_os = "linux", path = "tree/linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "tree/unsupported.rs")]
mod platform;

use crate::process::Identity;
use crate::reap::Exit;
use crate::scope::Scope;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::time::Instant;

/// What to kill. Everything found in one of the four ways is killed, with all its descendants.
pub struct KillPlan<'a> {
    /// These, where they still are who they were.
    pub roots: &'a [Identity],
    /// Whoever carries this variable in its environment, as far as we may read it.
    pub marker: Option<(&'a OsStr, &'a OsStr)>,
    /// Everybody in it; nobody in it may start another process from here on.
    pub scope: Option<&'a Scope>,
    /// All children of this process. With a subreaper that is everything that ever came from it; they are reaped,
    /// the kept ones too when they die.
    pub own_children: bool,
    /// True for a pid that stays, with all below it. This process always stays.
    pub keep: &'a dyn Fn(u32) -> bool,
    /// When to give up.
    pub deadline: Instant,
}

impl fmt::Debug for KillPlan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KillPlan")
            .field("roots", &self.roots)
            .field("marker", &self.marker)
            .field("scope", &self.scope)
            .field("own_children", &self.own_children)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

/// What came of a [`KillPlan`].
#[derive(Debug, Default)]
pub struct Killed {
    /// How many processes were sent SIGKILL.
    pub killed: usize,
    /// True when nothing can be left: this process is a subreaper, `own_children` was asked for, and either it has no
    /// children any more, or twice in a row a scan found nothing to kill and no child died meanwhile. Otherwise
    /// something may have escaped.
    pub proven: bool,
    /// True when the scope is empty (then nothing else was looked at twice, and `proven` may be false), but for what was to be kept: of whatever was started in it nothing is left.
    pub emptied: bool,
    /// Who was still alive at the deadline.
    pub left: Vec<u32>,
    /// Children that were reaped meanwhile (only with `own_children`).
    pub reaped: Vec<(u32, Exit)>,
}

/// All processes below `pid`, itself not included.
///
/// # Errors
/// When the process table cannot be read.
pub fn descendants(pid: u32) -> io::Result<Vec<u32>> {
    let table = Table::read()?;
    let mut below = table.below([pid], &|_| false);
    below.retain(|entry| entry.pid != pid);
    Ok(below.into_iter().map(|entry| entry.pid).collect())
}

/// All processes with `name=value` in the environment that they were started with, as far as we may read it. This
/// process is not included.
///
/// # Errors
/// When the process table cannot be read.
pub fn by_marker(name: &OsStr, value: &OsStr) -> io::Result<Vec<u32>> {
    let carries = platform::Marker::new(name, value);
    let me = std::process::id();
    let table = Table::read()?;
    let pids = table.entries.iter().map(|entry| entry.pid);
    Ok(pids.filter(|pid| *pid != me && carries.is_on(*pid)).collect())
}

/// Kills a tree: scan, SIGKILL, reap, again, until two rounds in a row find nothing, or the deadline.
///
/// # Errors
/// When the process table cannot be read.
pub fn kill_tree(plan: &KillPlan<'_>) -> io::Result<Killed> {
    kill::run(plan)
}

/// A process, as it was at the moment of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Entry {
    pid: u32,
    parent: u32,
    start_ticks: u64,
}

/// All processes, read one after the other: those that come and go meanwhile may be missing.
#[derive(Debug)]
struct Table {
    entries: Vec<Entry>,
}

impl Table {
    fn read() -> io::Result<Self> {
        Ok(Self { entries: platform::entries()? })
    }

    /// These and all their descendants, without the subtrees that `keep` names.
    fn below(&self, starts: impl IntoIterator<Item = u32>, keep: &dyn Fn(u32) -> bool) -> Vec<Entry> {
        let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
        let mut entries: HashMap<u32, Entry> = HashMap::new();
        for entry in &self.entries {
            children.entry(entry.parent).or_default().push(entry.pid);
            entries.insert(entry.pid, *entry);
        }
        let mut todo: Vec<u32> = starts.into_iter().collect();
        let mut found = Vec::new();
        while let Some(pid) = todo.pop() {
            // Taking it out of the map is what ends the walk where a racing scan shows a loop.
            if keep(pid) {
                continue;
            }
            if let Some(entry) = entries.remove(&pid) {
                found.push(entry);
                todo.extend(children.remove(&pid).unwrap_or_default());
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(pairs: &[(u32, u32)]) -> Table {
        let entry = |(pid, parent): &(u32, u32)| Entry { pid: *pid, parent: *parent, start_ticks: 1 };
        Table { entries: pairs.iter().map(entry).collect() }
    }

    fn pids(mut entries: Vec<Entry>) -> Vec<u32> {
        entries.sort_by_key(|entry| entry.pid);
        entries.into_iter().map(|entry| entry.pid).collect()
    }

    #[test]
    fn a_kept_process_keeps_what_is_below_it() {
        let table = table(&[(1, 0), (10, 1), (11, 10), (12, 11), (20, 1), (21, 20)]);
        assert_eq!(pids(table.below([10, 20], &|pid| pid == 11)), [10, 20, 21]);
    }

    #[test]
    fn a_torn_scan_that_shows_a_loop_ends() {
        assert_eq!(pids(table(&[(10, 11), (11, 10)]).below([10], &|_| false)), [10, 11]);
    }
}
