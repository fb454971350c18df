//! Named crash points, so that tests can kill a process between two given instructions.
//!
//! A debug build looks at `OSTLER_CRASH_AT=<point>` and dies there by SIGKILL, once for each file that
//! `OSTLER_CRASH_ONCE` names (it is created first, so the next process lives); where that is a folder, once for each file
//! that lies in it (it is removed first, so a test can have as many deaths as it wants). `OSTLER_CRASH_KILLS` says who dies:
//! `controller` (the default), `keeper`, or `both`. A release build has none of this.

use std::path::Path;

/// The points in a controller, in the order in which a session comes by them, for tests that go through all of them.
pub const POINTS: [&str; 25] = [
    "taken-over",
    "claimed",
    "folder-made",
    "before-fork",
    "after-fork",
    "before-spawn-json",
    "begin-written",
    "line-half-written",
    "line-written",
    "done-written",
    "decided",
    "interrupt-written",
    "cancelling",
    "cancel-written",
    "before-settled",
    "continued",
    "settled-written",
    "settled",
    "ending-written",
    "kill-written",
    "killed",
    "before-burial",
    "buried",
    "dead-written",
    "leaving",
];

/// The one in a keeper: the child runs, and its controller doesn't know.
pub const IN_KEEPER: &str = "keeper-forked";

/// The version that this executable says it is. A debug build whose environment has `OSTLER_TEST_VERSION` says what the
/// last line of its own file says, so that tests have two executables of different versions.
pub(crate) fn version() -> String {
    let told = cfg!(debug_assertions) && std::env::var_os("OSTLER_TEST_VERSION").is_some();
    let own = || {
        let bytes = std::fs::read(ostler_os::me::exe().ok()?).ok()?;
        let tail = bytes.rsplit(|byte| *byte == b'\n').find(|line| !line.is_empty())?;
        Some(String::from_utf8_lossy(tail.strip_prefix(b"ostler-version=")?).into_owned())
    };
    told.then(own).flatten().unwrap_or_else(|| env!("CARGO_PKG_VERSION").to_owned())
}

/// A test's version 0.0.0 is older than any that can be asked to leave.
pub(crate) fn knows(ask: &crate::protocol::Ask) -> bool {
    !cfg!(debug_assertions) || *ask != crate::protocol::Ask::Leave || version() != "0.0.0"
}

/// A test says that SIGKILL does nothing for now, as to a process that waits for a dead disk.
pub(crate) fn kills_do_nothing() -> bool {
    let file = std::env::var_os("OSTLER_TEST_UNDYING");
    cfg!(debug_assertions) && file.is_some_and(|file| std::path::Path::new(&file).exists())
}

/// The one in a command that sends: the message is accepted, and nobody was told.
pub const IN_SEND: &str = "accepted";

/// Those in a controller that starts a fork, besides [`POINTS`].
pub const IN_FORK: [&str; 2] = ["spawn-written", "cache-written"];

/// Those in a command that trains a base.
pub const IN_TRAIN: [&str; 5] =
    ["base-noted", "base-created", "base-accepted", "base-sealing", "base-sealed"];

/// Those in a command that forks.
pub const IN_FORKS: [&str; 2] = ["fork-created", "fork-accepted"];

/// Those in a command that closes a session.
pub const IN_CLOSE: [&str; 4] = ["close-recorded", "close-ended", "close-cancelled", "close-worktree"];

/// Those in one that deletes it as well.
pub const IN_PURGE: [&str; 2] = ["purge-renamed", "purge-forgotten"];

/// Somebody dies here if a test said so.
pub(crate) fn point(name: &str) {
    if cfg!(debug_assertions) && std::env::var_os("OSTLER_CRASH_AT").is_some_and(|at| at == name) {
        die();
    }
}

fn is_due(once: &Path) -> bool {
    if let Ok(mut files) = std::fs::read_dir(once) {
        return files.any(|file| file.is_ok_and(|file| std::fs::remove_file(file.path()).is_ok()));
    }
    std::fs::OpenOptions::new().write(true).create_new(true).open(once).is_ok()
}

fn die() {
    let Some(once) = std::env::var_os("OSTLER_CRASH_ONCE") else { return };
    if !is_due(Path::new(&once)) {
        return;
    }
    let who = std::env::var_os("OSTLER_CRASH_KILLS").unwrap_or_default();
    if who == "keeper" || who == "both" {
        ostler_os::process::kill_parent();
    }
    if who != "keeper" {
        ostler_os::process::kill_self();
    }
}
