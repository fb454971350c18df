//! The real agent declares where its session stands, from its own shell tool; and its clean-up of old transcripts.

use super::engine::stable::until;
use super::real_stage::{Paid, Stage, is_new, on_both_versions};
use ostler_core::record::{Declaration, State};

on_both_versions! {
    an_agent_declares_and_the_next_message_wakes_a_new_generation
    a_subagent_declares_nothing
    a_transcript_that_its_own_clean_up_deletes_is_linked_back
}

const DECLARES: &str = r#"
    when "one"
      tool Bash {"command": "\"$OSTLER\" declare review --note 'look at it'", "description": "declare"}
    then
      say Declared.
    otherwise
      say You said $text.
"#;

fn an_agent_declares_and_the_next_message_wakes_a_new_generation(version: &'static str) {
    let stage = Stage::new(version, DECLARES);
    let session = stage.session_of(&[], |spec| {
        spec.allowed = vec!["Bash".to_owned()];
        // It would be fed into the same process otherwise.
        spec.limits.linger = 60_000;
    });
    session.completes("one");
    let note = Some("look at it".to_owned());
    let declared = State::Declared { kind: Declaration::Review, note, turn: 1 };
    let state = || stage.stable.ostler.db().record(session.id).unwrap().0.state;
    assert_eq!(state(), declared, "{}", stage.last_request());
    let turn = session.completes("two");
    assert_eq!((turn.generation, session.answer().as_str()), (2, "You said two."));
    assert!(stage.last_request().contains("Declared."), "the conversation goes on");
    assert_eq!(state(), State::Idle);
    stage.stable.ostler.stop(session.id).unwrap();
    stage.finish(&Paid::Exactly);
}

const DELEGATES: &str = r#"
    when "one"
      tool $AGENT {"description": "speak", "prompt": "speak for me", "subagent_type": "general-purpose", "run_in_background": false}
    then
      say All done.
    when "speak for me"
      tool Bash {"command": "\"$OSTLER\" declare done; echo status $?", "description": "declare"}
    then
      say It said so.
"#;

fn a_subagent_declares_nothing(version: &'static str) {
    let tool = if is_new(version) { "Agent" } else { "Task" };
    let stage = Stage::new(version, &DELEGATES.replace("$AGENT", tool));
    let session = stage.session_of(&[], |spec| spec.allowed = vec!["Bash".to_owned()]);
    session.completes("one");
    let asked: Vec<String> = stage.lab.requests().iter().map(|r| r.json()["messages"].to_string()).collect();
    let refused = asked.iter().any(|text| text.contains("a subagent says so") && text.contains("status 8"));
    assert!(refused, "{asked:#?}");
    assert_eq!(stage.stable.ostler.db().record(session.id).unwrap().0.state, State::Idle);
    stage.finish(&Paid::Exactly);
}

/// Any run of the CLI on the same configuration deletes what is older than 30 days.
fn a_transcript_that_its_own_clean_up_deletes_is_linked_back(version: &'static str) {
    let stage = Stage::new(version, "otherwise\n say You said $text.\n");
    let session = stage.session();
    session.completes("one");
    stage.stable.is_left();
    let name = format!("{}.jsonl", session.id);
    let folders = std::fs::read_dir(stage.stable.path("user/config/projects")).unwrap();
    let mut all = folders.map(|folder| folder.unwrap().path().join(&name));
    let original = all.find(|path| path.exists()).expect("a transcript");
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(40 * 86_400);
    std::fs::File::options().append(true).open(&original).unwrap().set_modified(old).unwrap();
    let other = stage.session_of(&[], |spec| spec.limits.linger = 60_000);
    other.completes("other");
    until("the clean-up", || (!original.exists()).then_some(()));
    stage.stable.ostler.stop(other.id).unwrap();
    let turn = session.completes("two");
    assert_eq!((turn.generation, session.answer().as_str()), (2, "You said two."));
    assert!(stage.last_request().contains("You said one."), "the conversation goes on");
    assert!(original.exists());
    stage.finish(&Paid::Exactly);
}
