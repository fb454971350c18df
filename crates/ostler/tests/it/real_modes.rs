//! The real CLI is given messages that do not go into what runs, and messages are taken back from it.

use super::engine::stable::{Session, until};
use super::real_stage::{
    Paid, Stage, WAITING, answer_to, is_new, is_read, on_both_versions, runs, said, streams,
};
use ostler_controller::client::{ClientError, Interrupted};
use ostler_core::ctl::{Event, Line};
use ostler_core::ids::DeliveryId;
use ostler_core::machine::Mode;
use ostler_core::rows::{DeliveryState, Outcome};
use ostler_core::spec::LaunchSpec;
use std::fs;

on_both_versions! {
    a_queued_message_beside_a_running_server
    now_while_text_streams
    now_while_a_tool_runs
    now_right_behind_the_first_message
    an_interrupt_in_the_first_instants
    an_interrupt_that_takes_back_in_the_first_instants
    an_interrupt_of_a_child_at_rest
    an_interrupt_takes_back_what_is_queued
    a_queued_message_is_taken_back
    a_first_message_is_taken_back
}

const STREAMING: &str = r#"
    when "one"
      say First words
      pause
      say never said.
    otherwise
      say You said $text.
"#;

fn working() -> String {
    format!(
        "when \"one\"\n tool Bash {{\"command\": \"{WAITING}\", \"description\": \"wait\"}}\nthen\n say Never.\notherwise\n say You said $text.\n"
    )
}

/// What an answer that was broken off cost.
fn broken_off(version: &str) -> Paid {
    if is_new(version) {
        Paid::OutputGuessed("2.1.332 counts what it has received of it, by a guess of its own")
    } else {
        Paid::TokensOnly("2.1.200 leaves it out of its totals; what its start said was metered")
    }
}

/// A child that starts on a busy machine reads nothing for longer than an interrupt waits.
fn patient(spec: &mut LaunchSpec) {
    spec.limits.interrupt = 60_000;
}

#[track_caller]
fn state(session: &Session<'_>, id: DeliveryId) -> DeliveryState {
    session.stable.ostler.db().delivery(id).unwrap().unwrap().state
}

fn results(session: &Session<'_>) -> usize {
    said(session, 1).iter().filter(|line| line.is("result")).count()
}

fn a_queued_message_beside_a_running_server(version: &'static str) {
    let script = "when \"serve\"\n tool Bash {\"command\": \"until test -e down; do sleep 0.05; done\", \"description\": \"serve\", \"run_in_background\": true}\nthen\n say It runs.\nwhen notice\n say It is down.\notherwise\n say You said $text.\n";
    let stage = Stage::new(version, script);
    let session = stage.session_of(&[], |spec| spec.allowed = vec!["Bash".to_owned()]);
    session.send("serve");
    until("the first result", || (results(&session) == 1).then_some(()));
    let ids = [session.send_as("two", Mode::Queue).unwrap(), session.send_as("three", Mode::Queue).unwrap()];
    for (id, text) in ids.into_iter().zip(["two", "three"]) {
        session.becomes(id, DeliveryState::Completed);
        assert_eq!(answer_to(&session, id), format!("You said {text}."));
    }
    assert_eq!(session.projection().turns[0].settled_at, None, "the server runs on");
    fs::write(stage.stable.path("work/down"), "").unwrap();
    let turn = session.wait();
    assert_eq!((turn.outcome, turn.generation, turn.results), (Some(Outcome::Completed), 1, 4), "{turn:?}");
    stage.finish(&Paid::Exactly);
}

