//! The real CLI asks, and the broker answers in every way there is.

use super::engine::stable::{Session, now, until};
use super::real_stage::{Paid, Stage, claude, is_new, on_both_versions};
use ostler_controller::client::{Choice, Decider, NewRule};
use ostler_core::ids::RuleId;
use ostler_core::question::Answers;
use ostler_core::rows::{Outcome, Permission, PermissionKind, PermissionState};
use ostler_core::rule::{Effect, Scope};
use ostler_core::spec::{PermissionMode, PermissionPolicy};

on_both_versions! {
    edited_input_runs_instead
    always_is_remembered_for_the_next_call
    a_question_of_the_model_is_answered
    a_plan_is_sent_back_and_then_approved
    two_subagents_are_answered_in_reverse_order
    a_question_that_nobody_answers_ends_its_turn
    rules_decide_without_a_person
    without_questions_as_another_user
}

const TOUCHES: &str = r#"
    otherwise
      tool Bash {"command": "touch made", "description": "make it"}
    then
      tool Bash {"command": "touch made", "description": "make it again"}
    then
      say It said: $result
"#;

fn open(session: &Session<'_>) -> Vec<Permission> {
    let rows = session.stable.ostler.db().pending_permissions(Some(session.id)).unwrap();
    rows.into_iter().map(|row| row.journal).collect()
}

