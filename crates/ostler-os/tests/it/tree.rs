use crate::part;
use crate::stage::{Cast, Doomed, Stage, eventually, soon, status_field};
use ostler_os::alive::is_busy;
use ostler_os::process::{Identity, PidFd, command_line, identity_of, self_identity, still_is};
use ostler_os::reap::{Exit, become_subreaper, has_children};
use ostler_os::spawn::{Started, spawn_child, spawn_detached};
use ostler_os::tree::{KillPlan, Killed, by_marker, descendants, kill_tree};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::process::{Command, Stdio};
use std::time::Instant;

const NOBODY: &dyn Fn(u32) -> bool = &|_| false;

/// Everything that ever came from this process.
fn kill_all(keep: &dyn Fn(u32) -> bool) -> Killed {
    kill_tree(&KillPlan { roots: &[], marker: None, scope: None, own_children: true, keep, deadline: soon() })
        .unwrap()
}

fn kill_roots(roots: &[Identity], keep: &dyn Fn(u32) -> bool) -> Killed {
    kill_tree(&KillPlan { roots, marker: None, scope: None, own_children: false, keep, deadline: soon() })
        .unwrap()
}

/// This process is a subreaper, and whatever comes from it ends with the part, also when that fails.
struct Family;

impl Family {
    fn start() -> Self {
        become_subreaper().unwrap();
        Self
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        kill_all(NOBODY);
    }
}

#[track_caller]
fn all_gone(killed: &Killed) {
    assert!(killed.proven && killed.left.is_empty(), "{killed:?}");
    assert!(!has_children().unwrap());
}

fn identity(started: &Started) -> Identity {
    identity_of(started.pid).unwrap().unwrap()
}

#[test]
fn descendants_are_found_over_groups_and_sessions() {
    let stage = Stage::new();
    let mut pids = stage.report("pids");
    let script =
        "exec 3>$DIR/pids; sleep 1000 & setsid sh -c 'echo $$ >&3; sleep 1000 & echo $! >&3; wait' & wait";
    let child = Cast::start(&stage.script(script));
    let leader: u32 = pids.line().parse().unwrap();
    let below: u32 = pids.line().parse().unwrap();
    let found = descendants(child.0.pid).unwrap();
    assert!(found.contains(&leader) && found.contains(&below), "{found:?}");
    assert!(!found.contains(&child.0.pid));
    let killed = kill_roots(&[identity(&child.0)], NOBODY);
    assert!(!killed.proven, "without a subreaper nothing is proven");
    assert_eq!((killed.killed, killed.left.len()), (4, 0));
    assert_eq!(descendants(child.0.pid).unwrap(), []);
}

#[test]
fn a_marker_finds_what_has_left_the_tree() {
    let stage = Stage::new();
    let value = stage.dir().file_name().unwrap();
    let mut env = stage.env();
    env.push(("MARK".into(), value.into()));
    let argv = ["sleep".into(), "1000".into()];
    let marked = spawn_detached(&argv, &env, &stage.path("log")).unwrap();
    let marked_handle = Doomed::new(&marked);
    // A longer value and a longer name are others.
    env.last_mut().unwrap().1.push("x");
    let other = spawn_detached(&argv, &env, &stage.path("log")).unwrap();
    let _other_handle = Doomed::new(&other);

    assert_eq!(by_marker(OsStr::new("MARK"), value).unwrap(), [marked.pid]);
    let plan = KillPlan {
        roots: &[],
        marker: Some((OsStr::new("MARK"), value)),
        scope: None,
        own_children: false,
        keep: NOBODY,
        deadline: soon(),
    };
    let killed = kill_tree(&plan).unwrap();
    assert_eq!((killed.killed, killed.proven), (1, false));
    assert!(marked_handle.0.is_dead().unwrap());
    assert!(still_is(&other).unwrap());
}

#[test]
fn a_root_whose_pid_belongs_to_somebody_else_now_is_left_alone() {
    let stage = Stage::new();
    let child = Cast::start(&stage.program(["sleep", "1000"]));
    let now = identity(&child.0);
    let before = Identity { start_ticks: now.start_ticks - 1, ..now.clone() };
    let last_boot = Identity { boot_id: "another".into(), ..now.clone() };
    assert_eq!(kill_roots(&[before, last_boot], NOBODY).killed, 0);
    assert!(still_is(&now).unwrap());
}

#[test]
fn own_groups_and_sessions_die_with_the_tree() {
    part::play("tree::groups_and_sessions");
}

pub(crate) fn groups_and_sessions() {
    let _family = Family::start();
    let stage = Stage::new();
    let mut ready = stage.report("ready");
    let script = "set -m; exec 3>$DIR/ready
        sleep 1000 & sleep 1000 & setsid sleep 1000 & setsid sh -c 'sleep 1000 & echo >&3; wait' & wait";
    let child = spawn_child(&stage.script(script)).unwrap();
    ready.line();
    let killed = kill_all(NOBODY);
    all_gone(&killed);
    assert!(killed.reaped.contains(&(child.pid, Exit::Signal(9))), "its exit is not lost: {killed:?}");
    assert!(killed.killed >= 6, "{killed:?}");
}

