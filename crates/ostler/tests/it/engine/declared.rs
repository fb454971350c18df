//! What an agent declares from inside its session.

use super::stable::{Session, Stable, kill, until};
use ostler_controller::client::{ClientError, Declarer, Undeclared};
use ostler_core::ctl::{EndReason, Event};
use ostler_core::machine::Mode;
use ostler_core::record::{Declaration, State};
use ostler_core::rows::{DeliveryState, Outcome, PermissionState};
use std::fs;

const WORKING: &str = "turn\n tool Bash {}\n until go\n then\n say done\notherwise\n say again $text\n";

/// A child of the session as it speaks: what stands in its environment.
fn child(session: &Session<'_>, generation: u32) -> Declarer {
    let token = until("the token", || fs::read_to_string(session.dir.token()).ok());
    Declarer { session: session.id, generation, token }
}

fn works(session: &Session<'_>) {
    until("the tool to run", || {
        let out = fs::read_to_string(session.generation(1).out()).unwrap_or_default();
        out.contains("tool_use").then_some(())
    });
}

fn state(session: &Session<'_>) -> State {
    session.stable.ostler.db().record(session.id).unwrap().0.state
}

fn declared(kind: Declaration, note: &str, turn: u32) -> State {
    State::Declared { kind, note: Some(note.to_owned()), turn }
}