fn now_while_text_streams(version: &'static str) {
    let stage = Stage::new(version, STREAMING);
    let session = stage.session();
    let one = session.send("one");
    streams(&session, 1, "words");
    let later = session.send_as("later", Mode::Queue).unwrap();
    let now = session.send_as("two", Mode::Now).unwrap();
    let turn = session.wait();
    assert_eq!(turn.outcome, Some(Outcome::Completed), "{turn:?}");
    assert_eq!(session.delivery(one).state, DeliveryState::Cancelled);
    assert_eq!(answer_to(&session, now), "You said two.");
    assert_eq!(answer_to(&session, later), "You said later.");
    let written: Vec<DeliveryId> = session
        .rows(1)
        .iter()
        .filter_map(|row| match row.ev {
            Event::Begin { line: Line::User { delivery }, .. } => Some(delivery),
            _ => None,
        })
        .collect();
    assert_eq!(written, [one, now, later]);
    stage.finish(&broken_off(version));
}

fn now_while_a_tool_runs(version: &'static str) {
    let stage = Stage::new(version, &working());
    let session = stage.session_of(&[], |spec| spec.allowed = vec!["Bash".to_owned()]);
    let one = session.send("one");
    runs(&session);
    let now = session.send_as("two", Mode::Now).unwrap();
    let turn = session.wait();
    assert_eq!((turn.outcome, turn.generation), (Some(Outcome::Completed), 1), "{turn:?}");
    assert_eq!(session.delivery(one).state, DeliveryState::Cancelled);
    assert_eq!(answer_to(&session, now), "You said two.");
    stage.finish(&Paid::Exactly);
}

/// Before `init`: the first message is broken off before or after it has begun, and the second one is answered.
fn now_right_behind_the_first_message(version: &'static str) {
    let stage = Stage::new(version, STREAMING);
    let session = stage.session_of(&[], patient);
    let one = session.send("one");
    session.row(1, "the first line written", |ev| matches!(ev, Event::Done { write: 1 }).then_some(()));
    let now = session.send_as("two", Mode::Now).unwrap();
    let turn = session.wait();
    assert_eq!((turn.outcome, turn.generation), (Some(Outcome::Completed), 1), "{turn:?}");
    assert_eq!(session.delivery(one).state, DeliveryState::Cancelled);
    assert_eq!(answer_to(&session, now), "You said two.");
    stage.stable.is_left();
    stage.stable.finish();
}

/// At several instants of the first 300 ms behind the write: whatever it finds, the message ends interrupted and the
/// next one is answered.
fn in_the_first_instants(version: &'static str, cancel_queued: bool) {
    for ms in [0, 60, 150, 300] {
        let stage = Stage::new(version, STREAMING);
        let session = stage.session_of(&[], patient);
        let id = session.send("one");
        session.row(1, "the first line written", |ev| matches!(ev, Event::Done { write: 1 }).then_some(()));
        let at = std::time::Instant::now() + std::time::Duration::from_millis(ms);
        until("the instant", || (std::time::Instant::now() >= at).then_some(()));
        let done = session.stable.ostler.interrupt(session.id, cancel_queued).unwrap();
        assert!(matches!(done, Interrupted::Confirmed(_)), "{ms} ms: {done:?}");
        let turn = session.wait();
        assert_eq!(turn.outcome, Some(Outcome::Interrupted), "{ms} ms: {turn:?}");
        assert_eq!(session.delivery(id).state, DeliveryState::Cancelled, "{ms} ms");
        let turn = session.completes("two");
        assert_eq!((turn.generation, session.answer().as_str()), (2, "You said two."), "{ms} ms");
        stage.stable.finish();
    }
}

fn an_interrupt_in_the_first_instants(version: &'static str) {
    in_the_first_instants(version, false);
}

fn an_interrupt_that_takes_back_in_the_first_instants(version: &'static str) {
    in_the_first_instants(version, true);
}

fn an_interrupt_of_a_child_at_rest(version: &'static str) {
    let stage = Stage::new(version, "otherwise\n say You said $text.\n");
    let session = stage.session_of(&[], |spec| spec.limits.linger = 60_000);
    session.completes("one");
    for cancel_queued in [false, true] {
        let done = session.stable.ostler.break_off(session.id, cancel_queued).unwrap();
        assert_eq!((done.how, done.cancelled), (Interrupted::NothingRunning, vec![]));
    }
    let turn = session.completes("two");
    assert_eq!((turn.generation, session.answer().as_str()), (1, "You said two."));
    session.stable.ostler.stop(session.id).unwrap();
    stage.finish(&Paid::Exactly);
}

