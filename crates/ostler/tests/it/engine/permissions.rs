//! Questions of a child: asked once, answered once.

use super::stable::{PATIENCE, Session, Stable, kill, now, until};
use ostler_controller::client::{Choice, ClientError, Decider, Ostler, Verdict};
use ostler_core::ctl::Decision;
use ostler_core::rows::{Outcome, Permission, PermissionState};
use ostler_core::spec::PermissionPolicy;
use std::time::Instant;

const ASKS: &str = "turn\n ask Bash {\"command\":\"make\"}\n gives built\n then\n say done\n";

fn verdict(question: &Permission, decision: Decision, by: &str) -> Verdict {
    let choice = match decision {
        Decision::Allow => Choice::allow(),
        Decision::Deny => Choice::deny(Some("not today".to_owned())),
    };
    chosen(question, choice, by)
}

pub(crate) fn chosen(question: &Permission, choice: Choice, by: &str) -> Verdict {
    Verdict {
        generation: question.generation,
        request_id: question.request_id.clone(),
        choice,
        by: by.to_owned(),
        decider: Decider::This,
        at: now(),
    }
}

pub(crate) fn decide(ostler: &Ostler, session: &Session<'_>, question: &Permission, decision: Decision) {
    ostler.decide(session.id, &verdict(question, decision, "test")).unwrap();
}

/// The answers that its children got.
pub(crate) fn answers(session: &Session<'_>) -> Vec<serde_json::Value> {
    session
        .log()
        .into_iter()
        .filter(|l| l["type"] == "control_response")
        .map(|l| l["response"].clone())
        .collect()
}

#[test]
fn an_allowed_tool_runs_with_its_own_input() {
    let stable = Stable::new();
    let session = stable.session(ASKS);
    session.send("build");
    let question = session.question();
    assert_eq!(question.tool.as_deref(), Some("Bash"));
    assert_eq!(session.status().activity.as_deref(), Some("permission"));
    decide(&stable.ostler, &session, &question, Decision::Allow);
    assert_eq!(session.wait().outcome, Some(Outcome::Completed));
    let answers = answers(&session);
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0]["response"]["behavior"], "allow");
    assert_eq!(answers[0]["response"]["updatedInput"]["command"], "make");
    let row = &session.projection().permissions[0];
    assert_eq!((row.state, row.decided_by.as_deref()), (PermissionState::Answered, Some("test")));
    stable.finish();
}

#[test]
fn a_denied_tool_does_not_run_and_is_counted() {
    let stable = Stable::new();
    let session = stable.session(ASKS);
    session.send("build");
    let question = session.question();
    decide(&stable.ostler, &session, &question, Decision::Deny);
    let turn = session.wait();
    assert_eq!((turn.outcome, turn.denials), (Some(Outcome::Completed), 1));
    assert_eq!(answers(&session)[0]["response"]["message"], "not today");
    stable.finish();
}

#[test]
fn the_first_of_two_decisions_wins() {
    let stable = Stable::new();
    let session = stable.session(ASKS);
    session.send("build");
    let question = session.question();
    let results = std::thread::scope(|scope| {
        let decide = |decision: Decision, by: &'static str| {
            let (face, id, verdict) = (stable.another_face(), session.id, verdict(&question, decision, by));
            scope.spawn(move || face.decide(id, &verdict))
        };
        let both = [decide(Decision::Allow, "one"), decide(Decision::Deny, "two")];
        both.map(|one| one.join().unwrap())
    });
    let won = results.iter().filter(|r| r.is_ok()).count();
    assert_eq!(won, 1, "{results:?}");
    assert!(results.iter().any(|r| matches!(r, Err(ClientError::Lost { .. }))), "{results:?}");
    session.wait();
    assert_eq!(answers(&session).len(), 1);
    let row = session.projection().permissions[0].clone();
    let winner = if results[0].is_ok() { "one" } else { "two" };
    assert_eq!(row.decided_by.as_deref(), Some(winner));
    stable.finish();
}

#[test]
fn a_question_that_is_taken_back_can_not_be_answered() {
    let stable = Stable::new();
    let session = stable.session("turn\n ask Bash {}\n withdrawn back\n then\n say done\n");
    session.send("build");
    let question = session.question();
    session.open("back");
    until("the withdrawal", || {
        (session.projection().permissions[0].state == PermissionState::Withdrawn).then_some(())
    });
    let late = stable.ostler.decide(session.id, &verdict(&question, Decision::Allow, "late"));
    assert!(matches!(late, Err(ClientError::Withdrawn)), "{late:?}");
    session.wait();
    assert_eq!(answers(&session).len(), 0);
    stable.finish();
}

