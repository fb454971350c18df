//! A process is killed between two given instructions, or anywhere: the session goes on as if nothing had been.

use super::stable::{PATIENCE, Session, Stable, kill, until};
use ostler_controller::client::{Choice, Decider, Verdict};
use ostler_controller::crash;
use ostler_core::ctl::Event;
use ostler_core::rows::{DeliveryState, Outcome};
use ostler_store::{Cursor, Entry};

/// Who dies.
const WHO: [&str; 3] = ["controller", "keeper", "both"];

/// Runs `scene` three times; in each, somebody dies at `point`.
#[track_caller]
pub(super) fn at(point: &str, scene: impl Fn(&Stable, &str)) {
    for who in WHO {
        let once = tempfile::tempdir().unwrap();
        let file = once.path().join("died");
        let stable = Stable::with(&[
            ("OSTLER_CRASH_AT", point),
            ("OSTLER_CRASH_ONCE", file.to_str().unwrap()),
            ("OSTLER_CRASH_KILLS", who),
        ]);
        scene(&stable, who);
        until(point, || file.exists().then_some(()));
        swept(&stable);
        stable.finish();
    }
}

/// Every command sweeps once: what nobody is left to see the end of is seen by whoever comes next.
fn swept(stable: &Stable) {
    until("nothing to be owed any more", || {
        stable.ostler.sweep().unwrap();
        stable.ostler.db().sessions_owing().unwrap().is_empty().then_some(())
    });
}

/// One turn, which must come to its answer in the one child that is started for it.
fn a_turn(stable: &Stable, _who: &str) {
    let session = stable.session("turn\n say You said $text\n");
    let id = session.send("hello");
    let turn = session.wait();
    assert_eq!(turn.outcome, Some(Outcome::Completed), "{turn:?}");
    assert_eq!(session.answer(), "You said hello");
    ran_once(&session, &[id]);
}

/// Each of these deliveries was answered once, in all generations together, and every byte is in the journal once.
pub(super) fn ran_once(session: &Session<'_>, ids: &[ostler_core::ids::DeliveryId]) {
    // Read before they are followed: a child that leaves may still be writing.
    let wholes: Vec<_> = (session.dir.generations().unwrap().into_iter())
        .map(|no| (no, std::fs::read(session.generation(no).out()).unwrap_or_default()))
        .collect();
    let mut follower = session.stable.ostler.follow(session.id, Cursor::START).unwrap();
    let (mut read, mut started, mut results) = (Vec::new(), Vec::new(), 0);
    while let Some(entry) = follower.next().unwrap() {
        let Entry::Out { no, bytes, .. } = entry else { continue };
        let line: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        if line["type"] == "command_lifecycle" && line["state"] == "started" {
            started.push(line["command_uuid"].as_str().unwrap().to_owned());
        }
        results += usize::from(line["type"] == "result");
        if read.len() < no as usize {
            read.resize(no as usize, Vec::new());
        }
        read[no as usize - 1].extend_from_slice(&bytes);
        read[no as usize - 1].push(b'\n');
    }
    for (no, whole) in wholes {
        let followed = read.get(no as usize - 1).map_or(&[][..], Vec::as_slice);
        assert!(followed.starts_with(&whole), "generation {no} is not read byte for byte");
    }
    assert_eq!(results, ids.len());
    assert_eq!(started, ids.iter().map(ToString::to_string).collect::<Vec<_>>());
    for id in ids {
        assert_eq!(session.delivery(*id).state, DeliveryState::Completed);
    }
}

macro_rules! in_a_turn {
    ($($test:ident: $point:literal),* $(,)?) => {
        $(#[test]
        fn $test() {
            at($point, a_turn);
        })*

        /// Points that an ordinary turn comes by.
        const IN_A_TURN: &[&str] = &[$($point),*];
    };
}

