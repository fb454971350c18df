//! Everything that a child starts goes with it; another session does not.

use super::stable::{Session, Stable, executable, is_dead, until};
use ostler_controller::client::Stopped;
use ostler_core::rows::Outcome;
use std::path::Path;

/// Ways to get away from a parent.
const TIES: [&str; 5] = ["group", "own-group", "session", "orphan", "stdout"];

/// A script whose child leaves one process of each kind behind.
fn leaves_behind(folder: &Path, rest: &str) -> String {
    let spawns: String = TIES.iter().map(|how| spawn(how, folder)).collect();
    format!("turn\n{spawns}{rest}")
}

/// A step that leaves one process behind, which writes its pid down.
fn spawn(how: &str, folder: &Path) -> String {
    let file = folder.join(how);
    let file = file.display();
    format!(" spawn {how} echo $$ > {file}.new && mv {file}.new {file}.pid && exec sleep 600\n")
}

/// Waits for that process to be there.
fn pid(session: &Session<'_>, how: &str) -> u32 {
    let file = session.folder.join(format!("{how}.pid"));
    until(how, || std::fs::read_to_string(&file).ok()?.trim().parse().ok())
}

fn pids(session: &Session<'_>) -> Vec<u32> {
    TIES.iter().map(|how| pid(session, how)).collect()
}

fn session_that_leaves<'a>(stable: &'a Stable, rest: &str) -> Session<'a> {
    let session = stable.session("");
    session.script(&leaves_behind(&session.folder, rest));
    session
}

#[test]
fn at_teardown_everything_that_was_left_is_gone() {
    let stable = Stable::new();
    let session = session_that_leaves(&stable, " until go\n say done\n");
    session.send("hello");
    let left = pids(&session);
    assert!(left.iter().all(|pid| !is_dead(*pid)));
    session.open("go");
    assert_eq!(session.wait().outcome, Some(Outcome::Completed));
    let (_, proven, killed) = session.dead(1);
    assert!(left.iter().all(|pid| is_dead(*pid)), "{left:?}");
    assert!(proven && killed >= 5, "{killed} killed");
    stable.finish();
}

#[test]
fn a_stop_takes_the_whole_tree() {
    let stable = Stable::new();
    let session = session_that_leaves(&stable, " until never\n");
    session.send("hello");
    let left = pids(&session);
    let stopped = stable.ostler.stop(session.id).unwrap();
    let Stopped::Ended { killed, proven } = stopped else { panic!("{stopped:?}") };
    assert!(proven && killed >= 5, "{killed} killed");
    assert!(left.iter().all(|pid| is_dead(*pid)), "{left:?}");
    stable.finish();
}

#[test]
fn a_child_that_is_killed_leaves_nothing_either() {
    let stable = Stable::new();
    let session = session_that_leaves(&stable, " until all\n kill KILL\n");
    session.send("hello");
    let left = pids(&session);
    session.open("all");
    session.dead(1);
    session.wait();
    assert!(left.iter().all(|pid| is_dead(*pid)), "{left:?}");
    stable.finish();
}

/// An MCP server is a child with the marker that talks through pipes; it is told nothing at its parent's SIGKILL.
#[test]
fn a_server_that_holds_the_childs_stdout_hides_no_death() {
    let stable = Stable::new();
    let session = stable.session("");
    let pid = session.folder.join("pid");
    session.script(&format!(
        "turn\n spawn stdout echo $$ > {0}.new && mv {0}.new {0} && trap '' TERM HUP INT && sleep 600\n say done\n",
        pid.display()
    ));
    session.completes("hello");
    let server: u32 = std::fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
    session.dead(1);
    assert!(is_dead(server));
    stable.finish();
}

