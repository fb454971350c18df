//! Interrupt and stop.

use super::stable::{PATIENCE, Stable, is_dead, kill, now, until};
use ostler_controller::client::{Interrupted, Resumed, Stopped};
use ostler_core::ctl::{Event, Exit, KillReason};
use ostler_core::ids::DeliveryId;
use ostler_core::machine::Mode;
use ostler_core::rows::{DeliveryState, Outcome};
use ostler_store::db::{self, NewDelivery};
use std::time::Instant;

const BUSY: &str = "turn\n tool Bash {}\n until never\n then\n say done\notherwise\n say again $text\n";

fn written(session: &super::stable::Session<'_>) {
    session.row(1, "the first line written", |ev| matches!(ev, Event::Done { write: 1 }).then_some(()));
}

/// The child has taken the prompt up.
fn running(session: &super::stable::Session<'_>) {
    until("the tool to run", || {
        let out = std::fs::read_to_string(session.generation(1).out()).unwrap_or_default();
        out.contains("tool_use").then_some(())
    });
}

#[test]
fn a_running_turn_is_interrupted() {
    let stable = Stable::new();
    let session = stable.session(BUSY);
    let id = session.send("work");
    running(&session);
    let done = stable.ostler.interrupt(session.id, false).unwrap();
    assert_eq!(done, Interrupted::Confirmed(vec![]));
    let turn = session.wait();
    assert_eq!(turn.outcome, Some(Outcome::Interrupted));
    assert_eq!(session.delivery(id).state, DeliveryState::Cancelled);
    session.script("otherwise\n say again\n");
    session.completes("once more");
    stable.finish();
}

#[test]
fn an_interrupt_keeps_what_is_queued_unless_told_otherwise() {
    for cancel in [false, true] {
        let stable = Stable::new();
        let session = stable.session(BUSY);
        session.send("work");
        running(&session);
        let queued = session.send("queued");
        session.becomes(queued, DeliveryState::Queued);
        let done = stable.ostler.interrupt(session.id, cancel).unwrap();
        let kept = if cancel { vec![] } else { vec![queued.to_string()] };
        assert_eq!(done, Interrupted::Confirmed(kept));
        session.wait();
        let state = if cancel { DeliveryState::Cancelled } else { DeliveryState::Completed };
        assert_eq!(session.delivery(queued).state, state, "cancel: {cancel}");
        stable.finish();
    }
}

#[test]
fn nothing_is_interrupted_or_stopped_where_nothing_runs() {
    let stable = Stable::new();
    let session = stable.session(BUSY);
    assert_eq!(stable.ostler.interrupt(session.id, false).unwrap(), Interrupted::NothingRunning);
    assert_eq!(stable.ostler.stop(session.id).unwrap(), Stopped::NothingRunning);
    assert!(!session.dir.keeper_lock().exists(), "no keeper was started for it");
    stable.finish();
}

#[test]
fn an_interrupt_of_an_idle_resident_child_does_nothing() {
    let stable = Stable::new();
    let session = stable.session_of("otherwise\n say hi\n", |spec| spec.limits.linger = 60_000);
    session.completes("hello");
    assert_eq!(stable.ostler.interrupt(session.id, false).unwrap(), Interrupted::NothingRunning);
    session.completes("hello again");
    assert_eq!(session.projection().turns[1].generation, 1);
    stable.ostler.stop(session.id).unwrap();
    stable.finish();
}

#[test]
fn a_child_that_ignores_the_interrupt_is_killed() {
    let stable = Stable::new();
    let session = stable.session_of(&format!("ignore interrupt\n{BUSY}"), |spec| spec.limits.interrupt = 300);
    session.send("work");
    running(&session);
    let done = stable.ostler.interrupt(session.id, false).unwrap();
    assert!(matches!(done, Interrupted::Forced(_)), "{done:?}");
    let turn = session.wait();
    assert_eq!(turn.outcome, Some(Outcome::Interrupted));
    assert_eq!(session.dead(1).0, Exit::Signal(9));
    session.row(1, "the kill", |ev| matches!(ev, Event::Kill { why: KillReason::Deaf }).then_some(()));
    session.script("otherwise\n say again\n");
    session.completes("once more");
    stable.finish();
}

