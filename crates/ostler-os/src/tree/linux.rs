//! `/proc`.

use super::Entry;
use crate::process::{is_gone, stat};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;

/// The most of an environment that is read: what arguments and environment can take together (execve(2)).
const ENVIRONMENT: u64 = 6 << 20;

pub(super) fn entries() -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for process in fs::read_dir("/proc")? {
        let Some(pid) = process?.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        if let Some(entry) = entry(pid)? {
            entries.push(entry);
        }
    }
    Ok(entries)
}

pub(super) fn entry(pid: u32) -> io::Result<Option<Entry>> {
    let stat = stat(pid)?;
    Ok(stat.map(|stat| Entry { pid: stat.pid, parent: stat.parent, start_ticks: stat.start_ticks }))
}

/// The children of this process, without reading the whole table. Needs `CONFIG_PROC_CHILDREN`; without it there
/// seem to be none. May miss some while others end (proc_pid_task(5)), so it proves nothing.
pub(super) fn own_children() -> Vec<u32> {
    let mut children = Vec::new();
    for task in fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let list = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        children.extend(list.split_ascii_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
    }
    children
}

/// A variable to look for in the environment that a process was started with.
#[derive(Debug)]
pub(super) struct Marker(Vec<u8>);

impl Marker {
    pub(super) fn new(name: &OsStr, value: &OsStr) -> Self {
        Self([name.as_bytes(), b"=", value.as_bytes()].concat())
    }

    /// False also when we may not look.
    pub(super) fn is_on(&self, pid: u32) -> bool {
        let mut environment = Vec::new();
        let read = File::open(format!("/proc/{pid}/environ"))
            .and_then(|file| file.take(ENVIRONMENT).read_to_end(&mut environment));
        match read {
            Ok(_) => environment.split(|byte| *byte == 0).any(|variable| variable == self.0),
            Err(error) => {
                debug_assert!(is_gone(&error) || error.kind() == io::ErrorKind::PermissionDenied, "{error}");
                false
            }
        }
    }
}
