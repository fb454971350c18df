//! Rules, deadlines, answers, and who may give them.

use super::permissions::{answers, chosen};
use super::stable::{Session, Stable, kill, now, until};
use ostler_controller::client::{Choice, ClientError, Decider, NewRule, QuestionState};
use ostler_core::ctl::{Decision, Event, Given};
use ostler_core::ids::RuleId;
use ostler_core::question::{Answers, CONTINUE};
use ostler_core::rows::{Outcome, Permission, PermissionKind, PermissionState};
use ostler_core::rule::{Effect, Rule, Scope};
use ostler_core::spec::PermissionPolicy;

const ASKS: &str = "turn\n ask Bash {\"command\":\"make all\"}\n gives built\n then\n say done\n";

fn rule(stable: &Stable, effect: Effect, pattern: &str, scope: Scope) -> Rule {
    let id = RuleId(uuid::Uuid::new_v4());
    let (pattern, by) = (pattern.to_owned(), "test".to_owned());
    let new = NewRule { id, effect, pattern, scope, by, expires_at: None, at: now() };
    stable.ostler.add_rule(&new, Decider::This).unwrap()
}

fn first(session: &Session<'_>) -> Permission {
    session.projection().permissions[0].clone()
}

#[test]
fn a_rule_answers_before_anybody_is_asked() {
    let stable = Stable::new();
    let session = stable.session(ASKS);
    rule(&stable, Effect::Allow, "Bash", Scope::Everything);
    let named = rule(&stable, Effect::Allow, "Bash(make *)", Scope::Session(session.id));
    session.completes("build");
    assert_eq!(answers(&session)[0]["response"]["behavior"], "allow");
    assert_eq!(
        first(&session).decided_by,
        Some(format!("rule {}", named.id)),
        "the more specific one is named"
    );
    stable.finish();
}

#[test]
fn a_rule_decides_what_is_open_already() {
    let stable = Stable::new();
    let session = stable.session(ASKS);
    session.send("build");
    session.question();
    let denies = rule(&stable, Effect::Deny, "Bash(make *)", Scope::Everything);
    assert_eq!(session.wait().denials, 1);
    let said = answers(&session)[0]["response"]["message"].as_str().unwrap().to_owned();
    assert!(said.contains("Bash(make *)"), "{said}");
    assert_eq!(first(&session).decided_by, Some(format!("rule {}", denies.id)));
    stable.finish();
}

#[test]
fn the_policy_rules_denies_what_no_rule_allows() {
    let stable = Stable::new();
    let script = "turn\n ask Bash {\"command\":\"make all\"}\n then\n ask Bash {\"command\":\"make all && rm x\"}\n then\n say done\n";
    let session = stable.session_of(script, |spec| spec.permission_policy = PermissionPolicy::Rules);
    rule(&stable, Effect::Allow, "Bash(make *)", Scope::Everything);
    session.completes("build");
    let rows = session.projection().permissions;
    let decisions: Vec<_> = rows.iter().map(|p| p.decision).collect();
    assert_eq!(decisions, [Some(Decision::Allow), Some(Decision::Deny)]);
    assert_eq!(rows[1].decided_by.as_deref(), Some("policy"));
    stable.finish();
}

#[test]
fn a_rule_that_asks_holds_against_the_allow_policy() {
    let stable = Stable::new();
    let session = stable.session_of(ASKS, |spec| spec.permission_policy = PermissionPolicy::Allow);
    let asks = rule(&stable, Effect::Ask, "Bash", Scope::Everything);
    session.send("build");
    let question = session.question();
    assert_eq!(stable.ostler.pending(Some(session.id)).unwrap()[0].rule, Some(asks.id));
    stable.ostler.decide(session.id, &chosen(&question, Choice::allow(), "test")).unwrap();
    session.wait();
    assert_eq!(first(&session).decided_by.as_deref(), Some("test"));
    stable.finish();
}

#[test]
fn always_sends_the_childs_own_suggestions_back() {
    let stable = Stable::new();
    let session = stable.session(ASKS);
    session.send("build");
    let question = session.question();
    let suggested = stable.ostler.pending(Some(session.id)).unwrap()[0].suggestions.clone().unwrap();
    let always = Choice::Allow { input: None, always: true };
    stable.ostler.decide(session.id, &chosen(&question, always, "test")).unwrap();
    session.wait();
    let sent = answers(&session)[0]["response"]["updatedPermissions"].clone();
    assert_eq!(sent, serde_json::from_str::<serde_json::Value>(suggested.get()).unwrap());
    stable.finish();
}

