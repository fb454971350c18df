//! Process trees: who is in one, and killing it whole.

use crate::process::Identity;
use crate::reap::Exit;
use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::time::Instant;

/// What to kill. Everything found in one of the three ways is killed, with all its descendants.
pub struct KillPlan<'a> {
    /// These, where they still are who they were.
    pub roots: &'a [Identity],
    /// Whoever carries this variable in its environment, as far as we may read it.
    pub marker: Option<(&'a OsStr, &'a OsStr)>,
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
    /// children any more or two scans in a row found nothing to kill. Otherwise something may have escaped.
    pub proven: bool,
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
    todo!()
}

/// All processes with `name=value` in the environment that they were started with, as far as we may read it. This
/// process is not included.
///
/// # Errors
/// When the process table cannot be read.
pub fn by_marker(name: &OsStr, value: &OsStr) -> io::Result<Vec<u32>> {
    todo!()
}

/// Kills a tree: scan, SIGKILL, reap, again, until two scans in a row find nothing, or the deadline.
///
/// # Errors
/// When the process table cannot be read.
pub fn kill_tree(plan: &KillPlan<'_>) -> io::Result<Killed> {
    todo!()
}
