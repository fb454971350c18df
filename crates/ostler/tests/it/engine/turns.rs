//! Several turns in one process and over several processes.

use super::stable::{Session, Stable, kill};
use ostler_core::ctl::{Event, Exit, Line};
use ostler_core::machine::Mode;
use ostler_core::rows::{DeliveryState, Outcome};

const ECHO: &str = "otherwise\n say You said $text\n";

/// The arguments of a generation, from `spawn.json`.
pub(super) fn argv(session: &Session<'_>, no: u32) -> Vec<String> {
    let text = std::fs::read(session.generation(no).spawn_json()).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&text).unwrap();
    json["argv"].as_array().unwrap().iter().map(|a| a.as_str().unwrap().to_owned()).collect()
}

fn has_flag(session: &Session<'_>, no: u32, flag: &str) -> bool {
    argv(session, no).iter().any(|word| word == flag)
}

#[test]
fn a_prompt_is_answered_and_everything_leaves() {
    let stable = Stable::new();
    let session = stable.session(ECHO);
    let turn = session.completes("hello");
    assert_eq!(session.answer(), "You said hello");
    assert_eq!((turn.no, turn.generation, turn.results), (1, 1, 1));
    assert_eq!(session.dead(1), (Exit::Code(0), true, 0));
    assert_eq!(session.requests(), ["end_session"]);
    stable.finish();
}

#[test]
fn a_delivery_that_comes_late_is_a_second_turn_of_the_same_process() {
    let stable = Stable::new();
    let session = stable.session("turn\n say first {until: go}\n mark streaming\nturn\n say second\n");
    session.script("turn\n mark streaming\n say first\n until go\nturn\n say second\n");
    let first = session.send("one");
    session.reaches("streaming");
    let second = session.send("two");
    session.becomes(second, DeliveryState::Queued);
    session.open("go");
    let turn = session.wait();
    assert_eq!((turn.generation, turn.results, turn.outcome), (1, 2, Some(Outcome::Completed)));
    assert_eq!(session.answer(), "second");
    for id in [first, second] {
        assert_eq!(session.delivery(id).state, DeliveryState::Completed);
        assert_eq!(session.offers(id), 1);
    }
    assert_eq!(session.dead(1).0, Exit::Code(0));
    stable.finish();
}

#[test]
fn a_delivery_steers_into_a_tool_of_the_running_turn() {
    let stable = Stable::new();
    let script = "turn\n tool Bash {\"command\":\"make\"}\n until built\n then\n say steered\n";
    let session = stable.session(script);
    session.send("build");
    session.row(1, "the first line written", |ev| matches!(ev, Event::Done { write: 1 }).then_some(()));
    let steer = session.send("and mind the tests");
    session.becomes(steer, DeliveryState::Queued);
    session.open("built");
    let turn = session.wait();
    assert_eq!((turn.no, turn.results), (1, 1));
    assert_eq!(session.delivery(steer).state, DeliveryState::Completed);
    assert_eq!(session.delivery(steer).turn, 1);
    stable.finish();
}

#[test]
fn a_queued_delivery_never_steers() {
    let stable = Stable::new();
    let session = stable.session("turn\n tool Bash {}\n until built\n then\n say one\nturn\n say two\n");
    session.send("first");
    session.row(1, "the first line written", |ev| matches!(ev, Event::Done { write: 1 }).then_some(()));
    let queued = session.send_as("second", Mode::Queue).unwrap();
    assert_eq!(session.offers(queued), 0);
    session.open("built");
    let turn = session.wait();
    assert_eq!((turn.no, turn.generation), (2, 1), "fed to the resident child as a turn of its own");
    assert_eq!(session.delivery(queued).turn, 2);
    assert_eq!(session.answer(), "two");
    stable.finish();
}

#[test]
fn two_quick_sends_are_both_answered() {
    let stable = Stable::new();
    let session = stable.session(ECHO);
    let ids = [session.send("one"), session.send("two")];
    session.wait();
    for id in ids {
        let row = session.delivery(id);
        assert_eq!(row.state, DeliveryState::Completed);
        assert!(row.answer.is_some());
        assert_eq!(session.offers(id), 1);
    }
    stable.finish();
}

