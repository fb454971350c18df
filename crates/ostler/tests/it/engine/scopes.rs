//! Control groups around each child: what they find, what they bound, and what is said where there are none.

use super::stable::{Session, Stable, is_dead, kill, kill_at_once, until};
use ostler_controller::client::Stopped;
use ostler_core::ctl::Event;
use ostler_core::rows::Outcome;
use ostler_core::spec::Caps;
use ostler_os::process::PidFd;
use ostler_os::scope::{Hierarchies, Scope};
use ostler_store::db::Fate;

/// The kinds that this machine lets us make, as `OSTLER_TEST_SCOPES` names them, and none at all.
fn kinds() -> Vec<&'static str> {
    let makes = |which| Scope::plan("probe", &ostler_os::scope::Caps::default(), which).unwrap().is_some();
    let all = [("any", Hierarchies::Any), ("one", Hierarchies::One)];
    let found = all.into_iter().filter(|(_, which)| makes(*which)).map(|(name, _)| name);
    found.chain(["none"]).collect()
}

/// A script that leaves a daemon behind that cut every tie: no environment, its own session, its parents dead.
fn leaves_an_orphan(session: &Session<'_>, rest: &str) {
    let file = session.folder.join("orphan");
    let file = file.display();
    session.script(&format!(
        "turn\n spawn orphan echo $$ > {file}.new && mv {file}.new {file}.pid && exec sleep 600\n{rest}"
    ));
}

fn orphan(session: &Session<'_>) -> u32 {
    let file = session.folder.join("orphan.pid");
    until("the orphan", || std::fs::read_to_string(&file).ok()?.trim().parse().ok())
}

/// What a scope was for: keeper and controller are dead, so nobody is an ancestor of the daemon, and it has no mark.
#[test]
fn a_daemon_is_found_though_keeper_and_controller_were_killed_before() {
    for kind in kinds() {
        let stable = Stable::with(&[("OSTLER_TEST_SCOPES", kind)]);
        let session = stable.session("");
        leaves_an_orphan(&session, " until go\n say done\n");
        session.send("hello");
        let left = orphan(&session);
        kill_at_once(&session.holders());
        stable.ostler.ensure(session.id).unwrap();
        session.open("go");
        assert_eq!(session.wait().outcome, Some(Outcome::Completed));
        let (_, proven, killed) = session.dead(1);
        if kind == "none" {
            // It can't be found, and nobody says that it was.
            assert!(!proven && !is_dead(left));
            kill(left);
        } else {
            assert!(proven && killed >= 1, "{kind}: {killed}");
            assert!(is_dead(left), "{kind}");
        }
        stable.finish();
    }
}

/// Whoever stops it is told, and nothing is deleted under what may be alive.
#[test]
fn a_stop_says_what_it_does_not_prove_and_a_purge_keeps_the_folder() {
    for purge in [false, true] {
        let stable = Stable::with(&[("OSTLER_TEST_SCOPES", "none")]);
        let session = stable.session("");
        leaves_an_orphan(&session, " until never\n");
        session.send("hello");
        let left = orphan(&session);
        kill_at_once(&session.holders());
        stable.ostler.ensure(session.id).unwrap();
        let stopped = if purge {
            let closed = stable.ostler.close(session.id, Fate::Keep, true).unwrap();
            assert!(!closed.purged);
            closed.stopped
        } else {
            stable.ostler.stop(session.id).unwrap()
        };
        assert!(matches!(stopped, Stopped::Ended { proven: false, .. }), "{stopped:?}");
        assert!(session.dir.path.exists() && !is_dead(left));
        kill(left);
        stable.finish();
    }
}

/// The same with the child killed as well, and nobody there: whoever comes next finds what is left.
#[test]
fn what_is_left_of_three_that_were_killed_at_once_is_found() {
    for kind in kinds().into_iter().filter(|kind| *kind != "none") {
        let stable = Stable::with(&[("OSTLER_TEST_SCOPES", kind)]);
        let session = stable.session("");
        leaves_an_orphan(&session, " until all\n say done\n");
        session.send("hello");
        let left = orphan(&session);
        let mut all = session.holders();
        all.push(session.child());
        session.script("otherwise\n say hi\n");
        kill_at_once(&all);
        stable.ostler.sweep().unwrap();
        let (_, proven, _) = session.dead(1);
        assert!(proven && is_dead(left), "{kind}");
        session.wait();
        stable.finish();
    }
}

/// A group that could not be removed, since somebody was still in it, goes with the next start.
#[test]
fn a_group_that_was_left_is_removed_by_the_next_start() {
    for kind in kinds().into_iter().filter(|kind| *kind != "none") {
        let stable = Stable::with(&[("OSTLER_TEST_SCOPES", kind)]);
        let session = stable.session("otherwise\n say hi\n");
        session.completes("one");
        session.dead(1);
        let text = std::fs::read_to_string(session.generation(1).path.join("scope")).unwrap();
        let group = std::path::Path::new(text.lines().next().unwrap().split_once(' ').unwrap().1);
        std::fs::create_dir(group).unwrap();
        session.completes("two");
        assert!(!group.exists(), "{}", group.display());
        stable.finish();
    }
}