#[test]
fn a_child_that_does_not_read_is_killed_when_it_is_interrupted() {
    let stable = Stable::new();
    // It reads nothing, and the pipe is not empty, so not even the interrupt can be begun.
    let script = "turn\n mark up\n deaf until never\n say done\n";
    let session = stable.session_of(script, |spec| spec.limits.interrupt = 500);
    session.send("work");
    session.reaches("up");
    session.send("more");
    session.send("and more");
    session.script("otherwise\n say again\n");
    let done = stable.ostler.interrupt(session.id, false).unwrap();
    assert!(matches!(done, Interrupted::Forced(_)), "{done:?}");
    session.row(1, "the kill", |ev| matches!(ev, Event::Kill { why: KillReason::Deaf }).then_some(()));
    session.wait();
    assert!(
        session.rows(2).iter().all(|row| !matches!(row.ev, Event::Kill { .. })),
        "only that child is killed"
    );
    session.completes("once more");
    stable.finish();
}

#[test]
fn an_interrupt_before_the_turn_has_started_is_sent_once_more() {
    let stable = Stable::new();
    let script = "start\n until up\nturn\n tool Bash {}\n until never\n then\n say done\n";
    let session = stable.session(script);
    let id = session.send("work");
    written(&session);
    let (other, session_id) = (stable.another_face(), session.id);
    let done = std::thread::scope(|scope| {
        let asked = scope.spawn(move || other.interrupt(session_id, false).unwrap());
        session.row(1, "the interrupt written", |ev| matches!(ev, Event::Done { write: 2 }).then_some(()));
        session.open("up");
        asked.join().unwrap()
    });
    assert!(matches!(done, Interrupted::Confirmed(_)), "{done:?}");
    let turn = session.wait();
    assert_eq!(turn.outcome, Some(Outcome::Interrupted));
    assert_eq!(session.delivery(id).state, DeliveryState::Cancelled);
    stable.finish();
}

#[test]
fn two_interrupts_at_once_are_one() {
    let stable = Stable::new();
    let session = stable.session(BUSY);
    session.send("work");
    running(&session);
    let other = stable.another_face();
    let done = std::thread::scope(|scope| {
        let id = session.id;
        let second = scope.spawn(move || other.interrupt(id, false).unwrap());
        let first = stable.ostler.interrupt(session.id, false).unwrap();
        [first, second.join().unwrap()]
    });
    for one in done {
        assert!(matches!(one, Interrupted::Confirmed(_) | Interrupted::NothingRunning), "{one:?}");
    }
    assert_eq!(session.wait().outcome, Some(Outcome::Interrupted));
    stable.finish();
}

#[test]
fn a_running_child_is_stopped() {
    let stable = Stable::new();
    let session = stable.session(BUSY);
    let id = session.send("work");
    running(&session);
    let child = session.child();
    assert_eq!(stable.ostler.stop(session.id).unwrap(), Stopped::Ended { killed: 0, proven: true });
    assert!(super::stable::is_dead(child));
    assert_eq!(session.wait().outcome, Some(Outcome::Interrupted));
    assert_eq!(session.delivery(id).state, DeliveryState::Cancelled);
    session.script("otherwise\n say again\n");
    assert_eq!(stable.ostler.resume(session.id).unwrap(), Resumed { was_stopped: true, waiting: 0 });
    session.completes("once more");
    stable.finish();
}

#[test]
fn a_child_that_ignores_end_session_is_killed_by_a_stop() {
    let stable = Stable::new();
    let session = stable.session_of(&format!("ignore control\n{BUSY}"), |spec| spec.limits.end = 300);
    session.send("work");
    running(&session);
    assert_eq!(stable.ostler.stop(session.id).unwrap(), Stopped::Ended { killed: 0, proven: true });
    assert_eq!(session.dead(1).0, Exit::Signal(9));
    assert_eq!(session.wait().outcome, Some(Outcome::Interrupted));
    stable.finish();
}

