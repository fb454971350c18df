//! The watchdog over real processes: silence, its ladder, and what follows.

use super::permissions::decide;
use super::stable::{Session, Stable, executable, fake_claude, until};
use ostler_core::ctl::{Deadline, Decision, Event, KillReason};
use ostler_core::rows::{DeliveryState, Outcome, Turn};
use ostler_core::spec::LaunchSpec;
use ostler_store::db::DeliveryRow;

fn impatient(spec: &mut LaunchSpec) {
    (spec.limits.slow, spec.limits.stalled, spec.limits.interrupt) = (150, 400, 300);
    spec.limits.compaction = 500;
}

#[track_caller]
fn deliveries(session: &Session<'_>) -> Vec<DeliveryRow> {
    session.stable.ostler.db().deliveries(session.id).unwrap()
}

fn turns(session: &Session<'_>) -> Vec<Turn> {
    session.projection().turns
}

#[track_caller]
fn expires(session: &Session<'_>, no: u32, which: Deadline) {
    session.row(no, "the deadline", |ev| match ev {
        Event::Expired { deadline } if *deadline == which => Some(()),
        _ => None,
    });
}

#[test]
fn a_child_that_falls_silent_is_slow_then_interrupted_and_asked_once_to_go_on() {
    let stable = Stable::new();
    let session =
        stable.session_of("turn\n tool Bash {}\n then\n silence\notherwise\n say went on\n", impatient);
    let id = session.send("work");
    session.row(1, "slow", |ev| matches!(ev, Event::Slow { silent } if *silent >= 150).then_some(()));
    expires(&session, 1, Deadline::Stalled);
    let turn = session.wait();
    assert_eq!((turn.no, turn.outcome), (2, Some(Outcome::Completed)), "{turn:?}");
    assert_eq!(session.answer(), "went on");
    let first = &turns(&session)[0];
    assert_eq!((first.outcome, first.failure.as_deref()), (Some(Outcome::Failed), Some("stalled")));
    let [stalled, own] = &deliveries(&session)[..] else { panic!("{:?}", deliveries(&session)) };
    assert_eq!((stalled.id, stalled.state), (id, DeliveryState::Failed));
    assert_eq!((own.state, own.continues), (DeliveryState::Completed, Some(id)));
    assert_eq!(session.offers(id), 1);
    stable.finish();
}

#[test]
fn a_child_that_does_not_listen_either_is_killed_and_the_next_one_goes_on() {
    let stable = Stable::new();
    let session = stable.session_of("ignore interrupt\notherwise\n say some\n then\n silence\n", impatient);
    let id = session.send("work");
    session.row(1, "the kill", |ev| matches!(ev, Event::Kill { why: KillReason::Stalled }).then_some(()));
    session.script("otherwise\n say went on\n");
    let turn = session.wait();
    assert_eq!((turn.no, turn.outcome), (2, Some(Outcome::Completed)), "{turn:?}");
    assert_eq!(turns(&session)[0].failure.as_deref(), Some("stalled"));
    assert_eq!((session.offers(id), session.delivery(id).state), (1, DeliveryState::Failed));
    stable.finish();
}

#[test]
fn a_continuation_that_stalls_too_is_for_people() {
    let stable = Stable::new();
    let session = stable.session_of("otherwise\n say some\n then\n silence\n", impatient);
    session.send("work");
    let turn =
        until("both turns", || turns(&session).into_iter().find(|t| t.no == 2 && t.settled_at.is_some()));
    assert_eq!((turn.outcome, turn.failure.as_deref()), (Some(Outcome::Failed), Some("stalled")));
    let last = session.wait();
    assert_eq!(last.no, 2, "{last:?}");
    assert_eq!(deliveries(&session).len(), 2);
    stable.finish();
}

#[test]
fn a_long_tool_a_person_and_a_background_task_are_no_stalls() {
    let stable = Stable::new();
    let script =
        "otherwise\n tool Bash {}\n takes 1500ms\n ask Bash {}\n shell s make\n until task\n say done\n";
    let session = stable.session_of(script, impatient);
    session.send("work");
    let question = session.question();
    // Longer than the limit, and nothing happens; that is what is tested.
    let asked = std::time::Instant::now();
    until("a person to take their time", || (asked.elapsed().as_millis() > 900).then_some(()));
    decide(&stable.ostler, &session, &question, Decision::Allow);
    until("the result", || turns(&session).first().filter(|t| t.results == 1).map(drop));
    let over = std::time::Instant::now();
    until("the task to take its time", || (over.elapsed().as_millis() > 900).then_some(()));
    session.open("task");
    let turn = session.wait();
    assert_eq!(turn.outcome, Some(Outcome::Completed), "{turn:?}");
    let told = |ev: &Event| matches!(ev, Event::Slow { .. } | Event::Expired { .. });
    assert!(!session.rows(1).iter().any(|row| told(&row.ev)), "{:?}", session.rows(1));
    stable.finish();
}