/// What its generation's last row says of the child's end.
fn last_words(session: &Session<'_>, no: u32) -> String {
    session.row(no, "the death of the child", |ev| match ev {
        Event::Dead { said, .. } => Some(said.clone().unwrap_or_default()),
        _ => None,
    })
}

fn capped<'a>(stable: &'a Stable, caps: Caps, script: &str) -> Session<'a> {
    stable.session_of(script, |spec| spec.caps = caps)
}

/// A bomb that would have three hundred processes is held to its limit, and all of it dies with the child.
#[test]
fn a_fork_bomb_is_bounded_and_dies_whole() {
    for kind in kinds().into_iter().filter(|kind| *kind != "none") {
        let stable = Stable::with(&[("OSTLER_TEST_SCOPES", kind)]);
        let caps = Caps { pids: Some(64), memory: None };
        // Each link outlives its failure to start the next, so that the group stays full.
        let bomb = "i=0; while [ $i -lt 300 ]; do perl -e \"fork; sleep 600\" & i=$((i+1)); done; sleep 600";
        let session = capped(&stable, caps, &format!("turn\n spawn session {bomb}\n until go\n say done\n"));
        session.send("hello");
        let scope = || Scope::read(&std::fs::read_to_string(session.generation(1).path.join("scope")).ok()?);
        let scope = until("the scope", scope);
        until("the limit to be met", || (scope.met().pids > 0).then_some(()));
        let members = scope.members().unwrap();
        assert!((2..=64).contains(&members.len()), "{kind}: {}", members.len());
        session.open("go");
        assert_eq!(session.wait().outcome, Some(Outcome::Completed));
        let (_, proven, killed) = session.dead(1);
        assert!(proven && killed >= 2, "{kind}: {killed}");
        assert!(members.into_iter().all(is_dead));
        assert!(last_words(&session, 1).contains("limit of processes was reached"));
        stable.finish();
    }
}

/// Whoever takes more than the session's share is killed; the child goes on, and people are told.
#[test]
fn a_memory_limit_kills_inside_only_and_is_told() {
    let caps = Caps { pids: None, memory: Some(96 << 20) };
    if Scope::plan("probe", &ostler_os::scope::Caps { pids: None, memory: caps.memory }, Hierarchies::Any)
        .is_err()
    {
        return refused(Caps { pids: None, memory: caps.memory });
    }
    let stable = Stable::new();
    let session = capped(&stable, caps, "");
    let file = session.folder.join("died");
    session.script(&format!(
        "turn\n spawn session perl -e '$x = \"x\" x (300 << 20); sleep 600' || touch {}\n until go\n say done\n",
        file.display()
    ));
    session.send("hello");
    until("the kernel to kill it", || file.exists().then_some(()));
    session.open("go");
    assert_eq!(session.wait().outcome, Some(Outcome::Completed));
    let words = last_words(&session, 1);
    assert!(words.contains("its memory limit was reached: the kernel killed 1 process"), "{words}");
    stable.finish();
}

#[test]
fn limits_that_nobody_can_hold_are_refused_with_the_reason() {
    refused(Caps { pids: Some(64), memory: None });
    refused(Caps { pids: None, memory: Some(1 << 30) });
}

fn refused(caps: Caps) {
    let stable = Stable::with(&[("OSTLER_TEST_SCOPES", "none")]);
    let session = capped(&stable, caps, "turn\n say done\n");
    session.send("hello");
    let turn = session.wait();
    assert_ne!(turn.outcome, Some(Outcome::Completed));
    let message = turn.message.unwrap();
    assert!(message.contains("no control group that could limit"), "{message}");
    assert!(!session.generation(1).alive().exists(), "nothing ran");
    stable.finish();
}

/// Where whoever has inherited the child never reaps it stays a zombie for ever; its death is seen all the same, and soon.
/// This test's process is that lazy parent: nearer than init to whatever loses its own.
#[test]
fn a_death_is_seen_where_nobody_reaps() {
    ostler_os::reap::become_subreaper().unwrap();
    let stable = Stable::new();
    let session = stable.session("turn\n mark up\n until never\n");
    session.send("hello");
    session.reaches("up");
    let child = session.child();
    kill(session.keeper());
    stable.ostler.ensure(session.id).unwrap();
    session.row(1, "the adoption", |ev| matches!(ev, Event::Adopted { .. }).then_some(()));
    session.script("otherwise\n say hi\n");
    let handle = PidFd::open(child).unwrap().unwrap();
    let killed_at = super::stable::now().0;
    handle.kill().unwrap();
    session.dead(1);
    let dead = session.rows(1).into_iter().find(|row| matches!(row.ev, Event::Dead { .. })).unwrap();
    // The bound is for machines that do ten other things.
    assert!(dead.at.0 - killed_at < 2_000, "{} ms", dead.at.0 - killed_at);
    let state = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap();
    assert!(state.contains(") Z "), "nobody has reaped it: {state}");
    session.wait();
    stable.finish();
}