/// Whether it finds the dying child, nothing yet, or the replacement: behind it nothing runs, and nothing starts.
#[test]
fn a_stop_around_a_childs_death_leaves_nothing_running() {
    for _ in 0..10 {
        let stable = Stable::new();
        let session = stable.session("start\n until never\n");
        session.send("work");
        written(&session);
        kill(session.child());
        let done = stable.ostler.stop(session.id).unwrap();
        // By then its turn may have been settled as well.
        assert!(matches!(done, Stopped::Ended { proven: true, .. } | Stopped::NothingRunning), "{done:?}");
        assert_eq!(stable.ostler.status(session.id).unwrap().process, "cold");
        assert_eq!(stable.ostler.sweep().unwrap(), 0);
        stable.finish();
    }
}

#[test]
fn an_interrupt_right_behind_a_message_finds_its_turn() {
    let stable = Stable::new();
    let session = stable.session(BUSY);
    session.send("work");
    let done = stable.ostler.interrupt(session.id, false).unwrap();
    assert!(matches!(done, Interrupted::Confirmed(_)), "{done:?}");
    assert_eq!(session.wait().outcome, Some(Outcome::Interrupted));
    stable.finish();
}

#[test]
fn a_stop_while_the_child_starts_ends_it() {
    let stable = Stable::new();
    let session = stable.session_of("start\n until never\n", |spec| spec.limits.end = 300);
    session.send("work");
    written(&session);
    let stopped = stable.ostler.stop(session.id).unwrap();
    assert_eq!(stopped, Stopped::Ended { killed: 0, proven: true });
    assert_eq!(session.wait().outcome, Some(Outcome::Interrupted));
    stable.finish();
}

/// Also one that comes when the child that an earlier one was written to is dead, and the next one not there yet.
#[test]
fn interrupts_from_all_sides_come_back() {
    let stable = Stable::new();
    // It queues what it reads and confirms every interrupt, and nothing comes of it.
    let session = stable.session_of("start\n until never\n", |spec| spec.limits.aborted = 30);
    for _ in 0..12 {
        session.send_as("work", Mode::Queue).unwrap();
    }
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let (face, id) = (stable.another_face(), session.id);
            scope.spawn(move || {
                while face.settled(id).unwrap().is_none() {
                    let asked = Instant::now();
                    face.interrupt(id, false).unwrap();
                    let took = asked.elapsed();
                    assert!(took < PATIENCE / 2, "an interrupt was answered after {took:?}");
                }
            });
        }
    });
    assert_eq!(session.wait().outcome, Some(Outcome::Interrupted));
    stable.finish();
}

/// Keeper and controller die before the store has heard of the child: only its lock says that it lives.
#[test]
fn a_child_that_the_store_never_heard_of_is_stopped() {
    let once = tempfile::tempdir().unwrap();
    let died = once.path().join("died");
    let crash = [
        ("OSTLER_CRASH_AT", "before-spawn-json"),
        ("OSTLER_CRASH_ONCE", died.to_str().unwrap()),
        ("OSTLER_CRASH_KILLS", "both"),
    ];
    let stable = Stable::with(&crash);
    let session = stable.session(BUSY);
    // Accepted and begun with, by somebody who does not wait for an answer and so starts no other keeper.
    let accepted = NewDelivery {
        id: DeliveryId(uuid::Uuid::new_v4()),
        session: session.id,
        body: br#""work""#.to_vec(),
        mode: db::Mode::Auto,
        idempotency_key: None,
        created_at: now(),
        continues: None,
    };
    stable.ostler.db().insert_delivery(&accepted).unwrap();
    assert_eq!(stable.ostler.sweep().unwrap(), 1);
    until("both to be dead", || (died.exists() && session.holders().is_empty()).then_some(()));
    assert!(session.projection().generations.is_empty(), "else this tests nothing");
    // Its next controller may have ended it before it is asked to: then nothing runs any more.
    stable.ostler.stop(session.id).unwrap();
    session.dead(1);
    let child =
        session.row(1, "the child", |ev| if let Event::Child { pid, .. } = ev { Some(*pid) } else { None });
    assert!(is_dead(child));
    stable.finish();
}