in_a_turn! {
    at_the_start: "taken-over",
    between_claim_and_spawn: "claimed",
    behind_the_folder: "folder-made",
    before_the_fork: "before-fork",
    behind_the_fork: "after-fork",
    before_spawn_json: "before-spawn-json",
    between_begin_and_write: "begin-written",
    between_write_and_done: "line-written",
    behind_done: "done-written",
    between_result_and_settled: "before-settled",
    behind_what_goes_on: "continued",
    between_settled_and_the_store: "settled-written",
    between_settled_and_end_session: "settled",
    between_ending_and_end_session: "ending-written",
    before_the_burial: "before-burial",
    behind_the_burial: "buried",
    behind_the_death: "dead-written",
    while_leaving: "leaving",
}

#[test]
fn every_point_is_tried() {
    // The last three: cancels.rs.
    let others = [
        "line-half-written",
        "decided",
        "kill-written",
        "killed",
        "interrupt-written",
        "cancelling",
        "cancel-written",
    ];
    let tried: Vec<&str> = IN_A_TURN.iter().copied().chain(others).collect();
    for point in crash::POINTS {
        assert!(tried.contains(&point), "{point}");
    }
    assert_eq!(tried.len(), crash::POINTS.len());
}

/// The pipe holds half a line: nothing more can be said through it, and the delivery goes to another child.
#[test]
fn inside_a_long_write() {
    at("line-half-written", |stable, who| {
        let session = stable.session("start\n until reading\notherwise\n say read it\n");
        let id = session.send(&"z".repeat(3 << 20));
        until("half a line", || {
            session.rows(1).iter().any(|row| matches!(row.ev, Event::Begin { .. })).then_some(())
        });
        if who == "keeper" {
            // Its controller lives and finishes the line.
            session.open("reading");
        }
        let waited = session.stable.another_face();
        let id_of_session = session.id;
        let turn = std::thread::scope(|scope| {
            let waits = scope.spawn(move || {
                waited.wait(id_of_session, Some(std::time::Instant::now() + PATIENCE)).unwrap()
            });
            if who != "keeper" {
                session.row(1, "the kill", |ev| matches!(ev, Event::Kill { .. }).then_some(()));
                session.open("reading");
            }
            waits.join().unwrap()
        });
        assert!(matches!(turn, ostler_controller::client::Waited::Settled(Some(_))), "{turn:?}");
        assert_eq!(session.delivery(id).state, DeliveryState::Completed);
        assert_eq!(session.answer(), "read it");
        assert_eq!(session.offers(id), 1, "the first child never saw the line whole");
    });
}

#[test]
fn between_a_decision_and_its_answer() {
    at("decided", |stable, _| {
        let session =
            stable.session("turn\n ask Bash {\"command\":\"make\"}\n gives built\n then\n say done\n");
        let id = session.send("build");
        let question = session.question();
        let decided = stable.ostler.decide(
            session.id,
            &Verdict {
                generation: question.generation,
                request_id: question.request_id.clone(),
                choice: Choice::allow(),
                by: "test".to_owned(),
                decider: Decider::This,
                at: super::stable::now(),
            },
        );
        // It may die over the poke; what was decided is stored.
        drop(decided);
        assert_eq!(session.wait().outcome, Some(Outcome::Completed));
        ran_once(&session, &[id]);
        let answers = session.log().into_iter().filter(|l| l["type"] == "control_response").count();
        assert_eq!(answers, 1);
    });
}

#[test]
fn around_a_kill() {
    for point in ["kill-written", "killed"] {
        at(point, |stable, _| {
            let script = "ignore end_session\nturn\n say done\n";
            let session = stable.session_of(script, |spec| spec.limits.end = 200);
            let id = session.send("hello");
            assert_eq!(session.wait().outcome, Some(Outcome::Completed));
            ran_once(&session, &[id]);
        });
    }
}

#[test]
fn a_keeper_that_has_just_forked() {
    let once = tempfile::tempdir().unwrap();
    let file = once.path().join("died");
    let stable =
        Stable::with(&[("OSTLER_CRASH_AT", crash::IN_KEEPER), ("OSTLER_CRASH_ONCE", file.to_str().unwrap())]);
    a_turn(&stable, "keeper");
    assert!(file.exists());
    stable.finish();
}

