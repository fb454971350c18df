//! Limits of the system that many sessions at once run into. The error they give then names something else.

use super::Finding;
use ostler_os::limits::{self, Inotify, Limit, Memory};

/// What one child takes: 190–220 MB resident (protocol page), and the pipes and files of its controller.
const CHILD_BYTES: u64 = 220_000_000;

/// Instances of inotify that should be free: a child takes one, `watch` and `serve` one each.
const FREE_INSTANCES: u64 = 16;

/// Open files that are enough for what one process of ostler does.
const OPEN_FILES: u64 = 1024;

pub(super) fn findings() -> Vec<Finding> {
    let inotify = limits::inotify().ok().map(|now| inotify(&now));
    let open_files = limits::open_files().ok().map(|limit| open_files(&limit));
    let memory = limits::memory().ok().map(|memory| judge_memory(&memory, limits::cpus()));
    // What a system doesn't have (inotify, elsewhere than on Linux) or doesn't tell is left out.
    [inotify, open_files, memory].into_iter().flatten().collect()
}

fn inotify(now: &Inotify) -> Finding {
    const ID: &str = "limits.inotify";
    let free = now.max_instances.saturating_sub(now.instances_in_use);
    let what = format!(
        "inotify: {} of {} instances in use, {} watches possible",
        now.instances_in_use, now.max_instances, now.max_watches
    );
    if free < FREE_INSTANCES {
        Finding::warn(
            ID,
            what,
            "each child, and whatever watches files in it, takes one; without, file watchers fail with \"too many open files\" or \"no space left\" though neither is true, and ostler's followers poll",
            "raise it: sysctl fs.inotify.max_user_instances=1024",
        )
    } else {
        Finding::ok(ID, what)
    }
}

fn open_files(limit: &Limit) -> Finding {
    const ID: &str = "limits.open_files";
    let number = |n: Option<u64>| n.map_or_else(|| "unlimited".to_owned(), |n| n.to_string());
    let what = format!("open files: {} (may be raised to {})", number(limit.soft), number(limit.hard));
    if limit.soft.is_some_and(|n| n < OPEN_FILES) {
        Finding::warn(
            ID,
            what,
            "a process with many followers needs some for each",
            "raise it: ulimit -n 4096",
        )
    } else {
        Finding::ok(ID, what)
    }
}

fn judge_memory(memory: &Memory, cpus: usize) -> Finding {
    const ID: &str = "limits.memory";
    let children = memory.available / CHILD_BYTES;
    let what = format!(
        "memory: {} MB of {} MB available, enough for about {children} children at once; {cpus} processors",
        memory.available / 1_000_000,
        memory.total / 1_000_000
    );
    match children {
        0 => Finding::fail(ID, what, "a child needs about 220 MB", "free some memory"),
        1 => Finding::warn(
            ID,
            what,
            "a child needs about 220 MB, and what its tools start comes on top",
            "free some memory",
        ),
        _ => Finding::ok(ID, what),
    }
}

#[cfg(test)]
mod tests {
    use super::{CHILD_BYTES, Inotify, Limit, Memory, inotify, judge_memory, open_files};
    use crate::doctor::Status::{Fail, Ok, Warn};

    #[test]
    fn inotify_warns_before_it_is_used_up() {
        let status = |instances_in_use| {
            inotify(&Inotify { max_instances: 128, max_watches: 8192, instances_in_use }).status
        };
        assert_eq!([status(0), status(112), status(113), status(200)], [Ok, Ok, Warn, Warn]);
    }

    #[test]
    fn open_files_may_be_unlimited() {
        let status = |soft| open_files(&Limit { soft, hard: None }).status;
        assert_eq!([status(Some(256)), status(Some(1024)), status(None)], [Warn, Ok, Ok]);
    }

    #[test]
    fn memory_is_counted_in_children() {
        let status = |available| judge_memory(&Memory { total: 8 * CHILD_BYTES, available }, 2).status;
        assert_eq!([status(0), status(CHILD_BYTES), status(2 * CHILD_BYTES)], [Fail, Warn, Ok]);
    }
}
