//! No code for this platform yet: there are no scopes.

use super::{Caps, Dir, Door, Hierarchies, Met, ScopeError};
use crate::{PathError, Unsupported};
use std::io;
use std::path::Path;

const GROUPS: Unsupported = Unsupported { what: "control groups" };

pub(super) fn plan(_name: &str, caps: &Caps, _which: Hierarchies) -> Result<Vec<Dir>, ScopeError> {
    match caps {
        Caps { pids: None, memory: None } => Ok(Vec::new()),
        Caps { pids: Some(_), .. } => Err(ScopeError::Cap { what: "the number of processes" }),
        Caps { .. } => Err(ScopeError::Cap { what: "memory" }),
    }
}

pub(super) fn make(_dirs: &[Dir], _caps: &Caps) -> Result<(), ScopeError> {
    Ok(())
}

pub(super) fn door(dir: &Dir) -> Result<Door, PathError> {
    Err(PathError::new("open", &dir.path, GROUPS.into()))
}

pub(super) fn step_through(_dir: &Dir) {}

pub(super) fn ways_out() -> Vec<Dir> {
    Vec::new()
}

pub(super) fn members(_dir: &Path) -> io::Result<Vec<u32>> {
    Err(GROUPS.into())
}

pub(super) fn seal(_dir: &Path) {}

pub(super) fn kill(_dir: &Path) {}

pub(super) fn met(_dir: &Dir, _met: &mut Met) {}

pub(super) fn remove(_dir: &Path) -> bool {
    false
}