/// The time runs on while nobody of ours is there.
#[test]
fn a_deadline_denies_and_never_allows_also_when_everybody_was_killed() {
    let stable = Stable::new();
    let session = stable.session_of(ASKS, |spec| spec.permission_timeout = Some(1_000));
    session.send("build");
    let question = session.question();
    let deadline = question.deadline(Some(1_000)).expect("it says when it was asked");
    assert_eq!(stable.ostler.pending(Some(session.id)).unwrap()[0].deadline, Some(deadline));
    until("nobody to be left", || {
        let left = session.holders();
        left.iter().for_each(|pid| kill(*pid));
        left.is_empty().then_some(())
    });
    until("the deadline", || (now() >= deadline).then_some(()));
    stable.ostler.sweep().unwrap();
    session.wait();
    let answers = answers(&session);
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0]["response"]["behavior"], "deny");
    assert_eq!(answers[0]["response"]["interrupt"], true);
    assert_eq!(first(&session).decided_by.as_deref(), Some("timeout"));
    stable.finish();
}

/// Decided when the child was dead and nobody had noticed: it serves the same question of the next one, once.
#[test]
fn an_answer_that_came_too_late_serves_the_next_child_once() {
    let stable = Stable::new();
    let session = stable.session_of(ASKS, |spec| spec.limits.linger = 60_000);
    session.send("build");
    let before = session.question();
    let child = session.child();
    until("nobody to be left", || {
        let left = session.holders();
        left.iter().for_each(|pid| kill(*pid));
        left.is_empty().then_some(())
    });
    kill(child);
    let again = "when build\n ask Bash {\"command\":\"make all\"}\n then\n say done\nwhen more\n ask Bash {\"command\":\"make all\"}\n then\n say more\n";
    session.script(again);
    let decided = stable.ostler.decide(session.id, &chosen(&before, Choice::allow(), "me"));
    assert!(matches!(decided, Ok(()) | Err(ClientError::Withdrawn)), "{decided:?}");
    assert!(decided.is_ok(), "the store did not know yet");
    session.send("build");
    let of_next =
        || session.projection().permissions.into_iter().filter(|p| p.generation == 2).collect::<Vec<_>>();
    let served = until("the next child's question", || {
        of_next().into_iter().find(|p| p.state == PermissionState::Answered)
    });
    assert_eq!((served.decision, served.decided_by.as_deref()), (Some(Decision::Allow), Some("me")));
    let given = Given { generation: 1, request_id: before.request_id.clone() };
    session.row(2, "where it came from", |ev| match ev {
        Event::Decided { given: Some(g), .. } => (**g == given).then_some(()),
        _ => None,
    });
    assert_eq!(first(&session).state, PermissionState::Withdrawn);
    // The same call a third time: that is for people.
    session.send("more");
    let open = session.question();
    assert_eq!((open.generation, open.decision), (2, None));
    stable.ostler.decide(session.id, &chosen(&open, Choice::deny(None), "me")).unwrap();
    session.wait();
    stable.ostler.stop(session.id).unwrap();
    stable.finish();
}

#[test]
fn hooks_and_forms_wait_for_people() {
    let stable = Stable::new();
    let hook = r#"{"subtype":"hook_callback","callback_id":"before","input":{"x":1}}"#;
    let form = r#"{"subtype":"elicitation","mcp_server_name":"post","message":"Who are you?","requested_schema":{"properties":{"age":{"type":"integer"}},"required":["age"]}}"#;
    let script = format!(
        "turn\n ask Bash {{}}\n request {hook}\n then\n ask Bash {{}}\n request {hook}\n then\n ask Bash {{}}\n request {form}\n then\n ask Bash {{}}\n request {form}\n then\n say done\n"
    );
    let session = stable.session(&script);
    session.send("go");
    let age: Answers = [("age".to_owned(), vec!["42".to_owned()])].into();
    let no = Choice::deny(Some("not today".to_owned()));
    for (kind, choice) in [
        (PermissionKind::Hook, Choice::allow()),
        (PermissionKind::Hook, no.clone()),
        (PermissionKind::Elicitation, Choice::Answer(age)),
        (PermissionKind::Elicitation, no),
    ] {
        let question = session.question();
        assert_eq!(question.kind, kind);
        stable.ostler.decide(session.id, &chosen(&question, choice, "test")).unwrap();
        until("the answer", || {
            let rows = session.projection().permissions;
            let row = rows.into_iter().find(|p| p.request_id == question.request_id)?;
            (row.state == PermissionState::Answered).then_some(())
        });
    }
    session.wait();
    let said: Vec<_> = answers(&session).into_iter().map(|a| a["response"].clone()).collect();
    assert_eq!(said[0], serde_json::json!({}));
    assert_eq!(said[1], serde_json::json!({"decision": "block", "reason": "not today"}));
    assert_eq!(said[2], serde_json::json!({"action": "accept", "content": {"age": 42}}));
    assert_eq!(said[3], serde_json::json!({"action": "decline"}));
    stable.finish();
}

#[test]
fn a_form_that_nobody_has_answered_is_withdrawn_with_the_turn() {
    let stable = Stable::new();
    let form = r#"{"subtype":"elicitation","mcp_server_name":"post","message":"Who?"}"#;
    let session = stable.session(&format!("turn\n ask Bash {{}}\n request {form}\n then\n say done\n"));
    session.send("go");
    let question = session.question();
    assert_eq!(stable.ostler.pending(None).unwrap()[0].message.as_deref(), Some("Who?"));
    stable.ostler.interrupt(session.id, false).unwrap();
    assert_eq!(session.wait().outcome, Some(Outcome::Interrupted));
    let late = stable.ostler.decide(session.id, &chosen(&question, Choice::allow(), "late"));
    assert!(matches!(late, Err(ClientError::Withdrawn)), "{late:?}");
    stable.finish();
}

