//! ostler's own processes, and the real child, are killed in the middle of a turn.

use super::engine::stable::{Session, is_dead, kill, kill_at_once, until};
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
    a_daemon_of_its_own_tool_is_found_after_both_were_killed
    a_transcript_that_was_swept_away_is_linked_back_and_resumed
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

/// Whoever runs exactly this.
fn running(argv: &[&str]) -> Option<u32> {
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let mut pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.find(|pid| ostler_os::process::command_line(*pid).ok().flatten().is_some_and(|words| words == argv))
}

/// The model's own Bash tool leaves a daemon behind that cut every tie; then keeper and controller are killed, so that
/// nobody is left who is related to it. Its control group finds it, where the machine has one to give.
fn a_daemon_of_its_own_tool_is_found_after_both_were_killed(version: &'static str) {
    let seconds = format!("600.{}", std::process::id());
    let leave = format!("(env -i /usr/bin/setsid /bin/sleep {seconds} &)");
    let stage = Stage::new(
        version,
        &format!(
            "otherwise\n tool Bash {{\"command\": \"{leave}; {WAITING}\", \"description\": \"wait\"}}\nthen\n say It said $result.\n"
        ),
    );
    let session = stage.session_of(&[], |spec| spec.allowed = vec!["Bash".to_owned()]);
    session.send("go");
    runs(&session);
    let daemon = until("the daemon", || running(&["/bin/sleep", &seconds]));
    kill_at_once(&[session.keeper(), session.controller()]);
    stage.stable.ostler.sweep().unwrap();
    session.row(1, "the adoption", |ev| matches!(ev, Event::Adopted { .. }).then_some(()));
    fs::write(stage.stable.path("work/go"), "").unwrap();
    assert_eq!(session.wait().outcome, Some(Outcome::Completed));
    let (_, proven, killed) = session.dead(1);
    let caps = ostler_os::scope::Caps::default();
    if ostler_os::scope::Scope::plan("probe", &caps, ostler_os::scope::Hierarchies::Any).unwrap().is_some() {
        assert!(proven && killed >= 1 && is_dead(daemon), "{killed} killed");
    } else {
        assert!(!proven);
        kill(daemon);
    }
    stage.finish(&Paid::Exactly);
}

/// Another run of the CLI has cleaned up: the conversation goes on from our own link.
fn a_transcript_that_was_swept_away_is_linked_back_and_resumed(version: &'static str) {
    let stage = Stage::new(version, "otherwise\n say You said $text.\n");
    let session = stage.session();
    session.completes("remember the heron");
    session.dead(1);
    let name = format!("{}.jsonl", session.id);
    let folders = fs::read_dir(stage.stable.path("user/config/projects")).unwrap().flatten();
    let found: Vec<_> =
        folders.map(|folder| folder.path().join(&name)).filter(|path| path.exists()).collect();
    assert_eq!(found.len(), 1);
    fs::remove_file(&found[0]).unwrap();
    session.completes("what was it?");
    assert!(stage.last_request().contains("remember the heron"), "the model is told what was said before");
    assert!(session.projection().generations[1].resumed);
    session.dead(2);
    stage.finish(&Paid::Exactly);
}