#[test]
fn a_daemon_with_an_empty_environment_dies_with_the_tree() {
    part::play("tree::daemon");
}

pub(crate) fn daemon() {
    let _family = Family::start();
    let stage = Stage::new();
    let mut ready = stage.report("ready");
    let script = "(env -i /usr/bin/setsid /bin/sh -c '(/bin/sleep 1000 & echo $! >'$DIR/ready')' &)";
    let child = spawn_child(&stage.script(script)).unwrap();
    let daemon = identity_of(ready.line().parse().unwrap()).unwrap().unwrap();
    assert!(child.pidfd.wait(soon()).unwrap());
    assert!(still_is(&daemon).unwrap());
    all_gone(&kill_all(NOBODY));
    assert!(!still_is(&daemon).unwrap());
}

#[test]
fn a_chain_of_two_hundred_dies_whole() {
    part::play("tree::chain");
}

pub(crate) fn chain() {
    let _family = Family::start();
    let stage = Stage::new();
    let mut ready = stage.report("ready");
    // Each starts the next and waits for it; the killing begins while the chain still grows.
    let script = "export N=${N:-0}; N=$((N+1)); [ $N = 100 ] && echo >$DIR/ready
        [ $N = 200 ] && exec sleep 1000; sh \"$DIR/link\" & wait";
    std::fs::write(stage.path("link"), script).unwrap();
    spawn_child(&stage.program(["sh", stage.path("link").to_str().unwrap()])).unwrap();
    ready.line();
    let killed = kill_all(NOBODY);
    all_gone(&killed);
    assert!(killed.killed >= 100, "{}", killed.killed);
    assert_eq!(killed.reaped.len(), killed.killed, "each is reaped once");
}

#[test]
fn a_chain_that_runs_ahead_is_caught() {
    part::play("tree::runner");
}

pub(crate) fn runner() {
    let _family = Family::start();
    let stage = Stage::new();
    let mut ready = stage.report("ready");
    // With many other processes the whole table takes longer to read than the runner needs for several steps.
    let mut crowd = HashSet::new();
    for _ in 0..300 {
        crowd.insert(Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap().id());
    }
    // Each starts the next and ends: whoever is seen in the table is dead already. Counted, so that a failure of this
    // test doesn't go on for ever.
    let runner = "for (1..50000) { exit if fork; if ($_ == 20) { open R, '>', $ENV{DIR}.'/ready'; print R qq(\\n); close R } }";
    spawn_child(&stage.program(["perl", "-e", runner])).unwrap();
    ready.line();
    let killed = kill_all(&|pid| crowd.contains(&pid));
    assert!(killed.proven && killed.left.is_empty(), "{killed:?}");
    assert!(killed.killed > 0, "it came to its end by itself");
    all_gone(&kill_all(NOBODY));
}

#[test]
fn ignoring_everything_does_not_help() {
    part::play("tree::stubborn");
}

pub(crate) fn stubborn() {
    let _family = Family::start();
    let stage = Stage::new();
    let mut ready = stage.report("ready");
    let script = "trap '' HUP INT QUIT TERM USR1 USR2 PIPE ALRM; (sleep 1000 & sleep 1000 & wait) &
        echo >$DIR/ready; while :; do wait; done";
    let child = spawn_child(&stage.script(script)).unwrap();
    ready.line();
    let stopped = Command::new("kill").args(["-STOP", &child.pid.to_string()]).status().unwrap();
    assert!(stopped.success());
    all_gone(&kill_all(NOBODY));
}

#[test]
fn what_is_kept_lives_on_with_all_below_it() {
    part::play("tree::kept");
}

pub(crate) fn kept() {
    let _family = Family::start();
    let (ours, other) = (Stage::new(), Stage::new());
    let script = "sleep 1000 & echo $! >$DIR/ready; wait";
    let mut ready = [ours.report("ready"), other.report("ready")];
    let child = spawn_child(&ours.script(script)).unwrap();
    let keeper = spawn_child(&other.script(script)).unwrap();
    let [below_child, below_keeper] =
        ready.each_mut().map(|report| identity_of(report.line().parse().unwrap()).unwrap().unwrap());
    let keeper_identity = identity(&keeper);

    let killed = kill_all(&|pid| pid == keeper.pid);
    assert!(killed.proven && killed.left.is_empty(), "{killed:?}");
    assert_eq!(killed.killed, 2);
    assert!(child.pidfd.is_dead().unwrap());
    assert!(!still_is(&below_child).unwrap());
    assert!(still_is(&keeper_identity).unwrap() && still_is(&below_keeper).unwrap());
    assert!(has_children().unwrap());
    all_gone(&kill_all(NOBODY));
}