#[test]
fn the_same_idempotency_key_is_delivered_once() {
    use ostler_controller::client::{ClientError, NewMessage};
    use ostler_core::ids::DeliveryId;
    let stable = Stable::new();
    let session = stable.session(ECHO);
    let say = |text: &str| {
        stable.ostler.deliver(
            session.id,
            &NewMessage {
                id: DeliveryId(uuid::Uuid::new_v4()),
                content: text.into(),
                mode: Mode::Auto,
                idempotency_key: Some("the one".to_owned()),
                at: super::stable::now(),
            },
        )
    };
    let first = say("hello").unwrap();
    session.wait();
    assert_eq!(say("hello").unwrap(), first);
    assert!(matches!(say("something else"), Err(ClientError::OtherBody)));
    session.wait();
    assert_eq!(session.log().iter().filter(|l| l["type"] == "user").count(), 1);
    stable.finish();
}

#[test]
fn a_background_shell_that_ends_wakes_a_turn_before_the_child_is_ended() {
    let stable = Stable::new();
    let script = "turn\n shell build make all\n until built\n then\n say started\nwake\n say it is built\n";
    let session = stable.session(script);
    session.send("build in the background");
    session.row(1, "the line written", |ev| matches!(ev, Event::Done { write: 1 }).then_some(()));
    super::stable::until("the first result", || {
        session.projection().turns.first().is_some_and(|t| t.results == 1).then_some(())
    });
    assert_eq!(session.requests(), Vec::<String>::new(), "nobody is ended while a shell lives");
    session.open("built");
    let turn = session.wait();
    assert_eq!((turn.no, turn.results, turn.killed_tasks), (1, 2, 0));
    assert_eq!(session.answer(), "it is built");
    stable.finish();
}

#[test]
fn a_woken_turn_that_comes_late_is_waited_for() {
    let stable = Stable::new();
    let script = "turn\n shell build make\n until built\n lag until slow\n then\n say started\n\
                  wake\n say it is built\n";
    let session = stable.session_of(script, |spec| spec.limits.notification = 20_000);
    session.send("build");
    super::stable::until("the first result", || {
        session.projection().turns.first().is_some_and(|t| t.results == 1).then_some(())
    });
    session.open("built");
    super::stable::until("the notification", || {
        std::fs::read_to_string(session.generation(1).out())
            .unwrap()
            .contains("task_notification")
            .then_some(())
    });
    session.open("slow");
    assert_eq!(session.wait().results, 2);
    assert_eq!(session.answer(), "it is built");
    stable.finish();
}

#[test]
fn a_second_send_after_teardown_resumes() {
    let stable = Stable::new();
    let session = stable.session(ECHO);
    session.completes("one");
    session.dead(1);
    let turn = session.completes("two");
    assert_eq!((turn.no, turn.generation), (2, 2));
    assert!(has_flag(&session, 1, "--session-id") && !has_flag(&session, 1, "--resume"));
    assert!(has_flag(&session, 2, "--resume") && !has_flag(&session, 2, "--session-id"));
    assert!(session.projection().generations[1].resumed);
    stable.finish();
}

#[test]
fn without_a_transcript_the_same_id_is_started_anew() {
    let stable = Stable::new();
    let session = stable.session("start\n exit 1\n");
    session.send("one");
    assert_eq!(session.wait().outcome, Some(Outcome::Unfinished));
    session.script(ECHO);
    session.completes("two");
    assert!(has_flag(&session, 2, "--session-id"), "there was nothing to resume");
    stable.finish();
}

#[test]
fn a_transcript_that_was_swept_away_is_linked_back() {
    let stable = Stable::new();
    let session = stable.session(ECHO);
    session.completes("one");
    let projects = stable.path("user").join(".claude/projects");
    let folder = std::fs::read_dir(projects).unwrap().next().unwrap().unwrap().path();
    let transcript = folder.join(format!("{}.jsonl", session.id));
    std::fs::remove_file(&transcript).unwrap();
    session.completes("two");
    assert!(has_flag(&session, 2, "--resume"));
    assert!(transcript.exists());
    stable.finish();
}

