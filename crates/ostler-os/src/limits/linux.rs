//! `/proc/sys`, getrlimit(2), control groups.

use super::{Inotify, Limit, Memory};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const CONTROL_GROUPS: &str = "/sys/fs/cgroup";

pub(super) fn inotify() -> io::Result<Inotify> {
    Ok(Inotify {
        max_instances: number_in(Path::new("/proc/sys/fs/inotify/max_user_instances"))?,
        max_watches: number_in(Path::new("/proc/sys/fs/inotify/max_user_watches"))?,
        instances_in_use: inotify_instances()?,
    })
}

/// Counts the open instances of this user's processes; those that may not be looked into count as none.
fn inotify_instances() -> io::Result<u64> {
    let me = crate::me::uid();
    let mut count = 0;
    for process in fs::read_dir("/proc")?.flatten() {
        let is_mine = process.metadata().is_ok_and(|metadata| metadata.uid() == me);
        let is_process = process.file_name().as_bytes().first().is_some_and(u8::is_ascii_digit);
        if !is_mine || !is_process {
            continue;
        }
        let Ok(open) = fs::read_dir(process.path().join("fd")) else { continue };
        let is_instance = |file: &fs::DirEntry| {
            fs::read_link(file.path()).is_ok_and(|target| target.as_os_str() == "anon_inode:inotify")
        };
        count += open.flatten().filter(is_instance).count() as u64;
    }
    Ok(count)
}

#[expect(clippy::unnecessary_wraps, reason = "other platforms may fail")]
pub(super) fn open_files() -> io::Result<Limit> {
    let limit = getrlimit(Resource::Nofile);
    Ok(Limit { soft: limit.current, hard: limit.maximum })
}

pub(super) fn raise_open_files() -> io::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    Ok(setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?)
}

pub(super) fn memory() -> io::Result<Memory> {
    let table = fs::read_to_string("/proc/meminfo")?;
    let (Some(total), Some(available)) = (row(&table, "MemTotal:"), row(&table, "MemAvailable:")) else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "/proc/meminfo lacks a row"));
    };
    let mut memory = Memory { total, available };
    for (limit, used) in control_group_memory() {
        memory.total = memory.total.min(limit);
        memory.available = memory.available.min(limit.saturating_sub(used));
    }
    Ok(memory)
}

/// A row of `/proc/meminfo` (proc_meminfo(5)), in bytes.
fn row(table: &str, name: &str) -> Option<u64> {
    let line = table.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Limit and use of our control group and of those above it, in both versions of the interface. What cannot be read
/// limits nothing that we know of.
fn control_group_memory() -> Vec<(u64, u64)> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(group)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let (root, limit, used) = if controllers.is_empty() {
            (Path::new(CONTROL_GROUPS).to_owned(), "memory.max", "memory.current")
        } else if controllers.split(',').any(|controller| controller == "memory") {
            let root = Path::new(CONTROL_GROUPS).join("memory");
            (root, "memory.limit_in_bytes", "memory.usage_in_bytes")
        } else {
            continue;
        };
        let directory = root.join(group.trim_start_matches('/'));
        for above in directory.ancestors().take_while(|above| above.starts_with(&root)) {
            if let (Ok(limit), Ok(used)) = (number_in(&above.join(limit)), number_in(&above.join(used))) {
                found.push((limit, used));
            }
        }
    }
    found
}

fn number_in(file: &Path) -> io::Result<u64> {
    let text = fs::read_to_string(file)?;
    text.trim().parse().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_kibibytes() {
        let table = "MemTotal:        8000 kB\nMemAvailable:    4000 kB\n";
        assert_eq!(row(table, "MemAvailable:"), Some(4_096_000));
        assert_eq!(row(table, "MemFree:"), None);
    }
}