/// By the interrupt itself where `init` says that it can, else one by one.
fn an_interrupt_takes_back_what_is_queued(version: &'static str) {
    let stage = Stage::new(version, STREAMING);
    let session = stage.session();
    let one = session.send("one");
    streams(&session, 1, "words");
    let two = session.send("two");
    is_read(&session, 1, two);
    let three = session.send_as("three", Mode::Queue).unwrap();
    let done = session.stable.ostler.break_off(session.id, true).unwrap();
    assert_eq!(done.how, Interrupted::Confirmed(vec![]));
    let mut all = vec![two, three];
    all.sort();
    assert_eq!(done.cancelled, all);
    let turn = session.wait();
    assert_eq!((turn.outcome, turn.results), (Some(Outcome::Interrupted), 1), "{turn:?}");
    for id in [one, two, three] {
        assert_eq!(state(&session, id), DeliveryState::Cancelled);
    }
    let one_by_one = session
        .rows(1)
        .iter()
        .filter(|row| {
            matches!(&row.ev, Event::Begin { line: Line::Request { subtype, .. }, .. } if subtype == "cancel_async_message")
        })
        .count();
    assert_eq!(one_by_one, usize::from(!is_new(version)));
    let turn = session.completes("four");
    assert_eq!((turn.results, session.answer().as_str()), (1, "You said four."));
    assert!(!stage.last_request().contains("two"), "{}", stage.last_request());
    stage.finish(&broken_off(version));
}

fn a_queued_message_is_taken_back(version: &'static str) {
    let script = "when \"one\"\n say First words\n pause until go\n say and the rest.\notherwise\n say You said $text.\n";
    let stage = Stage::new(version, script);
    let session = stage.session();
    let one = session.send("one");
    streams(&session, 1, "words");
    let two = session.send("two");
    is_read(&session, 1, two);
    session.stable.ostler.cancel(session.id, two).unwrap();
    assert_eq!(state(&session, two), DeliveryState::Cancelled);
    session.becomes(one, DeliveryState::Started);
    let late = session.stable.ostler.cancel(session.id, one);
    assert!(matches!(&late, Err(ClientError::TooLate { state, .. }) if state == "started"), "{late:?}");
    stage.lab.release("go");
    let turn = session.wait();
    assert_eq!((turn.outcome, turn.results), (Some(Outcome::Completed), 1), "{turn:?}");
    assert_eq!(session.delivery(one).state, DeliveryState::Completed);
    assert_eq!(session.delivery(two).state, DeliveryState::Cancelled);
    let late = session.stable.ostler.cancel(session.id, one);
    assert!(matches!(&late, Err(ClientError::TooLate { state, .. }) if state == "completed"), "{late:?}");
    session.completes("three");
    assert!(!stage.last_request().contains("two"), "{}", stage.last_request());
    stage.finish(&Paid::Exactly);
}

/// Whatever the CLI says about it, what it says is what is: a message that was given back is never answered.
fn a_first_message_is_taken_back(version: &'static str) {
    let stage = Stage::new(version, "otherwise\n say You said $text.\n");
    let session = stage.session_of(&[], patient);
    let id = session.send("one");
    session.row(1, "the first line written", |ev| matches!(ev, Event::Done { write: 1 }).then_some(()));
    let back = session.stable.ostler.cancel(session.id, id);
    let turn = session.wait();
    match back {
        Ok(()) => {
            assert_eq!(state(&session, id), DeliveryState::Cancelled);
            assert_eq!((turn.outcome, turn.results), (Some(Outcome::Interrupted), 0), "{turn:?}");
            assert_eq!(stage.lab.requests().len(), 0);
        }
        Err(ClientError::TooLate { .. }) => assert_eq!(state(&session, id), DeliveryState::Completed),
        Err(other) => panic!("{other}"),
    }
    session.completes("two");
    stage.finish(&Paid::Exactly);
}
