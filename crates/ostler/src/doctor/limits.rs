//! Limits of the system that many sessions at once run into. The error they give then names something else.

use super::Finding;
use ostler_os::limits;

/// What one child takes: 190–220 MB resident (protocol page), and the pipes and files of its controller.
const CHILD_BYTES: u64 = 220_000_000;

/// Instances of inotify that should be free: a child takes one, `watch` and `serve` one each.
const FREE_INSTANCES: u64 = 16;

/// Open files that are enough for what one process of ostler does.
const OPEN_FILES: u64 = 1024;

pub(super) fn findings() -> Vec<Finding> {
    [inotify(), open_files(), memory()].into_iter().flatten().collect()
}

fn inotify() -> Option<Finding> {
    const ID: &str = "limits.inotify";
    // Elsewhere there is no such limit.
    let now = limits::inotify().ok()?;
    let free = now.max_instances.saturating_sub(now.instances_in_use);
    let what = format!(
        "inotify: {} of {} instances in use, {} watches possible",
        now.instances_in_use, now.max_instances, now.max_watches
    );
    Some(if free < FREE_INSTANCES {
        Finding::warn(
            ID,
            what,
            "each child, and whatever watches files in it, takes one; without, file watchers fail with \"too many open files\" or \"no space left\" though neither is true, and ostler's followers poll",
            "raise it: sysctl fs.inotify.max_user_instances=1024",
        )
    } else {
        Finding::ok(ID, what)
    })
}

fn open_files() -> Option<Finding> {
    const ID: &str = "limits.open_files";
    let limit = limits::open_files().ok()?;
    let number = |n: Option<u64>| n.map_or_else(|| "unlimited".to_owned(), |n| n.to_string());
    let what = format!("open files: {} (may be raised to {})", number(limit.soft), number(limit.hard));
    Some(if limit.soft.is_some_and(|n| n < OPEN_FILES) {
        Finding::warn(
            ID,
            what,
            "a process with many followers needs some for each",
            "raise it: ulimit -n 4096",
        )
    } else {
        Finding::ok(ID, what)
    })
}

fn memory() -> Option<Finding> {
    const ID: &str = "limits.memory";
    let memory = limits::memory().ok()?;
    let children = memory.available / CHILD_BYTES;
    let what = format!(
        "memory: {} MB of {} MB available, enough for about {children} children at once; {} processors",
        memory.available / 1_000_000,
        memory.total / 1_000_000,
        limits::cpus()
    );
    Some(match children {
        0 => Finding::fail(ID, what, "a child needs about 220 MB", "free some memory"),
        1 => Finding::warn(
            ID,
            what,
            "a child needs about 220 MB, and what its tools start comes on top",
            "free some memory",
        ),
        _ => Finding::ok(ID, what),
    })
}
