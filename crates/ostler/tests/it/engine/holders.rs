//! Holders that hang, pids that lie, children that do not die: who takes over, and what is left alone.

use super::stable::{Session, Stable, is_dead, kill_at_once, signal, until};
use ostler_controller::client::{Choice, Decider, Verdict, Waited};
use ostler_core::ctl::Event;
use ostler_core::rows::Outcome;
use ostler_os::process::PidFd;
use std::process::Command;
use std::time::{Duration, Instant};

/// Whoever hangs is killed and its work taken over, in the middle of a question; the child does not notice.
#[test]
fn hung_holders_are_replaced_while_a_question_is_open() {
    for who in ["controller", "keeper", "both"] {
        let stable = Stable::new();
        let session = stable.session("turn\n ask Bash {\"command\": \"ls\"}\n then\n say It said $result.\n");
        session.send("hello");
        let question = session.question();
        let child = session.child();
        let (keeper, controller) = (session.keeper(), session.controller());
        if who != "keeper" {
            signal(controller, "STOP");
        }
        if who != "controller" {
            signal(keeper, "STOP");
        }
        let verdict = Verdict {
            generation: question.generation,
            request_id: question.request_id.clone(),
            choice: Choice::allow(),
            by: "test".to_owned(),
            decider: Decider::This,
            at: super::stable::now(),
        };
        stable.ostler.decide(session.id, &verdict).unwrap();
        let turn = session.wait();
        assert_eq!(turn.outcome, Some(Outcome::Completed), "{who}: {turn:?}");
        assert_eq!(session.child(), child, "{who}");
        assert_eq!(session.dir.generations().unwrap(), [1], "{who}");
        if who != "keeper" {
            assert!(is_dead(controller), "{who}");
        } else {
            // A keeper that hangs is in nobody's way until something must be started or killed.
            signal(keeper, "CONT");
        }
        stable.finish();
    }
}

/// Any process of the test that has nothing to do with the session.
struct Bystander(std::process::Child);

impl Bystander {
    fn start() -> Self {
        Self(Command::new("sleep").arg("600").spawn().unwrap())
    }

    fn lives(&self) -> bool {
        !is_dead(self.0.id())
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Replaces a number in a file.
fn forge(path: &std::path::Path, from: &str, to: &str) {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{} has no {from}", path.display());
    std::fs::write(path, text.replace(from, to)).unwrap();
}

/// After a crash of everything the rows name a pid that somebody else has by now: its start time says so, and it is
/// never signalled.
#[test]
fn a_pid_that_belongs_to_somebody_else_now_is_left_alone() {
    let stable = Stable::new();
    let session = stable.session("turn\n mark up\n until never\n");
    session.send("hello");
    session.reaches("up");
    let bystander = Bystander::start();
    let other = bystander.0.id().to_string();
    let child = session.child();
    kill_at_once(&[session.keeper(), session.controller(), child]);
    until("nobody to be left", || {
        let left = session.holders();
        kill_at_once(&left);
        left.is_empty().then_some(())
    });
    let files = session.generation(1);
    forge(&files.ctl(), &format!("\"pid\":{child},"), &format!("\"pid\":{other},"));
    forge(&files.spawn_json(), &format!("\"pid\": {child},"), &format!("\"pid\": {other},"));
    session.script("otherwise\n say hi\n");
    stable.ostler.sweep().unwrap();
    session.dead(1);
    session.wait();
    assert!(bystander.lives());
    drop(bystander);
    // What `finish` looks at is the child's own.
    forge(&files.spawn_json(), &format!("\"pid\": {other},"), &format!("\"pid\": {child},"));
    stable.finish();
}

/// The same of a child that lives: only the lock says so, and the kill at its end goes by who it is.
#[test]
fn a_forged_pid_of_a_living_child_misleads_no_kill() {
    let stable = Stable::new();
    let session = stable.session("turn\n mark up\n until never\n");
    session.send("hello");
    session.reaches("up");
    let bystander = Bystander::start();
    let other = bystander.0.id().to_string();
    let child = session.child();
    until("nobody to be left", || {
        let left = session.holders();
        kill_at_once(&left);
        left.is_empty().then_some(())
    });
    forge(&session.generation(1).ctl(), &format!("\"pid\":{child},"), &format!("\"pid\":{other},"));
    stable.ostler.stop(session.id).unwrap();
    until("the child to be dead", || is_dead(child).then_some(()));
    assert!(bystander.lives());
    stable.finish();
}

/// The note in a lock file counts only while the lock is held.
#[test]
fn the_note_of_a_lock_that_nobody_holds_kills_nobody() {
    let stable = Stable::new();
    let session = stable.session("otherwise\n say hi\n");
    session.completes("hello");
    stable.is_left();
    let bystander = Bystander::start();
    for lock in [session.dir.lock(), session.dir.keeper_lock()] {
        std::fs::write(lock, bystander.0.id().to_string()).unwrap();
    }
    session.completes("again");
    assert!(bystander.lives());
    stable.finish();
}

fn stuck(session: &Session<'_>) -> Option<String> {
    session.status().parked.filter(|why| why.starts_with("stuck: "))
}

/// A child that outlives SIGKILL: nothing is started beside it, people are told why, and when it is gone after all the
/// session goes on by itself.
#[test]
fn a_child_that_does_not_die_keeps_its_session_from_starting_another() {
    let file = tempfile::tempdir().unwrap();
    let undying = file.path().join("undying");
    let stable = Stable::with(&[("OSTLER_TEST_UNDYING", undying.to_str().unwrap())]);
    // It doesn't leave, so it is killed; and it doesn't die.
    let session = stable.session_of("turn\n say done\nleave\n mark up\n until never\n", |spec| {
        spec.limits.end = 300;
    });
    std::fs::write(&undying, "").unwrap();
    session.completes("hello");
    session.reaches("up");
    let child = session.child();
    session.row(1, "the kill", |ev| matches!(ev, Event::Kill { .. }).then_some(()));
    session.script("otherwise\n say It goes on.\n");
    let next = session.send("are you there?");
    let told = until("the reason", || stuck(&session));
    assert!(told.contains(&child.to_string()) && told.contains("nothing is started"), "{told}");
    let waited = stable.ostler.wait(session.id, Some(Instant::now() + Duration::from_secs(5))).unwrap();
    assert_eq!(waited, Waited::Parked(told));
    assert_eq!(session.dir.generations().unwrap(), [1]);
    assert!(!is_dead(child));
    std::fs::remove_file(&undying).unwrap();
    until("the child to be gone", || stuck(&session).is_none().then_some(()));
    let turn = session.wait();
    assert_eq!(turn.outcome, Some(Outcome::Completed), "{turn:?}");
    assert_eq!(session.delivery(next).generation, 2);
    assert!(is_dead(child) && stuck(&session).is_none());
    stable.finish();
}

/// A handle that was opened before its process died never leads to another one.
#[test]
fn a_handle_on_the_dead_stays_with_the_dead() {
    let mut bystander = Bystander::start();
    let handle = PidFd::open(bystander.0.id()).unwrap().unwrap();
    bystander.0.kill().unwrap();
    bystander.0.wait().unwrap();
    assert!(!handle.kill().unwrap());
}
