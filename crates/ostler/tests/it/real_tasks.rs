//! Background shells and subagents outlive the first result and wake a turn of the model's own: the child is not ended
//! before that.

use super::engine::stable::{Session, until};
use super::real_stage::{Paid, Stage, on_both_versions, said};
use ostler_core::ctl::{Event, Exit, Line};
use ostler_core::ids::GenerationNo;
use ostler_core::rows::{DeliveryState, Outcome};
use std::fmt::Write as _;
use std::fs;

on_both_versions! {
    a_finished_background_task_wakes_a_turn
    a_message_while_a_background_shell_lives
}

/// How a background task ends, as seen from the first result.
#[derive(Clone, Copy, Debug)]
enum Ends {
    /// While the first answer streams.
    Early,
    /// As soon as the first result is there.
    Late,
}

/// A shell and a subagent for each round; each waits for a gate of its own.
fn script(rounds: u32) -> String {
    let mut script = String::from(
        "when notice\n say I saw it end.\nwhen like \"shell *\"\n tool Bash {\"command\": \"until test -e $1; do sleep 0.02; done\", \"description\": \"wait\", \"run_in_background\": true}\nthen\n say Shell started.\nwhen main and like \"agent *\"\n tool Agent {\"description\": \"ask\", \"prompt\": \"fruit $1\", \"subagent_type\": \"general-purpose\", \"run_in_background\": true}\nthen\n say Agent started.\n",
    );
    for round in 1..=rounds {
        writeln!(script, "when sub and is \"fruit {round}\"\n hold until {round}\n say Yellow.").unwrap();
    }
    script
}

fn results(session: &Session<'_>, no: GenerationNo) -> usize {
    said(session, no).iter().filter(|line| line.is("result")).count()
}

/// One turn with a background task.
fn round(stage: &Stage, session: &Session<'_>, no: GenerationNo, ends: Ends) {
    let shell = no % 2 == 1;
    let text = if shell { format!("shell {no}") } else { format!("agent {no}") };
    let id = session.send(&text);
    match ends {
        Ends::Early => stage.asked(&text),
        Ends::Late => until("the first result", || (results(session, no) == 1).then_some(())),
    }
    if shell {
        fs::write(stage.stable.path("work").join(no.to_string()), "").unwrap();
    } else {
        stage.lab.release(&no.to_string());
    }
    let turn = session.wait();
    assert_eq!(turn.outcome, Some(Outcome::Completed), "round {no}: {turn:?}");
    assert_eq!((turn.no, turn.generation, turn.killed_tasks), (no, no, 0), "{turn:?}");
    assert_eq!(session.delivery(id).state, DeliveryState::Completed);
    if matches!(ends, Ends::Late) {
        assert_eq!(turn.results, 2, "round {no}");
    }
    assert_eq!(session.answer(), "I saw it end.", "round {no}");
    assert_eq!(session.dead(no), (Exit::Code(0), true, 0), "round {no}");
    ended_behind_its_last_result(session, no);
}

/// `end_session` was decided and begun only with every result read.
#[track_caller]
fn ended_behind_its_last_result(session: &Session<'_>, no: GenerationNo) {
    let last = said(session, no).iter().rfind(|line| line.is("result")).unwrap().end;
    let rows = session.rows(no);
    let told: Vec<u64> = rows
        .iter()
        .filter(|row| match &row.ev {
            Event::Begin { line: Line::Request { subtype, .. }, .. } => subtype == "end_session",
            other => matches!(other, Event::Ending { .. }),
        })
        .map(|row| row.off)
        .collect();
    assert_eq!(told.len(), 2, "generation {no}: {rows:?}");
    assert!(told.iter().all(|off| *off >= last), "generation {no}: last result at {last}, told at {told:?}");
}

fn rounds(version: &'static str, rounds: u32) {
    let stage = Stage::new(version, &script(rounds));
    let session = stage.session_of(&[], |spec| spec.allowed = vec!["Bash".to_owned(), "Agent".to_owned()]);
    for no in 1..=rounds {
        round(&stage, &session, no, Ends::Late);
    }
    stage.finish(&Paid::Exactly);
}

/// Twenty times, in two sessions beside one another.
#[test]
fn twenty_times_first_half() {
    rounds("2.1.332", 10);
}

#[test]
fn twenty_times_second_half() {
    rounds("2.1.332", 10);
}

#[test]
fn some_times_on_2_1_200() {
    rounds("2.1.200", 4);
}

/// A task may be over before the first result is there: it is told inside the turn, or wakes one; either way the
/// model has heard of it before the child is ended.
fn a_finished_background_task_wakes_a_turn(version: &'static str) {
    let stage = Stage::new(version, &script(2));
    let session = stage.session_of(&[], |spec| spec.allowed = vec!["Bash".to_owned(), "Agent".to_owned()]);
    for no in 1..=2 {
        round(&stage, &session, no, Ends::Early);
    }
    stage.finish(&Paid::Exactly);
}

/// It starts a turn at once in the same child, which belongs to the same turn of ours.
fn a_message_while_a_background_shell_lives(version: &'static str) {
    let mut script = script(1);
    script.push_str("when \"meanwhile\"\n say Still here.\n");
    let stage = Stage::new(version, &script);
    let session = stage.session_of(&[], |spec| spec.allowed = vec!["Bash".to_owned()]);
    let first = session.send("shell 1");
    until("the first result", || (results(&session, 1) == 1).then_some(()));
    let second = session.send("meanwhile");
    session.becomes(second, DeliveryState::Completed);
    assert_eq!(session.status().activity.as_deref(), Some("background"));
    fs::write(stage.stable.path("work/1"), "").unwrap();
    let turn = session.wait();
    assert_eq!(turn.outcome, Some(Outcome::Completed), "{turn:?}");
    assert_eq!((turn.no, turn.generation, turn.results), (1, 1, 3));
    assert_eq!(session.delivery(first).state, DeliveryState::Completed);
    assert_eq!(session.answer(), "I saw it end.");
    session.dead(1);
    ended_behind_its_last_result(&session, 1);
    stage.finish(&Paid::Exactly);
}