#[test]
fn five_questions_of_a_turn_are_answered_by_ostler_and_never_a_tool_or_a_plan() {
    let stable = Stable::new();
    let asks = " ask AskUserQuestion {\"questions\":[{\"question\":\"Go on?\",\"options\":[{\"label\":\"Yes\"}]}]}\n then\n";
    let script = format!(
        "turn\n{}{} ask Bash {{\"command\":\"make\"}}\n then\n ask ExitPlanMode {{\"plan\":\"x\"}}\n then\n say done\n",
        asks,
        asks.repeat(5)
    );
    let session = stable.session_of(&script, |spec| spec.auto_continue = true);
    session.send("go");
    let sixth = until("the sixth", || {
        let open = stable.ostler.pending(Some(session.id)).unwrap();
        open.into_iter().find(|q| q.state == QuestionState::AutoContinueExhausted)
    });
    let rows = session.projection().permissions;
    assert_eq!(rows.len(), 6);
    assert!(rows[..5].iter().all(|p| p.decided_by.as_deref() == Some("auto-continue")), "{rows:?}");
    assert_eq!(sixth.questions[0].question, "Go on?");
    let mine: Answers = [(String::new(), vec!["yes".to_owned()])].into();
    stable.ostler.decide(session.id, &chosen(&rows[5], Choice::Answer(mine), "test")).unwrap();
    for kind in [PermissionKind::Tool, PermissionKind::Plan] {
        let question = until("what is never answered", || {
            let open =
                session.projection().permissions.into_iter().find(|p| p.state == PermissionState::Open);
            open.filter(|p| p.kind == kind)
        });
        until("the question to be public", || {
            (!stable.ostler.pending(Some(session.id)).unwrap().is_empty()).then_some(())
        });
        stable.ostler.decide(session.id, &chosen(&question, Choice::allow(), "test")).unwrap();
    }
    session.wait();
    let said = answers(&session);
    assert_eq!(said[0]["response"]["updatedInput"]["answers"]["Go on?"], CONTINUE);
    assert_eq!(said[5]["response"]["updatedInput"]["answers"]["Go on?"], "Yes");
    stable.finish();
}

#[test]
fn what_runs_in_a_session_decides_nothing_and_makes_no_rules() {
    let stable = Stable::new();
    let session = stable.session(ASKS);
    session.send("build");
    let question = session.question();
    let inside = Decider::Process(session.child());
    let refused = |result: Result<(), ClientError>| match result {
        Err(ClientError::Inside { session: of }) => assert_eq!(of, session.id),
        other => panic!("not refused: {other:?}"),
    };
    let mut verdict = chosen(&question, Choice::allow(), "itself");
    verdict.decider = inside;
    refused(stable.ostler.decide(session.id, &verdict));
    let new = NewRule {
        id: RuleId(uuid::Uuid::new_v4()),
        effect: Effect::Allow,
        pattern: "Bash".to_owned(),
        scope: Scope::Everything,
        by: "itself".to_owned(),
        expires_at: None,
        at: now(),
    };
    refused(stable.ostler.add_rule(&new, inside).map(drop));
    let made = rule(&stable, Effect::Deny, "Write", Scope::Everything);
    refused(stable.ostler.remove_rule(made.id, inside).map(drop));
    assert_eq!(stable.ostler.rules().unwrap(), [made]);
    verdict.decider = Decider::Remote;
    stable.ostler.decide(session.id, &verdict).unwrap();
    session.wait();
    stable.finish();
}

#[test]
fn answers_that_do_not_fit_are_refused_and_the_question_stays() {
    let stable = Stable::new();
    let script = "turn\n ask AskUserQuestion {\"questions\":[{\"question\":\"Which?\",\"options\":[{\"label\":\"A\"},{\"label\":\"B\"}]}]}\n then\n say done\n";
    let session = stable.session(script);
    session.send("ask me");
    let question = session.question();
    let decide = |choice| stable.ostler.decide(session.id, &chosen(&question, choice, "test"));
    let answer = |q: &str, a: &[&str]| {
        Choice::Answer([(q.to_owned(), a.iter().map(|a| (*a).to_owned()).collect())].into())
    };
    for bad in [answer("Where?", &["A"]), answer("1", &["A", "B"]), Choice::Answer(Answers::new())] {
        assert!(matches!(decide(bad.clone()), Err(ClientError::Answer(_))), "{bad:?}");
    }
    let list = Choice::Allow { input: Some("[1]".to_owned()), always: false };
    assert!(matches!(decide(list), Err(ClientError::Input { .. })));
    decide(answer("", &["2"])).unwrap();
    session.wait();
    assert_eq!(answers(&session)[0]["response"]["updatedInput"]["answers"]["Which?"], "B");
    stable.finish();
}