#[test]
fn zombies_count_as_dead() {
    part::play("tree::zombies");
}

pub(crate) fn zombies() {
    let _family = Family::start();
    let stage = Stage::new();
    let mut pid = stage.report("pid");
    // The shell starts a child and becomes a program that never reaps it.
    let lazy = spawn_child(&stage.script("sh -c 'echo $$ >$DIR/pid' & exec sleep 1000")).unwrap();
    let zombie = identity_of(pid.line().parse().unwrap()).unwrap().unwrap();
    let handle = PidFd::open_identity(&zombie).unwrap().unwrap();
    assert!(handle.wait(soon()).unwrap());
    assert!(status_field(zombie.pid, "State").starts_with('Z'));

    let lazy_pid = lazy.pid;
    let killed = kill_tree(&KillPlan {
        roots: &[zombie],
        marker: None,
        scope: None,
        own_children: false,
        keep: &|pid| pid == lazy_pid,
        deadline: Instant::now(),
    });
    let killed = killed.unwrap();
    assert_eq!((killed.killed, killed.left.len()), (0, 0));
    all_gone(&kill_all(NOBODY));
}

#[test]
fn an_init_that_does_not_reap_does_not_keep_anybody_alive() {
    part::play("tree::lazy_init");
}

pub(crate) fn lazy_init() {
    let _family = Family::start();
    let stage = Stage::new();
    let mut ready = stage.report("ready");
    // In a pid namespace of its own process 1 is a `sleep`. `flock` holds the lock and becomes the sleeper. The
    // descriptor that the outer processes inherit is of another file.
    let script = "exec unshare --pid --fork sh -c '
        (flock -F $DIR/held sh -c \"echo >\\$DIR/ready; exec sleep 2000\" &); exec sleep 1000'";
    spawn_child(&stage.script(script)).unwrap();
    ready.line();
    assert!(is_busy(&stage.path("held")).unwrap());
    // Both last execs may be a moment away, and before its own the init still reaps.
    let find = |argv: &[&str]| {
        let runs = |pid: &u32| command_line(*pid).unwrap().is_some_and(|words| words == argv);
        eventually(|| descendants(std::process::id()).unwrap().into_iter().find(runs))
    };
    find(&["sleep", "1000"]);
    let sleeper = identity_of(find(&["sleep", "2000"])).unwrap().unwrap();
    let handle = PidFd::open_identity(&sleeper).unwrap().unwrap();

    let killed = kill_roots(std::slice::from_ref(&sleeper), NOBODY);
    assert_eq!((killed.killed, killed.left.len()), (1, 0));
    assert!(status_field(sleeper.pid, "State").starts_with('Z'), "its init doesn't reap it");
    assert!(!is_busy(&stage.path("held")).unwrap());
    assert!(handle.is_dead().unwrap() && !still_is(&sleeper).unwrap());
    all_gone(&kill_all(NOBODY));
}

#[test]
fn without_a_subreaper_the_end_is_not_claimed() {
    part::play("tree::without_subreaper");
}

pub(crate) fn without_subreaper() {
    let stage = Stage::new();
    let mut pid = stage.report("pid");
    spawn_child(&stage.script("(sleep 1000 & echo $! >$DIR/pid); exec sleep 1000")).unwrap();
    let escaped = identity_of(pid.line().parse().unwrap()).unwrap().unwrap();
    let _escaped = Doomed::new(&escaped);
    // The one who started it ends a moment after it has told the pid.
    eventually(|| (!descendants(std::process::id()).unwrap().contains(&escaped.pid)).then_some(()));
    let killed = kill_all(NOBODY);
    assert!(!killed.proven, "{killed:?}");
    assert!(!has_children().unwrap());
    assert!(still_is(&escaped).unwrap());
}

#[test]
fn the_deadline_ends_it_and_tells_who_was_left() {
    part::play("tree::deadline");
}

pub(crate) fn deadline() {
    let _family = Family::start();
    let stage = Stage::new();
    let child = spawn_child(&stage.program(["sleep", "1000"])).unwrap();
    // A child that is respawned after each kill would be killed for ever; here the plan is to stop at once.
    let plan = KillPlan {
        roots: &[identity(&child)],
        marker: None,
        scope: None,
        own_children: false,
        keep: NOBODY,
        deadline: Instant::now(),
    };
    let killed = kill_tree(&plan).unwrap();
    assert_eq!((killed.killed, killed.left.as_slice(), killed.proven), (1, &[child.pid][..], false));
    assert!(child.pidfd.wait(soon()).unwrap());
    all_gone(&kill_all(NOBODY));
}

#[test]
fn this_process_is_never_in_its_own_tree() {
    let me = self_identity().unwrap();
    let mut child = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
    let killed = kill_roots(&[me], NOBODY);
    assert_eq!(killed.killed, 0, "neither we nor what is below us");
    child.kill().unwrap();
    child.wait().unwrap();
}