/// The next keeper is nobody's parent: where there is no control group it finds what carries the session's mark, and
/// claims no more.
#[test]
fn without_its_keeper_the_tree_is_found_by_its_mark() {
    let stable = Stable::with(&[("OSTLER_TEST_SCOPES", "none")]);
    let session = stable.session("");
    let spawns: String =
        ["group", "own-group", "session"].iter().map(|how| spawn(how, &session.folder)).collect();
    session.script(&format!("turn\n{spawns} until go\n say done\n"));
    session.send("hello");
    let left: Vec<u32> = ["group", "own-group", "session"].map(|how| pid(&session, how)).to_vec();
    super::stable::kill(session.keeper());
    stable.ostler.ensure(session.id).unwrap();
    session.open("go");
    assert_eq!(session.wait().outcome, Some(Outcome::Completed));
    let (_, proven, _) = session.dead(1);
    assert!(!proven);
    assert!(left.iter().all(|pid| is_dead(*pid)), "{left:?}");
    stable.finish();
}

/// A launcher that stays as the parent of the real program, as `npx` and shell wrappers do.
#[test]
fn launchers_that_wrap_work_and_die_whole() {
    for stop in [false, true] {
        let stable = Stable::new();
        let fake = super::stable::fake_claude();
        let inner = stable.path("inner");
        let outer = stable.path("outer");
        executable(&inner, &format!("#!/bin/sh\n\"{}\" \"$@\"\nexit $?\n", fake.display()));
        let wrapper = executable(
            &outer,
            &format!("#!/bin/sh\nsh -c '\"$0\" \"$@\"; exit $?' {} \"$@\"\n", inner.display()),
        );
        let session = stable.session_of("turn\n mark up\n until go\n say done\n", |spec| {
            spec.launcher.resolved.program.path = wrapper;
            spec.launcher.resolved.env = vec![("WRAPPED".to_owned(), "1".to_owned())];
            spec.limits.end = 300;
        });
        session.send("hello");
        session.reaches("up");
        let tree = ostler_os::tree::descendants(session.child()).unwrap();
        assert!(tree.len() >= 3, "shells and the fake: {tree:?}");
        if stop {
            stable.ostler.stop(session.id).unwrap();
        } else {
            session.open("go");
            assert_eq!(session.wait().outcome, Some(Outcome::Completed));
            session.dead(1);
        }
        assert!(tree.iter().all(|pid| is_dead(*pid)));
        stable.finish();
    }
}

/// A keeper that was started from inside a child is another session's: the outer one's end is not its end.
#[test]
fn a_session_that_was_started_from_inside_another_lives_on() {
    let stable = Stable::new();
    let inner = stable.session("turn\n mark up\n until go\n say inside\n");
    let outer = stable.session("");
    let (home, id, dir) = (stable.ostler.home().root().display(), inner.id, inner.dir.path.display());
    // As ostler starts keepers: without markers and without inherited descriptors.
    let close: String = (3..10).map(|fd| format!(" {fd}<&-")).collect();
    outer.script(&format!(
        "turn\n spawn session exec env -u OSTLER_SESSION -u OSTLER_GENERATION {} __keeper {home} {id} {dir}{close}\n \
         until go\n say outside\n",
        env!("CARGO_BIN_EXE_ostler"),
    ));
    outer.send("start one inside");
    until("the inner keeper", || inner.dir.keeper_lock().exists().then_some(()));
    let keeper = inner.keeper();
    inner.send("hello");
    inner.reaches("up");
    let groups = std::fs::read_to_string(format!("/proc/{keeper}/cgroup")).unwrap();
    assert!(!groups.contains("ostler-gen-"), "it has left the outer child's control group: {groups}");
    outer.open("go");
    assert_eq!(outer.wait().outcome, Some(Outcome::Completed));
    outer.dead(1);
    assert!(!is_dead(keeper), "it belongs to another session");
    inner.open("go");
    assert_eq!(inner.wait().outcome, Some(Outcome::Completed));
    assert_eq!(inner.answer(), "inside");
    stable.finish();
}