#[track_caller]
fn refused(session: &Session<'_>, by: &Declarer, wanted: Undeclared) {
    match session.stable.ostler.declare(by, Declaration::Done, None) {
        Err(ClientError::Undeclared { why, .. }) => assert_eq!(why, wanted),
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn a_declared_record_stands_and_the_next_message_is_a_wake() {
    let stable = Stable::new();
    let session = stable.session_of(WORKING, |spec| spec.limits.linger = 60_000);
    let first = session.send("work");
    works(&session);
    let by = child(&session, 1);
    stable.ostler.declare(&by, Declaration::Review, Some("look".into())).unwrap();
    // It changes its mind within the turn.
    assert_eq!(stable.ostler.declare(&by, Declaration::Done, Some("pushed".into())).unwrap(), 1);
    assert_eq!(state(&session), declared(Declaration::Done, "pushed", 1));
    let second = session.send("more");
    session.open("go");
    let turn = session.wait();
    assert_eq!((turn.no, turn.generation, turn.outcome), (2, 2, Some(Outcome::Completed)));
    for id in [first, second] {
        assert_eq!((session.delivery(id).state, session.offers(id)), (DeliveryState::Completed, 1));
    }
    assert_eq!(session.delivery(second).generation, 2, "it was not fed into the old child");
    stable.ostler.stop(session.id).unwrap();
    assert_eq!(state(&session), State::Idle);
    stable.finish();
}

#[test]
fn the_settlement_of_the_old_turn_changes_nothing() {
    let stable = Stable::new();
    let session = stable.session(WORKING);
    session.send("work");
    works(&session);
    stable.ostler.declare(&child(&session, 1), Declaration::Blocked, Some("no key".into())).unwrap();
    session.open("go");
    session.wait();
    stable.is_left();
    assert_eq!(state(&session), declared(Declaration::Blocked, "no key", 1));
    stable.finish();
}

#[test]
fn whoever_may_not_speak_for_a_session_is_refused() {
    let stable = Stable::new();
    let session = stable.session(WORKING);
    let by = Declarer { session: session.id, generation: 1, token: "x".into() };
    refused(&session, &by, Undeclared::OtherGeneration);
    session.send("work");
    works(&session);
    let by = child(&session, 1);
    refused(&session, &Declarer { token: "x".into(), ..by.clone() }, Undeclared::Token);
    refused(
        &session,
        &Declarer { token: by.token.replace(|c| c != 'a', "a"), ..by.clone() },
        Undeclared::Token,
    );
    refused(&session, &Declarer { generation: 2, ..by.clone() }, Undeclared::OtherGeneration);
    stable.ostler.stop(session.id).unwrap();
    let late = stable.ostler.declare(&by, Declaration::Done, None);
    assert!(matches!(late, Err(ClientError::NotTaking { state: "stopped", .. })), "{late:?}");
    stable.ostler.resume(session.id).unwrap();
    session.script("turn\n tool Bash {}\n until go\n");
    let before = session.send("again");
    session.becomes(before, DeliveryState::Started);
    refused(&session, &by, Undeclared::OtherGeneration);
    assert_eq!(state(&session), State::Active, "an old child comes late");
    session.open("go");
    session.wait();
    stable.finish();
}

#[test]
fn a_child_at_rest_declares_nothing() {
    let stable = Stable::new();
    let session = stable.session_of("otherwise\n say hi\n", |spec| spec.limits.linger = 60_000);
    session.completes("hello");
    refused(&session, &child(&session, 1), Undeclared::NoTurn);
    stable.ostler.stop(session.id).unwrap();
    stable.finish();
}

/// A call of a subagent, as the child announces it.
fn subagent(input: &str) -> String {
    format!(
        r#"line {{"type":"assistant","parent_tool_use_id":"toolu_agent","message":{{"id":"m_sub","role":"assistant","model":"claude-sonnet-4-5","content":[{{"type":"tool_use","id":"toolu_sub","name":"Bash","input":{{"command":"{input}"}}}}]}}}}"#
    )
}

#[test]
fn subagents_never_move_the_record_of_their_parent() {
    let stable = Stable::new();
    let script = format!("turn\n {}\n mark up\n until go\n say done\n", subagent("ostler declare done"));
    let session = stable.session(&script);
    session.send("work");
    session.reaches("up");
    let by = child(&session, 1);
    until("the call to be seen", || {
        let out = fs::read_to_string(session.generation(1).out()).unwrap_or_default();
        out.contains("toolu_sub").then_some(())
    });
    refused(&session, &by, Undeclared::Subagent);
    assert_eq!(state(&session), State::Active);
    session.open("go");
    session.wait();
    stable.finish();
}

#[test]
fn the_main_agent_may_declare_beside_a_busy_subagent() {
    let stable = Stable::new();
    let script = format!(
        "turn\n {}\n tool Bash {{\"command\":\"ostler declare done\"}}\n until go\n then\n say done\n",
        subagent("make")
    );
    let session = stable.session(&script);
    session.send("work");
    until("both calls", || {
        let out = fs::read_to_string(session.generation(1).out()).unwrap_or_default();
        (out.matches("\"tool_use\"").count() >= 2 && out.contains("toolu_sub")).then_some(())
    });
    until("it to be taken", || {
        stable.ostler.declare(&child(&session, 1), Declaration::Done, Some("x".into())).ok()
    });
    session.open("go");
    session.wait();
    assert_eq!(state(&session), declared(Declaration::Done, "x", 1));
    stable.finish();
}

#[test]
fn a_message_waits_only_so_long_behind_a_declared_record() {
    let stable = Stable::new();
    let script = "turn\n ask Bash {}\n gives made\n then\n say done\n";
    let session = stable.session_of(script, |spec| spec.limits.wake_wait = 400);
    let first = session.send("work");
    let question = session.question();
    stable.ostler.declare(&child(&session, 1), Declaration::Asking, None).unwrap();
    session.script("otherwise\n say again $text\n");
    let second = session.send("more");
    let turn = session.wait();
    assert_eq!((turn.generation, turn.outcome), (2, Some(Outcome::Completed)));
    session.row(1, "the end", |ev| matches!(ev, Event::Ending { why: EndReason::Declared }).then_some(()));
    let asked = session.projection().permissions;
    let asked = asked.iter().find(|p| p.request_id == question.request_id).unwrap();
    assert_eq!((asked.state, asked.withdrawn.as_deref()), (PermissionState::Withdrawn, Some("declared")));
    assert_eq!(session.delivery(first).state, DeliveryState::Cancelled);
    assert_eq!((session.delivery(second).state, session.offers(second)), (DeliveryState::Completed, 1));
    stable.finish();
}

/// What the old child had in its queue goes to the next one.
#[test]
fn no_message_is_lost_when_the_old_child_is_made_to_leave() {
    let stable = Stable::new();
    let script = "turn\n tool Bash {}\n until never\n then\n say done\n";
    let session = stable.session_of(script, |spec| spec.limits.wake_wait = 400);
    session.send("work");
    works(&session);
    let queued = session.send("queued");
    session.becomes(queued, DeliveryState::Queued);
    stable.ostler.declare(&child(&session, 1), Declaration::Done, None).unwrap();
    session.script("otherwise\n say $text\n");
    let woken = session.send_as("woken", Mode::Queue).unwrap();
    session.wait();
    for id in [queued, woken] {
        let row = session.delivery(id);
        assert_eq!((row.state, row.generation), (DeliveryState::Completed, 2));
    }
    stable.finish();
}

/// Everything that `declare` needs is in a child's environment.
#[test]
fn a_child_declares_with_what_it_finds_in_its_environment() {
    let stable = Stable::new();
    let script = "turn\n spawn group \"$OSTLER\" declare review --note fine\n until go\n say done\n";
    let session = stable.session(script);
    session.send("work");
    until("the record", || (state(&session) == declared(Declaration::Review, "fine", 1)).then_some(()));
    session.open("go");
    session.wait();
    let token = fs::read_to_string(session.dir.token()).unwrap();
    for file in ["spawn.json", "ctl"] {
        let text = fs::read_to_string(session.generation(1).path.join(file)).unwrap();
        assert!(!text.contains(&token), "the token stands in {file}");
    }
    stable.finish();
}

#[test]
fn a_controller_that_is_killed_over_a_declaration_leaves_it_to_the_next_one() {
    let once = tempfile::tempdir().unwrap();
    let file = once.path().join("died");
    let more = [("OSTLER_CRASH_AT", "declared"), ("OSTLER_CRASH_ONCE", file.to_str().unwrap())];
    let stable = Stable::with(&more);
    let session = stable.session(WORKING);
    session.send("work");
    works(&session);
    stable.ostler.declare(&child(&session, 1), Declaration::Done, Some("x".into())).unwrap();
    assert!(file.exists(), "nobody was killed");
    // The row alone is enough as well: this controller knows of it only from the journal.
    kill(session.controller());
    session.open("go");
    session.wait();
    assert_eq!(state(&session), declared(Declaration::Done, "x", 1));
    stable.finish();
}
