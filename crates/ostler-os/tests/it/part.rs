//! Parts: what a test does that changes its whole process (reaping, signals, limits, mounts), and so needs one of its
//! own. A part is a function of this test binary, which is started again to play it.

use crate::stage::soon;
use ostler_os::process::PidFd;
use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};

const PART: &str = "OSTLER_OS_TEST_PART";

/// All parts, by name.
const PARTS: &[(&str, fn())] = &[
    ("alive::probes", crate::alive::probes),
    ("detached::starter", crate::detached::starter),
    ("detached::from_deleted_exe", crate::detached::from_deleted_exe),
    ("fifo::write_without_reader", crate::fifo::write_without_reader),
    ("fork::begins_inside", crate::fork::begins_inside),
    ("fork::moves_inside", crate::fork::moves_inside),
    ("fork::nothing_leaks", crate::fork::nothing_leaks),
    ("fork::closed_stdio", crate::fork::closed_stdio),
    ("lockfile::contest", crate::lockfile::contest),
    ("lockfile::holder", crate::lockfile::holder),
    ("reap::many", crate::reap::many),
    ("reap::orphans", crate::reap::orphans),
    ("reap::signals", crate::reap::signals),
    ("reserve::full_disk", crate::reserve::full_disk),
    ("reserve::no_fallocate", crate::reserve::no_fallocate),
    ("scope::leaver", crate::scope::leaver),
    ("signals::received", crate::signals::received),
    ("spawn::from_odd_surroundings", crate::spawn::from_odd_surroundings),
    ("spawn::ignored_sigchld", crate::spawn::ignored_sigchld),
    ("spawn_errors::nothing_left", crate::spawn_errors::nothing_left),
    ("term::keys", crate::term::keys),
    ("term::none", crate::term::none),
    ("term::panic", crate::term::panics),
    ("tree::groups_and_sessions", crate::tree::groups_and_sessions),
    ("tree::daemon", crate::tree::daemon),
    ("tree::chain", crate::tree::chain),
    ("tree::runner", crate::tree::runner),
    ("tree::stubborn", crate::tree::stubborn),
    ("tree::kept", crate::tree::kept),
    ("tree::zombies", crate::tree::zombies),
    ("tree::lazy_init", crate::tree::lazy_init),
    ("tree::without_subreaper", crate::tree::without_subreaper),
    ("tree::deadline", crate::tree::deadline),
    ("watch::events", crate::watch::events),
    ("watch::overflow", crate::watch::overflow),
    ("watch::one_instance", crate::watch::one_instance),
    ("watch::no_instance", crate::watch::no_instance),
];

/// Plays a part; fails with what it said when it fails or takes too long.
#[track_caller]
pub(crate) fn play(part: &str) {
    finish(command(part, &[]));
}

/// Plays a part under another program, such as `unshare`.
#[track_caller]
pub(crate) fn play_under(launcher: &[&str], part: &str) {
    finish(command(part, launcher));
}

/// The command that plays a part, for tests that do more with it.
pub(crate) fn command(part: &str, launcher: &[&str]) -> Command {
    assert!(PARTS.iter().any(|(name, _)| *name == part), "no such part: {part}");
    let exe = env::current_exe().unwrap();
    let mut words: Vec<OsString> = launcher.iter().map(OsString::from).collect();
    words.push(exe.into());
    words.extend(arguments().map(OsString::from));
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).env(PART, part).stdin(Stdio::null());
    command
}

/// What makes this test binary play the part that its environment names. One thread, so that the part has the main
/// thread, to which signals go.
pub(crate) fn arguments() -> impl Iterator<Item = &'static str> {
    ["--exact", "part::played", "--nocapture", "--test-threads=1"].into_iter()
}

#[track_caller]
fn finish(mut command: Command) {
    // Its own group, so that what it started can be ended with it.
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn().unwrap();
    let pidfd = PidFd::open(child.id()).unwrap().unwrap();
    let in_time = pidfd.wait(soon()).unwrap();
    if !in_time {
        let group = rustix::process::Pid::from_child(&child);
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let said = format!("{}\n{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(in_time, "took too long; it said: {said}");
    assert!(status.success() && said.contains("1 passed"), "{status}; it said: {said}");
}

/// Plays the part that the environment names. On its own it looks whether each part has a name of its own, for of two
/// parts with one name only the first would ever be played.
#[test]
fn played() {
    let Ok(part) = env::var(PART) else {
        let names: std::collections::BTreeSet<_> = PARTS.iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), PARTS.len(), "two parts have one name");
        return;
    };
    let (_, play) = PARTS.iter().find(|(name, _)| *name == part).expect("a part of this list");
    play();
}
