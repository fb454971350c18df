//! Named crash points, so that tests can kill a process between two given instructions.
//!
//! A debug build looks at `OSTLER_CRASH_AT=<point>` and kills itself there with SIGKILL, once for each file that
//! `OSTLER_CRASH_ONCE` names (it is created first, so the next process lives). `OSTLER_CRASH_WITH=keeper` kills the
//! parent too. A release build has none of this.

/// The points, for tests that go through all of them.
pub const POINTS: [&str; 8] = [
    "before-fork",
    "after-fork",
    "before-spawn-json",
    "begin-written",
    "line-half-written",
    "line-written",
    "before-settled",
    "settled",
];

/// Dies here if a test said so.
pub(crate) fn point(name: &str) {
    if cfg!(debug_assertions) && std::env::var_os("OSTLER_CRASH_AT").is_some_and(|at| at == name) {
        die();
    }
}

fn die() {
    let Some(once) = std::env::var_os("OSTLER_CRASH_ONCE") else { return };
    if std::fs::OpenOptions::new().write(true).create_new(true).open(once).is_err() {
        return;
    }
    if std::env::var_os("OSTLER_CRASH_WITH").is_some_and(|with| with == "keeper") {
        ostler_os::process::kill_parent();
    }
    ostler_os::process::kill_self();
}