#[test]
fn a_compaction_that_hangs_has_its_own_deadline() {
    let stable = Stable::new();
    let session =
        stable.session_of("turn\n say a\n then\n compacting\n silence\notherwise\n say went on\n", impatient);
    session.send("work");
    expires(&session, 1, Deadline::Compaction);
    assert_eq!(session.wait().outcome, Some(Outcome::Completed));
    assert_eq!(turns(&session)[0].failure.as_deref(), Some("stalled"));
    stable.finish();
}

/// Refused for now, and taken as soon as ostler asks again.
const LIMITED: &str =
    "when [ostler]\n say went on\notherwise\n result api 429 slow down with {\"api_error_status\":429}\n";

fn soon(spec: &mut LaunchSpec) {
    spec.limits.backoff = 1_500;
}

#[test]
fn a_rate_limit_holds_all_sessions_of_its_credential_until_one_of_them_was_taken() {
    let stable = Stable::new();
    let (first, second) = (stable.session_of(LIMITED, soon), stable.session("otherwise\n say fine\n"));
    first.send("work");
    let limit = until("the limit", || stable.ostler.db().rate_limits().unwrap().pop());
    assert_eq!((limit.tries, limit.until), (1, None));
    assert!(!limit.credential.contains('/') && limit.credential.len() < 40, "{limit:?}");
    let waits = second.send("hello");
    let activity = until("the second to wait", || second.status().activity);
    assert_eq!(activity, "rate limited until unknown");
    assert_eq!(second.projection().generations, []);
    // Nothing runs that could be interrupted, and nobody waits to be told so.
    assert_eq!(
        stable.ostler.interrupt(second.id, false).unwrap(),
        ostler_controller::client::Interrupted::NothingRunning
    );
    assert_eq!(first.wait().outcome, Some(Outcome::Completed));
    assert_eq!(first.answer(), "went on");
    assert_eq!(turns(&first)[0].failure.as_deref(), Some("rate_limit"));
    assert_eq!(second.wait().outcome, Some(Outcome::Completed));
    assert_eq!(second.delivery(waits).state, DeliveryState::Completed);
    assert_eq!(stable.ostler.db().rate_limits().unwrap(), []);
    let next = limit.next_try.unwrap();
    for session in [&first, &second] {
        let last = session.projection().generations.pop().unwrap();
        assert!(last.started_at >= next, "started at {:?}, allowed from {next:?}", last.started_at);
    }
    stable.finish();
}

#[test]
fn a_refused_credential_is_tried_again_only_for_a_message_that_comes_later() {
    let stable = Stable::new();
    let refused = "otherwise\n result api 401 bad key with {\"api_error_status\":401}\n";
    let session = stable.session(refused);
    session.send("work");
    let turn = session.wait();
    assert_eq!(turn.failure.as_deref(), Some("authentication"), "{turn:?}");
    let row = stable.ostler.db().rate_limits().unwrap().pop().unwrap();
    assert_eq!(row.next_try, None);
    session.script("otherwise\n say fine\n");
    session.completes("again");
    assert_eq!(stable.ostler.db().rate_limits().unwrap(), []);
    stable.finish();
}

#[test]
fn no_more_children_start_at_once_than_there_are_slots() {
    let stable = Stable::with(&[("OSTLER_START_SLOTS", "2")]);
    // Says nothing at all before its gate is open.
    let late = format!(
        "#!/bin/sh\nuntil test -e \"$FAKE_CLAUDE_GATES/go\"; do sleep 0.02; done\nexec '{}' \"$@\"\n",
        fake_claude().display()
    );
    let late = executable(&stable.path("late"), &late);
    let script = "otherwise\n say fine\n";
    let session = |_| {
        stable.session_of(script, |spec| {
            spec.launcher.command = vec![late.clone()];
            spec.launcher.resolved.program.path.clone_from(&late);
        })
    };
    let sessions: Vec<_> = (0..20).map(session).collect();
    for session in &sessions {
        session.send("go");
    }
    // Who has a slot keeps it until its first word, and nobody may say one yet.
    let waits = |s: &&Session<'_>| s.status().activity.as_deref() == Some("waiting for a slot");
    until("all others to wait", || (sessions.iter().filter(waits).count() == 18).then_some(()));
    let started = sessions.iter().filter(|s| s.generation(1).spawn_json().exists()).count();
    assert_eq!(started, 2);
    sessions.iter().for_each(|s| s.open("go"));
    for session in &sessions {
        assert_eq!(session.wait().outcome, Some(Outcome::Completed));
    }
    stable.finish();
}

#[test]
fn who_waits_for_a_slot_says_so_and_gets_the_next_one() {
    let stable = Stable::with(&[("OSTLER_CHILD_SLOTS", "1")]);
    let (first, second) =
        (stable.session("otherwise\n say a{until go}\n"), stable.session("otherwise\n say b\n"));
    first.send("work");
    until("the first to run", || first.status().activity.filter(|a| a == "thinking"));
    second.send("work");
    until("the second to wait", || second.status().activity.filter(|a| a == "waiting for a slot"));
    assert_eq!(second.projection().generations, []);
    first.open("go");
    assert_eq!(first.wait().outcome, Some(Outcome::Completed));
    assert_eq!(second.wait().outcome, Some(Outcome::Completed));
    stable.finish();
}