/// A turn in which a lot is said, until its gate opens.
const LONG: &str = "turn\n tool Bash {}\n until end\n then\n say You said $text\n";

#[test]
fn a_controller_killed_fifty_times_during_a_turn() {
    let stable = Stable::new();
    let session = stable.session(LONG);
    let id = session.send("hello");
    let child = session.child();
    let mut last = 0;
    for _ in 0..50 {
        let controller = until("the next controller", || {
            // One that still binds its socket is killed as well as one that works.
            Some(session.controller()).filter(|pid| *pid != last)
        });
        kill(controller);
        last = controller;
        stable.ostler.ensure(session.id).unwrap();
    }
    assert_eq!(session.child(), child, "the child lives through it all");
    session.open("end");
    assert_eq!(session.wait().outcome, Some(Outcome::Completed));
    ran_once(&session, &[id]);
    session.dead(1);
    stable.finish();
}

#[test]
fn a_keeper_killed_ten_times_during_a_turn() {
    let stable = Stable::with(&[("OSTLER_TEST_SCOPES", "none")]);
    let session = stable.session(LONG);
    let id = session.send("hello");
    let child = session.child();
    let mut last = 0;
    for _ in 0..10 {
        let keeper = until("the next keeper", || Some(session.keeper()).filter(|pid| *pid != last));
        kill(keeper);
        last = keeper;
        stable.ostler.ensure(session.id).unwrap();
    }
    assert_eq!(session.child(), child);
    session.open("end");
    assert_eq!(session.wait().outcome, Some(Outcome::Completed));
    ran_once(&session, &[id]);
    let (_, proven, _) = session.dead(1);
    assert!(!proven, "no keeper that is left was its parent, and there is no control group");
    stable.finish();
}

#[test]
fn both_killed_again_and_again_during_a_turn() {
    let stable = Stable::new();
    let session = stable.session(LONG);
    let id = session.send("hello");
    let child = session.child();
    for _ in 0..5 {
        // Each starts the other one again, so this may take some rounds.
        until("nobody to be left", || {
            let left = session.holders();
            left.iter().for_each(|pid| kill(*pid));
            left.is_empty().then_some(())
        });
        stable.ostler.sweep().unwrap();
        stable.ostler.ensure(session.id).unwrap();
    }
    assert_eq!(session.child(), child);
    session.open("end");
    assert_eq!(session.wait().outcome, Some(Outcome::Completed));
    ran_once(&session, &[id]);
    session.dead(1);
    stable.finish();
}

/// What is written down between a folder that was made and the start that it was made for has a place before anything that
/// its child will say.
#[test]
fn what_is_written_to_a_folder_that_no_child_ran_in_does_not_keep_one_from_starting() {
    let armed = tempfile::tempdir().unwrap();
    let stable = Stable::with(&[
        ("OSTLER_CRASH_AT", "folder-made"),
        ("OSTLER_CRASH_ONCE", armed.path().to_str().unwrap()),
        ("OSTLER_CRASH_KILLS", "both"),
    ]);
    let session = stable.session("turn\n tool Bash {}\n mark up\n until never\n");
    session.send("work");
    session.reaches("up");
    let queued = session.send("and this");
    session.becomes(queued, DeliveryState::Queued);
    std::fs::write(armed.path().join("next"), "").unwrap();
    kill(session.child());
    until("both to be killed", || std::fs::read_dir(armed.path()).unwrap().next().is_none().then_some(()));
    session.stable.ostler.stop(session.id).unwrap();
    stable.ostler.cancel(session.id, queued).unwrap();
    session.row(2, "the cancel", |ev| matches!(ev, Event::Cancelled { .. }).then_some(()));
    stable.ostler.resume(session.id).unwrap();
    session.script("otherwise\n say again\n");
    session.completes("go on");
    assert_eq!(session.delivery(queued).state, DeliveryState::Cancelled);
    stable.finish();
}