#[test]
fn an_interrupt_withdraws_what_is_open() {
    let stable = Stable::new();
    let session = stable.session(ASKS);
    session.send("build");
    let question = session.question();
    stable.ostler.interrupt(session.id, false).unwrap();
    assert_eq!(session.wait().outcome, Some(Outcome::Interrupted));
    let late = stable.ostler.decide(session.id, &verdict(&question, Decision::Allow, "late"));
    assert!(matches!(late, Err(ClientError::Withdrawn)), "{late:?}");
    stable.finish();
}

#[test]
fn policies_answer_at_once() {
    for (policy, behavior) in [(PermissionPolicy::Allow, "allow"), (PermissionPolicy::Deny, "deny")] {
        let stable = Stable::new();
        let session = stable.session_of(ASKS, |spec| spec.permission_policy = policy);
        session.completes("build");
        assert_eq!(answers(&session)[0]["response"]["behavior"], behavior);
        let row = session.projection().permissions[0].clone();
        assert_eq!(row.decided_by.as_deref(), Some("policy"));
        stable.finish();
    }
}

#[test]
fn a_question_of_the_model_waits_for_a_person_whatever_the_policy_allows() {
    let stable = Stable::new();
    let script = "turn\n ask AskUserQuestion {\"questions\":[]}\n then\n say done\n";
    let session = stable.session_of(script, |spec| spec.permission_policy = PermissionPolicy::Allow);
    session.send("ask me");
    let question = session.question();
    let input = Some("{\"questions\":[],\"answers\":{\"Which?\":\"this\"}}".to_owned());
    let edited = chosen(&question, Choice::Allow { input, always: false }, "test");
    stable.ostler.decide(session.id, &edited).unwrap();
    session.wait();
    assert_eq!(answers(&session)[0]["response"]["updatedInput"]["answers"]["Which?"], "this");
    stable.finish();
}

/// Kills controller, keeper, or both, with a question open; it is answered after the adoption.
#[test]
fn an_open_question_survives_every_process_of_ours() {
    for who in ["controller", "keeper", "both"] {
        let stable = Stable::new();
        let session = stable.session(ASKS);
        session.send("build");
        let question = session.question();
        let (keeper, controller) = (session.keeper(), session.controller());
        if who != "controller" {
            kill(keeper);
        }
        if who != "keeper" {
            kill(controller);
        }
        decide(&stable.ostler, &session, &question, Decision::Allow);
        assert_eq!(session.wait().outcome, Some(Outcome::Completed), "{who}");
        assert_eq!(answers(&session).len(), 1, "{who}");
        assert_eq!(session.dir.generations().unwrap(), [1], "{who}");
        stable.finish();
    }
}

/// Nobody of ours is there when it is decided, and the child dies before anybody comes.
#[test]
fn a_decision_for_a_dead_child_goes_nowhere() {
    let stable = Stable::new();
    let session = stable.session(ASKS);
    session.send("build");
    let question = session.question();
    let child = session.child();
    until("nobody to be left", || {
        let left = session.holders();
        left.iter().for_each(|pid| kill(*pid));
        left.is_empty().then_some(())
    });
    kill(child);
    session.script("otherwise\n say again\n");
    // The store doesn't know yet; the journal will.
    let decided = stable.ostler.decide(session.id, &verdict(&question, Decision::Allow, "late"));
    assert!(matches!(decided, Ok(()) | Err(ClientError::Withdrawn)), "{decided:?}");
    let waited = stable.ostler.wait(session.id, Some(Instant::now() + PATIENCE)).unwrap();
    assert!(matches!(waited, ostler_controller::client::Waited::Settled(_)), "{waited:?}");
    assert_eq!(answers(&session).len(), 0);
    assert_eq!(session.projection().permissions[0].state, PermissionState::Withdrawn);
    stable.finish();
}

#[test]
fn a_kind_of_request_that_nobody_knows_gets_an_error() {
    let stable = Stable::new();
    let script = "turn\n ask Bash {}\n request {\"subtype\":\"brand_new\",\"x\":1}\n then\n say done\n";
    let session = stable.session(script);
    session.completes("hello");
    let answers = answers(&session);
    assert_eq!(answers[0]["subtype"], "error");
    stable.finish();
}
