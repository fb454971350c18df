//! ostler's own processes, and the real child, are killed in the middle of a turn.

use super::engine::stable::{Session, kill, kill_at_once};
use super::real_stage::{
    Paid, Stage, WAITING, another_controller, is_new, on_both_versions, runs, said, streams,
};
use ostler_core::ctl::{Event, Exit};
use ostler_core::rows::{DeliveryState, Outcome};
use std::fs;

on_both_versions! {
    the_controller_dies_while_text_streams
    the_controller_dies_while_a_tool_runs
    the_keeper_dies_while_text_streams
    keeper_and_controller_die
    the_child_dies_while_text_streams
    the_child_dies_while_a_tool_runs
}

const STREAMING: &str = "otherwise\n say First words\n pause until go\n say and the rest.\n";

fn working() -> String {
    format!(
        "otherwise\n tool Bash {{\"command\": \"{WAITING}\", \"description\": \"wait\"}}\nthen\n say It said $result.\n"
    )
}

/// The turn goes on in the same child as if nothing had happened.
#[track_caller]
fn goes_on(session: &Session<'_>) {
    let turn = session.wait();
    assert_eq!(turn.outcome, Some(Outcome::Completed), "{turn:?}");
    assert_eq!((turn.no, turn.generation, turn.results, turn.rounds > 0), (1, 1, 1, true));
    let rows = session.projection();
    assert_eq!((rows.turns.len(), rows.generations.len(), rows.deliveries.len()), (1, 1, 1));
    assert_eq!(rows.deliveries[0].state, DeliveryState::Completed);
    let inits = said(session, 1).iter().filter(|line| line.json["subtype"] == "init").count();
    assert_eq!(inits, 1, "it was asked once");
    let (exit, _, killed) = session.dead(1);
    assert!(matches!(exit, Exit::Code(0) | Exit::Unknown), "{exit:?}");
    assert_eq!(killed, 0);
}

fn the_controller_dies_while_text_streams(version: &'static str) {
    let stage = Stage::new(version, STREAMING);
    let session = stage.session();
    session.send("go");
    streams(&session, 1, "words");
    another_controller(&session, 1, session.controller());
    stage.lab.release("go");
    goes_on(&session);
    assert_eq!(session.dead(1).0, Exit::Code(0));
    stage.finish(&Paid::Exactly);
}

fn the_controller_dies_while_a_tool_runs(version: &'static str) {
    let stage = Stage::new(version, &working());
    let session = stage.session_of(&[], |spec| spec.allowed = vec!["Bash".to_owned()]);
    session.send("go");
    runs(&session);
    for _ in 0..3 {
        another_controller(&session, 1, session.controller());
    }
    fs::write(stage.stable.path("work/go"), "").unwrap();
    goes_on(&session);
    assert_eq!(session.answer(), "It said gone.");
    stage.finish(&Paid::Exactly);
}

fn the_keeper_dies_while_text_streams(version: &'static str) {
    let stage = Stage::new(version, STREAMING);
    let session = stage.session();
    session.send("go");
    streams(&session, 1, "words");
    another_controller(&session, 1, session.keeper());
    stage.lab.release("go");
    goes_on(&session);
    stage.finish(&Paid::Exactly);
}

/// Nobody is left to notice; whoever comes next adopts the child.
fn keeper_and_controller_die(version: &'static str) {
    let stage = Stage::new(version, STREAMING);
    let session = stage.session();
    session.send("go");
    streams(&session, 1, "words");
    kill_at_once(&[session.keeper(), session.controller()]);
    // One of the two may have noticed the other's death before its own, and started a successor: then none is missing.
    assert!(stage.stable.ostler.sweep().unwrap() <= 1);
    session.row(1, "the adoption", |ev| matches!(ev, Event::Adopted { .. }).then_some(()));
    stage.lab.release("go");
    goes_on(&session);
    stage.finish(&Paid::Exactly);
}

/// The message is offered to the next child under its own uuid. Its question is in the transcript without an answer:
/// 2.1.332 runs it, 2.1.200 drops it, and then ostler says that it was cut.
fn the_child_dies_while_text_streams(version: &'static str) {
    let stage = Stage::new(version, STREAMING);
    let session = stage.session();
    let id = session.send("go");
    streams(&session, 1, "words");
    kill(session.child());
    let (exit, proven, _) = session.dead(1);
    assert_eq!((exit, proven), (Exit::Signal(9), true));
    stage.lab.release("go");
    let turn = session.wait();
    let rows = session.projection();
    assert_eq!(rows.turns[0].outcome, Some(Outcome::Unfinished), "{turn:?}");
    assert_eq!(rows.turns[0].failure.as_deref(), Some("signal 9"));
    let state = session.delivery(id).state;
    assert_eq!(turn.generation, 2, "{rows:#?}");
    match turn.outcome {
        Some(Outcome::Completed) => assert_eq!(state, DeliveryState::Completed, "{rows:#?}"),
        // 2.1.200 runs it again only when it was killed before the message was in its transcript.
        Some(Outcome::Unfinished) if !is_new(version) => assert_eq!(state, DeliveryState::Cut, "{rows:#?}"),
        _ => panic!("{rows:#?}"),
    }
    stage.finish(&KILLED);
}

/// It has been answered in part: the CLI will not run it again, and ostler says that it was cut.
fn the_child_dies_while_a_tool_runs(version: &'static str) {
    let stage = Stage::new(version, &working());
    let session = stage.session_of(&[], |spec| spec.allowed = vec!["Bash".to_owned()]);
    let id = session.send("go");
    runs(&session);
    kill(session.child());
    let (exit, proven, killed) = session.dead(1);
    assert_eq!((exit, proven, killed > 0), (Exit::Signal(9), true, true), "its tool is killed too");
    let turn = session.wait();
    let rows = session.projection();
    assert_eq!(rows.turns[0].outcome, Some(Outcome::Unfinished), "{turn:?}");
    assert_eq!((turn.generation, turn.outcome), (2, Some(Outcome::Unfinished)), "{rows:#?}");
    assert_eq!(turn.failure.as_deref(), Some("cut"));
    assert_eq!(session.delivery(id).state, DeliveryState::Cut);
    stage.finish(&KILLED);
}

/// A killed child says no total any more; its messages had said their tokens.
const KILLED: Paid = Paid::TokensOnly("a killed child reports no total; its messages were metered");