fn edited_input_runs_instead(version: &'static str) {
    let script = TOUCHES.replace(
        "then\n      tool Bash {\"command\": \"touch made\", \"description\": \"make it again\"}\n    ",
        "",
    );
    let stage = Stage::new(version, &script);
    let session = stage.session();
    session.send("go");
    let question = session.question();
    let input = Some(r#"{"command":"touch other","description":"make another"}"#.to_owned());
    stage.choose(&session, &question, Choice::Allow { input, always: false });
    assert_eq!(session.wait().outcome, Some(Outcome::Completed));
    assert!(stage.stable.path("work/other").exists() && !stage.stable.path("work/made").exists());
    stage.finish(&Paid::Exactly);
}

fn always_is_remembered_for_the_next_call(version: &'static str) {
    let stage = Stage::new(version, TOUCHES);
    let session = stage.session();
    session.send("go");
    let question = session.question();
    stage.choose(&session, &question, Choice::Allow { input: None, always: true });
    let turn = session.wait();
    assert_eq!((turn.outcome, turn.denials), (Some(Outcome::Completed), 0));
    let rows = session.projection().permissions;
    assert_eq!(rows.len(), 1, "it was asked again: {rows:?}");
    assert!(stage.stable.path("work/made").exists());
    stage.finish(&Paid::Exactly);
}

fn a_question_of_the_model_is_answered(version: &'static str) {
    let stage = Stage::new(
        version,
        r#"
    otherwise
      tool AskUserQuestion {"questions": [{"question": "Which colour?", "header": "Colour", "multiSelect": false, "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]}, {"question": "Which sizes?", "header": "Sizes", "multiSelect": true, "options": [{"label": "Small", "description": "s"}, {"label": "Large", "description": "l"}]}]}
    then
      say It said: $result
"#,
    );
    let session = stage.session();
    session.send("go");
    let question = session.question();
    assert_eq!(
        (question.kind, question.tool.as_deref()),
        (PermissionKind::Question, Some("AskUserQuestion"))
    );
    let shown = stage.stable.ostler.pending(Some(session.id)).unwrap();
    assert_eq!((shown[0].questions.len(), shown[0].questions[1].multi), (2, true));
    let mut answers = Answers::new();
    answers.insert("1".to_owned(), vec!["2".to_owned()]);
    answers.insert("Sizes".to_owned(), vec!["Small".to_owned(), "Gigantic".to_owned()]);
    stage.choose(&session, &question, Choice::Answer(answers));
    assert_eq!(session.wait().outcome, Some(Outcome::Completed));
    let heard = session.answer();
    for wanted in ["Blue", "Small, Gigantic"] {
        assert!(heard.contains(wanted), "{heard}");
    }
    stage.finish(&Paid::Exactly);
}

fn a_plan_is_sent_back_and_then_approved(version: &'static str) {
    let stage = Stage::new(
        version,
        r#"
    otherwise
      tool ExitPlanMode {"plan": "Touch made."}
    then
      tool ExitPlanMode {"plan": "Touch made, gently."}
    then
      say It said: $result
"#,
    );
    let session = stage.session_of(&[], |spec| spec.permission_mode = PermissionMode::Plan);
    session.send("go");
    let question = session.question();
    assert_eq!(question.kind, PermissionKind::Plan);
    stage.choose(&session, &question, Choice::deny(Some("More gently, please.".to_owned())));
    let again =
        until("the second plan", || open(&session).into_iter().find(|p| p.request_id != question.request_id));
    assert!(stage.last_request().contains("More gently, please."));
    assert_eq!(again.kind, PermissionKind::Plan);
    stage.choose(&session, &again, Choice::allow());
    let turn = session.wait();
    assert_eq!((turn.outcome, turn.denials), (Some(Outcome::Completed), 1));
    assert!(session.answer().contains("approved"), "{}", session.answer());
    stage.finish(&Paid::Exactly);
}

const DELEGATES: &str = r#"
    when main and "go"
      tool $AGENT {"description": "one", "prompt": "banana", "subagent_type": "general-purpose", "run_in_background": false}
      tool $AGENT {"description": "two", "prompt": "cherry", "subagent_type": "general-purpose", "run_in_background": false}
    then
      say Both are done.
    when sub and "banana"
      tool Bash {"command": "touch banana", "description": "make it"}
    then
      say The banana: $result
    when sub and "cherry"
      tool Bash {"command": "touch cherry", "description": "make it"}
    then
      say The cherry: $result
"#;

fn two_subagents_are_answered_in_reverse_order(version: &'static str) {
    let stage =
        Stage::new(version, &DELEGATES.replace("$AGENT", if is_new(version) { "Agent" } else { "Task" }));
    let session = stage.session();
    session.send("go");
    let both = until("both questions", || Some(open(&session)).filter(|open| open.len() == 2));
    let shown = stage.stable.ostler.pending(Some(session.id)).unwrap();
    assert!(shown.iter().all(|q| q.agent.is_some()), "{shown:?}");
    stage.choose(&session, &both[1], Choice::allow());
    until("the second to be answered first", || {
        let rows = session.projection().permissions;
        let state = |p: &Permission| rows.iter().find(|r| r.request_id == p.request_id).unwrap().state;
        (state(&both[1]) == PermissionState::Answered)
            .then(|| assert_eq!(state(&both[0]), PermissionState::Open))
    });
    stage.choose(&session, &both[0], Choice::deny(Some("Not this one.".to_owned())));
    let turn = session.wait();
    assert_eq!((turn.outcome, turn.denials), (Some(Outcome::Completed), 1));
    let made = ["banana", "cherry"].map(|name| stage.stable.path(&format!("work/{name}")).exists());
    assert_eq!(made.iter().filter(|made| **made).count(), 1);
    stage.finish(&Paid::Exactly);
}

fn a_question_that_nobody_answers_ends_its_turn(version: &'static str) {
    let stage = Stage::new(version, TOUCHES);
    let session = stage.session_of(&[], |spec| spec.permission_timeout = Some(500));
    session.send("go");
    let turn = session.wait();
    assert_eq!((turn.outcome, turn.denials), (Some(Outcome::Interrupted), 1));
    let rows = session.projection().permissions;
    assert_eq!(rows.len(), 1, "it was asked again: {rows:?}");
    assert_eq!(rows[0].decided_by.as_deref(), Some("timeout"));
    assert!(!stage.stable.path("work/made").exists());
    stage.finish(&Paid::Exactly);
}

fn rules_decide_without_a_person(version: &'static str) {
    let stage = Stage::new(
        version,
        r#"
    otherwise
      tool Bash {"command": "touch made", "description": "make it"}
    then
      tool Bash {"command": "touch made && touch more", "description": "make more"}
    then
      tool Write {"file_path": "notes/a.txt", "content": "x"}
    then
      say It said: $result
"#,
    );
    let session = stage.session_of(&[], |spec| spec.permission_policy = PermissionPolicy::Rules);
    for (effect, pattern) in [(Effect::Allow, "Bash(touch *)"), (Effect::Allow, "Write(notes/**)")] {
        let rule = NewRule {
            id: RuleId(uuid::Uuid::new_v4()),
            effect,
            pattern: pattern.to_owned(),
            scope: Scope::Session(session.id),
            by: "test".to_owned(),
            expires_at: None,
            at: now(),
        };
        stage.stable.ostler.add_rule(&rule, Decider::This).unwrap();
    }
    let turn = session.completes("go");
    assert_eq!(turn.denials, 1);
    let made =
        ["made", "more", "notes/a.txt"].map(|name| stage.stable.path(&format!("work/{name}")).exists());
    assert_eq!(made, [true, false, true]);
    stage.finish(&Paid::Exactly);
}

/// As root the CLI refuses it, so this one's child is somebody else. Where the test itself is nobody special, it is that.
fn without_questions_as_another_user(version: &'static str) {
    const NOBODY: u32 = 65_534;
    let script = TOUCHES.replace(
        "then\n      tool Bash {\"command\": \"touch made\", \"description\": \"make it again\"}\n    ",
        "",
    );
    // The program and everything on the way to it must be open to that user; the run's own temporary folder isn't.
    let stage = Stage::in_folder(version, &script, tempfile::tempdir_in("/var/tmp").unwrap());
    let root = ostler_os::limits::is_root();
    let program = stage.stable.path("claude");
    std::fs::copy(claude(version), &program).unwrap();
    let session = stage.session_of(&[], |spec| {
        spec.skip_permissions = true;
        if root {
            let resolved = &mut spec.launcher.resolved;
            resolved.args = [&format!("--reuid={NOBODY}"), "--clear-groups", program.to_str().unwrap()]
                .map(str::to_owned)
                .into();
            resolved.program.path = "/usr/bin/setpriv".to_owned();
        }
    });
    if root {
        open_to(&stage, NOBODY);
    }
    let turn = session.completes("go");
    assert_eq!((turn.denials, turn.results), (0, 1));
    assert_eq!(session.projection().permissions, []);
    assert!(stage.stable.path("work/made").exists());
    stage.finish(&Paid::Exactly);
}

/// The folders that a child needs are another user's, and the way to them is open.
fn open_to(stage: &Stage, user: u32) {
    use std::os::unix::fs::{PermissionsExt, chown};
    let root = stage.stable.path("");
    std::fs::set_permissions(&root, std::fs::Permissions::from_mode(0o711)).unwrap();
    for name in ["user", "user/config", "tmp", "work"] {
        chown(root.join(name), Some(user), None).unwrap();
    }
}

/// As root it is refused by the CLI itself, and the turn says so.
#[test]
fn as_root_its_own_refusal_is_told() {
    if !ostler_os::limits::is_root() {
        // There is nothing to be refused; the other user's test has shown that it works.
        return assert!(!ostler_os::limits::is_root());
    }
    let stage = Stage::new("2.1.332", "otherwise\n say hi\n");
    let session = stage.session_of(&[], |spec| spec.skip_permissions = true);
    session.send("go");
    let turn = session.wait();
    assert_ne!(turn.outcome, Some(Outcome::Completed));
    let said = turn.message.unwrap_or_default();
    assert!(said.contains("root"), "{said}");
    stage.finish(&Paid::Exactly);
}
