//! The real CLI is interrupted and stopped in the middle of what it does.

use super::engine::stable::Session;
use super::real_stage::{Paid, Stage, WAITING, is_new, is_read, on_both_versions, runs, streams};
use ostler_controller::client::{ClientError, Interrupted, Resumed, Stopped};
use ostler_core::ctl::Exit;
use ostler_core::machine::Mode;
use ostler_core::rows::{DeliveryState, Outcome};
use ostler_store::db::Fate;

on_both_versions! {
    an_interrupt_while_text_streams
    an_interrupt_keeps_what_is_queued
    an_interrupt_while_a_tool_runs
    a_stop_while_text_streams
    a_stop_while_a_tool_runs
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
        "when \"one\"\n tool Bash {{\"command\": \"{WAITING}\", \"description\": \"wait\"}}\nthen\n say Never.\nwhen \"two\"\n say Second.\n"
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

fn an_interrupt_while_text_streams(version: &'static str) {
    let stage = Stage::new(version, STREAMING);
    let session = stage.session();
    let id = session.send("one");
    streams(&session, 1, "words");
    assert_eq!(session.stable.ostler.interrupt(session.id, false).unwrap(), Interrupted::Confirmed(vec![]));
    let turn = session.wait();
    assert_eq!((turn.outcome, turn.failure.as_deref(), turn.results), (Some(Outcome::Interrupted), None, 1));
    assert_eq!(session.delivery(id).state, DeliveryState::Cancelled);
    let (exit, proven, killed) = session.dead(1);
    assert!(matches!(exit, Exit::Code(0 | 1)), "{exit:?}");
    assert_eq!((proven, killed), (true, 0));
    // The next message goes on from there.
    let turn = session.completes("two");
    assert_eq!((turn.generation, session.answer().as_str()), (2, "You said two."));
    stage.finish(&broken_off(version));
}

/// What was queued behind the interrupted message runs.
fn an_interrupt_keeps_what_is_queued(version: &'static str) {
    let stage = Stage::new(version, STREAMING);
    let session = stage.session();
    let one = session.send("one");
    streams(&session, 1, "words");
    let two = session.send("two");
    is_read(&session, 1, two);
    let still = match session.stable.ostler.interrupt(session.id, false).unwrap() {
        Interrupted::Confirmed(still) => still,
        other => panic!("{other:?}"),
    };
    if is_new(version) {
        assert_eq!(still, [two.to_string()]);
    }
    let turn = session.wait();
    assert_eq!(turn.outcome, Some(Outcome::Completed), "{turn:?}");
    assert_eq!(session.delivery(one).state, DeliveryState::Cancelled);
    assert_eq!(session.delivery(two).state, DeliveryState::Completed);
    assert_eq!(session.answer(), "You said two.");
    stage.finish(&broken_off(version));
}

fn an_interrupt_while_a_tool_runs(version: &'static str) {
    let stage = Stage::new(version, &working());
    let session = stage.session_of(&[], |spec| spec.allowed = vec!["Bash".to_owned()]);
    let id = session.send("one");
    runs(&session);
    assert_eq!(session.stable.ostler.interrupt(session.id, false).unwrap(), Interrupted::Confirmed(vec![]));
    let turn = session.wait();
    assert_eq!((turn.outcome, turn.results), (Some(Outcome::Interrupted), 1), "{turn:?}");
    assert_eq!(session.delivery(id).state, DeliveryState::Cancelled);
    stage.finish(&Paid::Exactly);
}

/// It takes nothing while it is stopped, and the conversation goes on in the next generation.
#[track_caller]
fn goes_on_when_resumed(session: &Session<'_>) {
    let refused = session.send_as("no", Mode::Auto);
    assert!(matches!(refused, Err(ClientError::NotTaking { state: "stopped", .. })), "{refused:?}");
    let resumed = session.stable.ostler.resume(session.id).unwrap();
    assert_eq!(resumed, Resumed { was_stopped: true, waiting: 0 });
    assert_eq!(session.completes("two").generation, 2);
}

fn a_stop_while_text_streams(version: &'static str) {
    let stage = Stage::new(version, STREAMING);
    let session = stage.session();
    let id = session.send("one");
    streams(&session, 1, "words");
    let stopped = session.stable.ostler.stop(session.id).unwrap();
    assert!(matches!(stopped, Stopped::Ended { proven: true, .. }), "{stopped:?}");
    let turn = session.wait();
    assert_eq!((turn.outcome, turn.generation), (Some(Outcome::Interrupted), 1), "{turn:?}");
    assert_eq!(session.delivery(id).state, DeliveryState::Cancelled);
    goes_on_when_resumed(&session);
    assert_eq!(session.answer(), "You said two.");
    stage.finish(&broken_off(version));
}

fn a_stop_while_a_tool_runs(version: &'static str) {
    let stage = Stage::new(version, &working());
    let session = stage.session_of(&[], |spec| spec.allowed = vec!["Bash".to_owned()]);
    let id = session.send("one");
    runs(&session);
    let stopped = session.stable.ostler.stop(session.id).unwrap();
    assert!(matches!(stopped, Stopped::Ended { proven: true, .. }), "{stopped:?}");
    let turn = session.wait();
    assert_eq!((turn.outcome, turn.generation), (Some(Outcome::Interrupted), 1), "{turn:?}");
    assert_eq!(session.delivery(id).state, DeliveryState::Cancelled);
    goes_on_when_resumed(&session);
    assert!(stage.last_request().contains("one"), "the conversation goes on");
    assert_eq!(session.answer(), "Second.");
    stage.stable.ostler.close(session.id, Fate::Remove, false).unwrap();
    assert!(matches!(session.send_as("no", Mode::Auto), Err(ClientError::NotTaking { state: "closed", .. })));
    stage.finish(&Paid::Exactly);
}
