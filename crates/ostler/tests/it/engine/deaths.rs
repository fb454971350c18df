//! How children end, and what is told of it.

use super::stable::{Session, Stable, executable, kill, until};
use ostler_core::ctl::{Event, Exit, KillReason};
use ostler_core::record::State;
use ostler_core::rows::{DeliveryState, Outcome, Turn};

/// The record and the turn of a session whose child was gone without a result.
fn unfinished(session: &Session<'_>, failure: &str) -> Turn {
    let turn = session.wait();
    assert_eq!(turn.outcome, Some(Outcome::Unfinished), "{turn:?}");
    assert_eq!(turn.failure.as_deref(), Some(failure));
    let (record, _) = session.stable.ostler.db().record(session.id).unwrap();
    assert_eq!(record.state, State::Error { reason: format!("no result: {failure}") });
    turn
}

#[test]
fn killed_before_an_answer_it_is_offered_again_and_then_given_up() {
    let stable = Stable::new();
    // Its transcript never holds an answer, so the prompt runs each time.
    let session = stable.session("otherwise\n kill KILL\n");
    let id = session.send("hello");
    unfinished(&session, "signal 9");
    assert_eq!(session.delivery(id).state, DeliveryState::Failed);
    assert_eq!(session.dir.generations().unwrap(), [1, 2], "two attempts");
    stable.finish();
}

#[test]
fn killed_once_the_next_child_answers() {
    let stable = Stable::new();
    let session = stable.session("start\n until never\n");
    let id = session.send("hello");
    session.row(1, "the line written", |ev| matches!(ev, Event::Done { .. }).then_some(()));
    session.script("otherwise\n say hi\n");
    kill(session.child());
    until("the delivery to complete", || {
        session.projection().deliveries.iter().any(|d| d.state == DeliveryState::Completed).then_some(())
    });
    assert_eq!(session.wait().outcome, Some(Outcome::Completed));
    assert_eq!(session.delivery(id).generation, 2);
    assert_eq!(session.dead(1).0, Exit::Signal(9));
    stable.finish();
}

#[test]
fn killed_in_the_middle_of_its_answer_the_delivery_is_cut() {
    let stable = Stable::new();
    let session = stable.session("turn\n tool Bash {}\n until never\n then\n say done\n");
    let id = session.send("work");
    // On stdout it is earlier than in the transcript, and only what is there is known to the next process.
    let projects = stable.path("user").join(".claude/projects");
    until("the tool call to be in the transcript", || {
        let name = format!("{}.jsonl", session.id);
        let folders = std::fs::read_dir(&projects).into_iter().flatten().flatten();
        let mut texts = folders.filter_map(|f| std::fs::read_to_string(f.path().join(&name)).ok());
        texts.any(|text| text.contains("tool_use")).then_some(())
    });
    kill(session.child());
    session.wait();
    assert_eq!(
        session.delivery(id).state,
        DeliveryState::Cut,
        "it is in the transcript, and was not answered"
    );
    assert_eq!(session.projection().turns[0].outcome, Some(Outcome::Unfinished));
    stable.finish();
}

#[test]
fn an_exit_without_a_result_is_never_a_success() {
    for (status, failure) in [(0, "exit 0"), (1, "exit 1"), (143, "exit 143")] {
        let stable = Stable::new();
        let session = stable.session(&format!("otherwise\n say half\n exit {status}\n"));
        session.send("hello");
        let turn = session.wait();
        assert_ne!(turn.outcome, Some(Outcome::Completed), "{failure}");
        let first = &session.projection().turns[0];
        assert_eq!(first.outcome, Some(Outcome::Unfinished));
        assert_eq!(first.failure.as_deref(), Some(failure));
        stable.finish();
    }
}

#[test]
fn an_exit_before_any_output_tells_its_last_words() {
    let stable = Stable::new();
    let session = stable.session("start\n stderr Error: the frobnicator is missing\n exit 1\n");
    let id = session.send("hello");
    let turn = unfinished(&session, "exit 1");
    assert_eq!(turn.message.as_deref(), Some("Error: the frobnicator is missing"));
    assert_eq!(session.delivery(id).state, DeliveryState::Failed);
    stable.finish();
}

#[test]
fn a_result_counts_whatever_the_exit_says() {
    let stable = Stable::new();
    // The result is written, then a signal.
    let session = stable.session("turn\n say done\nleave\n kill TERM\n");
    session.send("hello");
    assert_eq!(session.wait().outcome, Some(Outcome::Completed));
    assert_eq!(session.dead(1).0, Exit::Code(143));
    until("the mark", || session.projection().turns[0].unclean.then_some(()));
    stable.finish();
}

