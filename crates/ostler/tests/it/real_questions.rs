//! The real CLI asks before it uses a tool; ostler's broker answers.

use super::real_stage::{Paid, Stage, another_controller, calls, on_both_versions, said};
use ostler_core::ctl::{Decision, Event, Exit};
use ostler_core::rows::{DeliveryState, Outcome, PermissionKind, PermissionState};
use ostler_core::spec::PermissionPolicy;

/// `touch` changes something, so it is asked about.
const SCRIPT: &str = r#"
    otherwise
      say I will.
      tool Bash {"command": "touch made", "description": "make it"}
    then
      say It said: $result
"#;

on_both_versions! {
    an_allowed_tool_runs
    a_denied_tool_hears_why
    the_deny_policy_answers_at_once
    the_allow_policy_answers_at_once
    a_question_outlives_its_controller
    an_interrupt_withdraws_the_question
}

fn an_allowed_tool_runs(version: &'static str) {
    let stage = Stage::new(version, SCRIPT);
    let session = stage.session();
    let id = session.send("go");
    let question = session.question();
    assert_eq!((question.kind, question.tool.as_deref()), (PermissionKind::Tool, Some("Bash")));
    assert_eq!(session.status().activity.as_deref(), Some("permission"));
    assert!(!stage.stable.path("work/made").exists());
    stage.decide(&session, &question, Decision::Allow, "");
    let turn = session.wait();
    assert_eq!((turn.outcome, turn.denials, turn.results), (Some(Outcome::Completed), 0, 1));
    assert!(stage.stable.path("work/made").exists());
    assert_eq!(session.delivery(id).state, DeliveryState::Completed);
    let rows = session.projection().permissions;
    let [row] = rows.as_slice() else { panic!("{rows:?}") };
    assert_eq!((row.state, row.decision), (PermissionState::Answered, Some(Decision::Allow)));
    assert_eq!(row.decided_by.as_deref(), Some("test"));
    stage.finish(&Paid::Exactly);
}

fn a_denied_tool_hears_why(version: &'static str) {
    let stage = Stage::new(version, SCRIPT);
    let session = stage.session();
    session.send("go");
    let question = session.question();
    stage.decide(&session, &question, Decision::Deny, "Not before noon, please.");
    let turn = session.wait();
    assert_eq!((turn.outcome, turn.denials, turn.results), (Some(Outcome::Completed), 1, 1));
    assert!(!stage.stable.path("work/made").exists());
    assert!(stage.last_request().contains("Not before noon, please."), "{}", stage.last_request());
    assert!(session.answer().contains("Not before noon, please."), "{}", session.answer());
    stage.finish(&Paid::Exactly);
}

fn the_deny_policy_answers_at_once(version: &'static str) {
    let stage = Stage::new(version, SCRIPT);
    let session = stage.session_of(&[], |spec| spec.permission_policy = PermissionPolicy::Deny);
    let turn = session.completes("go");
    assert_eq!((turn.denials, turn.results), (1, 1));
    assert!(!stage.stable.path("work/made").exists());
    stage.finish(&Paid::Exactly);
}

fn the_allow_policy_answers_at_once(version: &'static str) {
    let stage = Stage::new(version, SCRIPT);
    let session = stage.session_of(&[], |spec| spec.permission_policy = PermissionPolicy::Allow);
    let turn = session.completes("go");
    assert_eq!((turn.denials, turn.results), (0, 1));
    assert!(stage.stable.path("work/made").exists());
    stage.finish(&Paid::Exactly);
}

/// The child waits on; the next controller lists the question again, and its answer counts.
fn a_question_outlives_its_controller(version: &'static str) {
    let stage = Stage::new(version, SCRIPT);
    let session = stage.session();
    session.send("go");
    let before = session.question();
    another_controller(&session, 1, session.controller());
    let question = session.question();
    assert_eq!(question.request_id, before.request_id);
    stage.decide(&session, &question, Decision::Allow, "");
    let turn = session.wait();
    assert_eq!((turn.outcome, turn.generation, turn.results), (Some(Outcome::Completed), 1, 1));
    assert!(stage.stable.path("work/made").exists());
    let answers = session.rows(1);
    let answers = answers.iter().filter(|row| matches!(row.ev, Event::Decided { .. }));
    assert_eq!(answers.count(), 1);
    assert_eq!(session.dead(1).0, Exit::Code(0));
    stage.finish(&Paid::Exactly);
}

fn an_interrupt_withdraws_the_question(version: &'static str) {
    let stage = Stage::new(version, SCRIPT);
    let session = stage.session();
    let id = session.send("go");
    calls(&session, 1, "Bash");
    session.question();
    session.stable.ostler.interrupt(session.id, false).unwrap();
    let turn = session.wait();
    assert_eq!((turn.outcome, turn.results), (Some(Outcome::Interrupted), 1));
    assert_eq!(session.delivery(id).state, DeliveryState::Cancelled);
    let rows = session.projection().permissions;
    let [row] = rows.as_slice() else { panic!("{rows:?}") };
    assert_eq!((row.state, row.decision), (PermissionState::Withdrawn, None));
    assert!(said(&session, 1).iter().any(|l| l.json["terminal_reason"] == "aborted_tools"));
    stage.finish(&Paid::Exactly);
}