#[test]
fn a_long_message_is_written_whole() {
    let stable = Stable::new();
    let session = stable.session("otherwise\n say done\n");
    let long = "x".repeat(3 << 20);
    let id = session.send(&long);
    session.wait();
    assert_eq!(session.offers(id), 1);
    let line = session.log().into_iter().find(|l| l["type"] == "user").unwrap();
    assert_eq!(line["message"]["content"].as_str().unwrap().len(), long.len());
    stable.finish();
}

#[test]
fn a_message_longer_than_the_pipe_never_steers() {
    let stable = Stable::new();
    let session = stable.session("turn\n until go\n say one\notherwise\n say later\n");
    session.send("first");
    session.row(1, "the first line written", |ev| matches!(ev, Event::Done { write: 1 }).then_some(()));
    let long = session.send(&"y".repeat(2 << 20));
    session.open("go");
    let turn = session.wait();
    assert_eq!(turn.generation, 2, "a line longer than the pipe is the first of a generation");
    let first = session.rows(2).into_iter().find_map(|row| match row.ev {
        Event::Begin { write: 1, line, .. } => Some(line),
        _ => None,
    });
    assert_eq!(first, Some(Line::User { delivery: long }));
    stable.finish();
}

#[test]
fn a_resident_child_is_fed_when_it_lingers() {
    let stable = Stable::new();
    let session = stable.session_of(ECHO, |spec| spec.limits.linger = 60_000);
    session.completes("one");
    let child = session.child();
    let turn = session.completes("two");
    assert_eq!((turn.no, turn.generation), (2, 1));
    assert_eq!(session.child(), child);
    stable.ostler.stop(session.id).unwrap();
    stable.finish();
}

#[test]
fn a_lingering_child_that_dies_is_replaced() {
    let stable = Stable::new();
    let session = stable.session_of(ECHO, |spec| spec.limits.linger = 60_000);
    session.completes("one");
    kill(session.child());
    session.dead(1);
    let turn = session.completes("two");
    assert_eq!(turn.generation, 2);
    stable.ostler.stop(session.id).unwrap();
    stable.finish();
}

#[test]
fn clear_changes_the_conversation_that_is_resumed() {
    let stable = Stable::new();
    let session = stable.session(ECHO);
    session.completes("one");
    session.completes("/clear");
    session.completes("two");
    let generations = session.projection().generations;
    assert_eq!(generations[0].conversation, generations[1].conversation);
    assert_ne!(generations[1].conversation, generations[2].conversation);
    stable.finish();
}

#[test]
fn an_old_cli_without_receipts_is_settled_by_its_quiet() {
    let stable = Stable::new();
    let session = stable.session("version 2.1.200\notherwise\n say You said $text\n");
    let id = session.send("one");
    let turn = session.wait();
    assert_eq!(turn.outcome, Some(Outcome::Completed));
    assert_eq!(session.delivery(id).state, DeliveryState::Completed);
    assert_eq!(session.answer(), "You said one");
    stable.finish();
}

#[test]
fn receipts_that_come_twice_or_late_change_nothing() {
    let stable = Stable::new();
    let session = stable.session("turn\n receipts twice\n say one\nturn\n receipts late in\n say two\n");
    let first = session.send("one");
    session.wait();
    assert_eq!(session.delivery(first).state, DeliveryState::Completed);
    session.script("turn\n receipts late in\n say two\n");
    let second = session.send("two");
    super::stable::until("the second result", || {
        session.projection().turns.get(1).is_some_and(|t| t.results == 1).then_some(())
    });
    assert_eq!(session.projection().turns[1].settled_at, None, "its receipt is still owed");
    session.open("in");
    session.wait();
    assert_eq!(session.delivery(second).state, DeliveryState::Completed);
    stable.finish();
}