#[test]
fn dead_in_the_middle_of_a_line_the_rest_is_kept_and_told() {
    let stable = Stable::new();
    let session = stable.session("otherwise\n bytes {\"type\":\"assist\n kill KILL\n");
    session.send("hello");
    session.wait();
    let rows = session.projection();
    assert_eq!(rows.generations[0].garbled, 1);
    assert!(rows.turns[0].garbled);
    assert!(std::fs::read(session.generation(1).out()).unwrap().ends_with(b"{\"type\":\"assist"));
    stable.finish();
}

#[test]
fn no_sign_of_life_at_the_start_ends_in_a_killed_tree() {
    let stable = Stable::new();
    let silent = stable.path("silent");
    executable(&silent, "#!/bin/sh\nexec sleep 600\n");
    let session = stable.session_of("", |spec| {
        spec.launcher.resolved.program.path = silent.to_str().unwrap().to_owned();
        spec.limits.start = 300;
        spec.limits.attempts = 1;
    });
    let id = session.send("hello");
    unfinished(&session, "signal 9");
    session
        .row(1, "the kill", |ev| matches!(ev, Event::Kill { why: KillReason::StartDeadline }).then_some(()));
    assert_eq!(session.delivery(id).state, DeliveryState::Failed);
    stable.finish();
}

#[test]
fn a_child_that_does_not_leave_is_killed_and_its_turn_stands() {
    for ignored in ["end_session", "leave", "control sigterm sigint eof"] {
        let stable = Stable::new();
        let script = format!("ignore {ignored}\notherwise\n say done\n");
        let session = stable.session_of(&script, |spec| spec.limits.end = 200);
        assert_eq!(session.completes("hello").outcome, Some(Outcome::Completed));
        assert_eq!(session.dead(1).0, Exit::Signal(9), "{ignored}");
        session.completes("and again");
        assert_eq!(session.projection().generations.len(), 2);
        stable.finish();
    }
}

#[test]
fn a_flood_on_stderr_blocks_nothing_and_is_cut_to_its_end() {
    let stable = Stable::new();
    let script = "turn\n stderr-flood 3000000\n stderr the end\n until cut\n say done\n";
    let session = stable.session(script);
    session.send("hello");
    let err = session.generation(1).err();
    until("stderr to be cut", || {
        let text = std::fs::read_to_string(&err).unwrap_or_default();
        (text.starts_with("[ostler: ") && text.len() < 1 << 20 && text.ends_with("the end\n")).then_some(())
    });
    session.open("cut");
    assert_eq!(session.wait().outcome, Some(Outcome::Completed));
    session.dead(1);
    stable.finish();
}

#[test]
fn an_api_failure_is_a_failed_turn_of_a_child_that_leaves_with_1() {
    let stable = Stable::new();
    let session = stable.session("turn\n result api 400 Bad request\n");
    let id = session.send("hello");
    let turn = session.wait();
    assert_eq!(turn.outcome, Some(Outcome::Failed));
    assert_eq!(session.delivery(id).state, DeliveryState::Failed);
    assert_eq!(session.dead(1).0, Exit::Code(1));
    session.script("otherwise\n say again\n");
    session.completes("once more");
    stable.finish();
}

#[test]
fn noise_and_unknown_lines_end_nothing() {
    let stable = Stable::new();
    let script = "turn\n raw DEBUG: starting\n raw \\xff\\xfe\n raw [1,2]\n \
                  line {\"type\":\"brand_new\",\"x\":1.5}\n say done\n";
    let session = stable.session(script);
    let turn = session.completes("hello");
    assert!(turn.garbled);
    assert_eq!(session.projection().generations[0].garbled, 3);
    stable.finish();
}

#[test]
fn the_childs_death_is_noticed_within_a_moment() {
    let stable = Stable::new();
    let session = stable.session_of("otherwise\n say hi\n", |spec| spec.limits.linger = 60_000);
    session.completes("hello");
    kill(session.child());
    let died = super::stable::now();
    session.dead(1);
    let row = session.rows(1).into_iter().find(|row| matches!(row.ev, Event::Dead { .. })).unwrap();
    // The aim is 20 ms; two busy cores get more.
    assert!(row.at.since(died) < 2_000, "{} ms", row.at.since(died));
    stable.finish();
}

/// What is kept free behind `out` and `ctl` while a child lives is four megabytes.
#[test]
fn a_generation_that_has_ended_holds_no_space_that_it_does_not_use() {
    use std::os::unix::fs::MetadataExt;
    let stable = Stable::new();
    let session = stable.session("otherwise\n say hi\n");
    session.completes("hello");
    session.completes("hello again");
    for no in [1, 2] {
        for path in [session.generation(no).out(), session.generation(no).ctl()] {
            until("the space to be given back", || {
                (std::fs::metadata(&path).unwrap().blocks() * 512 <= 64 << 10).then_some(())
            });
        }
    }
    stable.finish();
}
