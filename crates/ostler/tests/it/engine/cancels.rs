//! Messages that are taken back: one by one, and all that wait behind an interrupt.

use super::stable::{Session, Stable, kill_at_once, until};
use ostler_controller::client::{ClientError, Interrupted};
use ostler_core::ctl::{Event, Line};
use ostler_core::ids::DeliveryId;
use ostler_core::machine::Mode;
use ostler_core::rows::{DeliveryState, Outcome};
use ostler_core::spec::OnCut;

const BUSY: &str = "turn\n tool Bash {}\n until go\n then\n say done\notherwise\n say You said $text\n";
/// It knows no `cancel_queued`, and sends no receipts.
const OLD: &str = "version 2.1.200\n";

fn running(session: &Session<'_>) {
    until("the tool to run", || {
        let out = std::fs::read_to_string(session.generation(1).out()).unwrap_or_default();
        out.contains("tool_use").then_some(())
    });
}

fn is_written(session: &Session<'_>, id: DeliveryId) {
    let write = session.row(1, "its write", |ev| match ev {
        Event::Begin { write, line: Line::User { delivery }, .. } if *delivery == id => Some(*write),
        _ => None,
    });
    session.row(1, "its end", |ev| matches!(ev, Event::Done { write: it } if *it == write).then_some(()));
}

#[track_caller]
fn state(session: &Session<'_>, id: DeliveryId) -> DeliveryState {
    session.stable.ostler.db().delivery(id).unwrap().unwrap().state
}

#[track_caller]
fn too_late(session: &Session<'_>, id: DeliveryId) -> String {
    match session.stable.ostler.cancel(session.id, id) {
        Err(ClientError::TooLate { delivery, state }) if delivery == id => state,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_was_not_written_is_taken_back_in_the_store() {
    let stable = Stable::new();
    let session = stable.session(BUSY);
    session.send("work");
    running(&session);
    let queued = session.send_as("later", Mode::Queue).unwrap();
    stable.ostler.cancel(session.id, queued).unwrap();
    stable.ostler.cancel(session.id, queued).unwrap();
    assert_eq!(state(&session, queued), DeliveryState::Cancelled);
    session.open("go");
    assert_eq!(session.wait().outcome, Some(Outcome::Completed));
    assert_eq!(session.offers(queued), 0);
    assert_eq!(state(&session, queued), DeliveryState::Cancelled, "folding again leaves it so");
    stable.finish();
}

#[test]
fn what_stands_in_the_childs_queue_is_asked_back() {
    for version in ["", OLD] {
        let stable = Stable::new();
        let session = stable.session(&format!("{version}{BUSY}"));
        let first = session.send("work");
        running(&session);
        let steer = session.send("and this");
        is_written(&session, steer);
        stable.ostler.cancel(session.id, steer).unwrap();
        assert_eq!(state(&session, steer), DeliveryState::Cancelled);
        let about = session.row(1, "the request", |ev| match ev {
            Event::Begin { line: Line::Request { subtype, about, .. }, .. }
                if subtype == "cancel_async_message" =>
            {
                *about
            }
            _ => None,
        });
        assert_eq!(about, steer);
        session.open("go");
        assert_eq!(session.wait().outcome, Some(Outcome::Completed), "{version}");
        assert_eq!(session.delivery(first).state, DeliveryState::Completed);
        assert_eq!(session.delivery(steer).state, DeliveryState::Cancelled);
        assert_eq!(session.projection().turns.len(), 1);
        stable.finish();
    }
}

#[test]
fn what_claude_works_on_or_has_answered_is_not_taken_back() {
    let stable = Stable::new();
    let session = stable.session(BUSY);
    let id = session.send("work");
    running(&session);
    session.becomes(id, DeliveryState::Started);
    assert_eq!(too_late(&session, id), "started");
    session.open("go");
    session.wait();
    assert_eq!(too_late(&session, id), "completed");
    let nobodys = DeliveryId(uuid::Uuid::new_v4());
    assert!(matches!(stable.ostler.cancel(session.id, nobodys), Err(ClientError::NoDelivery { .. })));
    let other = stable.session(BUSY);
    assert!(matches!(stable.ostler.cancel(other.id, id), Err(ClientError::NoDelivery { .. })));
    stable.finish();
}

#[test]
fn a_child_that_does_not_answer_gives_nothing_back() {
    let stable = Stable::new();
    let session = stable.session_of(&format!("ignore control\n{BUSY}"), |spec| {
        (spec.limits.interrupt, spec.limits.end) = (300, 300);
    });
    session.send("work");
    running(&session);
    let steer = session.send("and this");
    is_written(&session, steer);
    assert!(too_late(&session, steer).contains("does not answer"));
    session.open("go");
    session.wait();
    assert_eq!(session.delivery(steer).state, DeliveryState::Completed, "nothing was lost over it");
    stable.finish();
}

#[test]
fn what_waits_in_a_stopped_session_is_taken_back() {
    let stable = Stable::new();
    let session = stable.session("start\n until never\n");
    let id = session.send("work");
    is_written(&session, id);
    let behind = session.send_as("behind", Mode::Queue).unwrap();
    stable.ostler.stop(session.id).unwrap();
    stable.ostler.cancel(session.id, behind).unwrap();
    assert_eq!(state(&session, behind), DeliveryState::Cancelled);
    stable.ostler.resume(session.id).unwrap();
    session.script("otherwise\n say again\n");
    session.completes("go on");
    assert_eq!(session.offers(behind), 0);
    stable.finish();
}

/// The model has seen it, so nobody is told that it was taken back; and nothing goes on with it by itself.
#[test]
fn what_a_dead_claude_had_begun_with_is_cut_and_not_offered_again() {
    let stable = Stable::new();
    let session = stable.session_of(BUSY, |spec| spec.on_cut = OnCut::Continue);
    let id = session.send("work");
    running(&session);
    session.becomes(id, DeliveryState::Started);
    kill_at_once(&[session.keeper(), session.controller(), session.child()]);
    stable.ostler.stop(session.id).unwrap();
    assert_eq!(too_late(&session, id), "cut");
    assert_eq!(too_late(&session, id), "cut", "and so it stays");
    stable.ostler.resume(session.id).unwrap();
    session.script("otherwise\n say again\n");
    session.completes("go on");
    assert_eq!(session.offers(id), 1);
    assert_eq!(session.projection().deliveries.len(), 2, "no message of ostler's own");
    stable.finish();
}

/// Whoever comes first: it is taken back and never run, or it runs and is not taken back.
#[test]
fn taken_back_or_run_never_both() {
    let stable = Stable::new();
    let session = stable.session_of("otherwise\n say You said $text\n", |spec| spec.limits.linger = 60_000);
    session.completes("first");
    for _ in 0..30 {
        let id = session.send("again");
        let back = stable.ostler.cancel(session.id, id);
        session.wait();
        match back {
            Ok(()) => assert_eq!(state(&session, id), DeliveryState::Cancelled),
            Err(ClientError::TooLate { .. }) => assert_eq!(state(&session, id), DeliveryState::Completed),
            Err(other) => panic!("{other}"),
        }
        let out = std::fs::read_to_string(session.generation(1).out()).unwrap();
        let ran = out.contains(&format!("\"command_uuid\":\"{id}\",\"state\":\"started\""))
            || out.lines().any(|l| l.contains("\"started\"") && l.contains(&id.to_string()));
        assert_eq!(ran, state(&session, id) == DeliveryState::Completed);
    }
    stable.ostler.stop(session.id).unwrap();
    stable.finish();
}

/// A home whose controller dies once at `point`.
fn mortal(point: &str) -> (Stable, tempfile::TempDir) {
    let once = tempfile::tempdir().unwrap();
    let file = once.path().join("died");
    let more = [("OSTLER_CRASH_AT", point), ("OSTLER_CRASH_ONCE", file.to_str().unwrap())];
    (Stable::with(&more), once)
}

#[test]
fn a_cancel_that_its_controller_did_not_live_to_answer_is_asked_again() {
    for point in ["cancelling", "cancel-written"] {
        let (stable, once) = mortal(point);
        let session = stable.session(BUSY);
        session.send("work");
        running(&session);
        let steer = session.send("and this");
        is_written(&session, steer);
        stable.ostler.cancel(session.id, steer).unwrap();
        assert_eq!(state(&session, steer), DeliveryState::Cancelled, "{point}");
        session.open("go");
        session.wait();
        assert_eq!(session.delivery(steer).state, DeliveryState::Cancelled, "{point}");
        assert!(once.path().join("died").exists(), "{point}");
        stable.finish();
    }
}

#[test]
fn with_an_interrupt_everything_that_waits_is_taken_back() {
    for version in ["", OLD, "habit cancel-queued off\n"] {
        let stable = Stable::new();
        let session = stable.session(&format!("{version}{BUSY}"));
        let first = session.send("work");
        running(&session);
        let steer = [session.send("one"), session.send("two")];
        steer.iter().for_each(|id| is_written(&session, *id));
        let waits = session.send_as("later", Mode::Queue).unwrap();
        let done = stable.ostler.break_off(session.id, true).unwrap();
        assert_eq!(done.how, Interrupted::Confirmed(vec![]), "{version}");
        let mut all = vec![steer[0], steer[1], waits];
        all.sort();
        assert_eq!(done.cancelled, all, "{version}");
        assert_eq!(session.wait().outcome, Some(Outcome::Interrupted), "{version}");
        for id in [first, steer[0], steer[1], waits] {
            assert_eq!(state(&session, id), DeliveryState::Cancelled, "{version}");
        }
        let one_by_one = session.requests().iter().filter(|r| *r == "cancel_async_message").count();
        assert_eq!(one_by_one, if version.is_empty() { 0 } else { 2 }, "{version}");
        stable.finish();
    }
}

#[test]
fn without_it_what_waits_runs_once_and_is_named() {
    for version in ["", OLD] {
        let stable = Stable::new();
        let session = stable.session(&format!("{version}{BUSY}"));
        session.send("work");
        running(&session);
        let steer = session.send("one");
        is_written(&session, steer);
        let done = stable.ostler.break_off(session.id, false).unwrap();
        assert_eq!(done.how, Interrupted::Confirmed(vec![steer.to_string()]), "{version}");
        assert_eq!(done.cancelled, []);
        session.wait();
        assert_eq!(session.delivery(steer).state, DeliveryState::Completed, "{version}");
        assert_eq!(session.offers(steer), 1);
        stable.finish();
    }
}

#[test]
fn before_the_first_turn_nothing_is_left_to_run() {
    for version in ["", OLD] {
        let stable = Stable::new();
        let session = stable.session(&format!("{version}start\n until up\n{BUSY}"));
        let first = session.send("work");
        is_written(&session, first);
        let (other, id) = (stable.another_face(), session.id);
        let done = std::thread::scope(|scope| {
            let asked = scope.spawn(move || other.break_off(id, true).unwrap());
            session.row(1, "the request", |ev| matches!(ev, Event::Done { write: 2 }).then_some(()));
            session.open("up");
            asked.join().unwrap()
        });
        assert!(matches!(done.how, Interrupted::Confirmed(_)), "{done:?}");
        assert_eq!(session.wait().outcome, Some(Outcome::Interrupted), "{version}");
        assert_eq!(state(&session, first), DeliveryState::Cancelled);
        session.script("otherwise\n say again\n");
        session.completes("once more");
        stable.finish();
    }
}

#[test]
fn where_nothing_runs_what_waits_is_taken_back_all_the_same() {
    let stable = Stable::new();
    let session = stable.session("start\n until never\n");
    session.send("work");
    session.row(1, "the first line written", |ev| matches!(ev, Event::Done { write: 1 }).then_some(()));
    let behind = session.send_as("behind", Mode::Queue).unwrap();
    stable.ostler.stop(session.id).unwrap();
    let done = stable.ostler.break_off(session.id, true).unwrap();
    assert_eq!((done.how, done.cancelled), (Interrupted::NothingRunning, vec![behind]));
    assert_eq!(state(&session, behind), DeliveryState::Cancelled);
    stable.finish();
}

#[test]
fn a_deaf_child_is_killed_and_nothing_that_waited_runs() {
    let stable = Stable::new();
    let session = stable.session_of(&format!("ignore interrupt\n{BUSY}"), |spec| spec.limits.interrupt = 300);
    let first = session.send("work");
    running(&session);
    let waits = session.send_as("later", Mode::Queue).unwrap();
    let done = stable.ostler.break_off(session.id, true).unwrap();
    assert!(matches!(done.how, Interrupted::Forced(_)), "{done:?}");
    assert_eq!(done.cancelled, [waits]);
    session.wait();
    for id in [first, waits] {
        assert_eq!(state(&session, id), DeliveryState::Cancelled);
    }
    assert_eq!(session.dir.generations().unwrap(), [1]);
    stable.finish();
}

/// The second one joins the first, and takes back what that one had kept.
#[test]
fn one_that_cancels_joins_one_that_does_not() {
    let stable = Stable::new();
    let session = stable.session(BUSY);
    session.send("work");
    running(&session);
    let steer = session.send("one");
    is_written(&session, steer);
    let (other, id) = (stable.another_face(), session.id);
    let done = std::thread::scope(|scope| {
        let second = scope.spawn(move || other.break_off(id, true).unwrap());
        let first = stable.ostler.break_off(session.id, false).unwrap();
        [first, second.join().unwrap()]
    });
    session.wait();
    for one in &done {
        assert!(!matches!(one.how, Interrupted::Forced(_)), "{done:?}");
    }
    let told = done[1].cancelled.contains(&steer);
    let state = state(&session, steer);
    assert_eq!(
        told && state == DeliveryState::Cancelled,
        told,
        "what is said to be taken back is: {done:?}, {state:?}"
    );
    assert!(state.is_final());
    stable.finish();
}

#[test]
fn an_interrupt_whose_controller_dies_keeps_its_flag() {
    let (stable, once) = mortal("interrupt-written");
    let session = stable.session(BUSY);
    let first = session.send("work");
    running(&session);
    let steer = session.send("one");
    is_written(&session, steer);
    let done = stable.ostler.break_off(session.id, true).unwrap();
    assert!(!matches!(done.how, Interrupted::Forced(_)), "{done:?}");
    session.wait();
    for id in [first, steer] {
        assert_eq!(state(&session, id), DeliveryState::Cancelled);
    }
    assert!(session.log().iter().any(|l| l["request"]["cancel_queued"] == true));
    assert!(once.path().join("died").exists());
    stable.finish();
}
