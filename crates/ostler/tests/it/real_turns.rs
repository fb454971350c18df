//! The real CLI through whole turns: text, tools, thinking, deliveries that come early and late.

use super::real_stage::{
    MODEL, Paid, Stage, WAITING, answer_to, by_model, is_new, is_read, on_both_versions, runs, said, streams,
};
use ostler_core::ctl::Exit;
use ostler_core::rows::{DeliveryState, Outcome, SpendMethod};
use std::fs;

on_both_versions! {
    plain_text
    parallel_tools
    thinking
    a_second_send_pays_for_itself
    two_quick_sends
    a_late_delivery
    a_steer
}

fn plain_text(version: &'static str) {
    let stage = Stage::new(version, "otherwise\n say Hello, you said $text.\n");
    let session = stage.session();
    let id = session.send("one");
    let turn = session.wait();
    assert_eq!(turn.outcome, Some(Outcome::Completed), "{turn:?}");
    assert_eq!((turn.no, turn.generation, turn.results, turn.rounds), (1, 1, 1, 1));
    assert_eq!((turn.failure.clone(), turn.denials, turn.killed_tasks, turn.garbled), (None, 0, 0, false));
    assert_eq!(session.answer(), "Hello, you said one.");
    let row = session.delivery(id);
    assert_eq!((row.state, row.answer), (DeliveryState::Completed, turn.answer));
    assert_eq!(session.dead(1), (Exit::Code(0), true, 0));
    let rows = session.projection();
    let [generation] = rows.generations.as_slice() else { panic!("{rows:?}") };
    assert_eq!(generation.version, version);
    assert_eq!(generation.credential.as_deref(), Some("ANTHROPIC_API_KEY"));
    assert_eq!(
        (generation.model.as_deref(), generation.resumed, generation.garbled),
        (Some(MODEL), false, 0)
    );
    let [spend] = rows.spend.as_slice() else { panic!("{rows:?}") };
    assert_eq!((spend.model.as_str(), spend.method, spend.baseline_usd), (MODEL, SpendMethod::Reported, 0.0));
    stage.finish(&Paid::Exactly);
}

fn parallel_tools(version: &'static str) {
    let script = r#"
        otherwise
          say Two at once.
          tool Bash {"command": "echo a", "description": "a"}
          tool Bash {"command": "echo b", "description": "b"}
        then
          say The last one said $result.
    "#;
    let stage = Stage::new(version, script);
    let session = stage.session_of(&[], |spec| spec.allowed = vec!["Bash".to_owned()]);
    let turn = session.completes("go");
    assert_eq!((turn.results, turn.denials), (1, 0));
    assert_eq!(session.answer(), "The last one said b.");
    let calls = said(&session, 1);
    let calls =
        calls.iter().filter(|l| l.is("assistant") && l.json["message"]["content"][0]["type"] == "tool_use");
    assert_eq!(calls.count(), 2);
    stage.finish(&Paid::Exactly);
}

fn thinking(version: &'static str) {
    let stage = Stage::new(version, "when turn 1\n think Let me see.\n say Seen.\notherwise\n say Again.\n");
    let session = stage.session();
    session.completes("go");
    assert_eq!(session.answer(), "Seen.");
    let lines = said(&session, 1);
    assert!(lines.iter().any(|l| l.json["message"]["content"][0]["thinking"] == "Let me see."));
    session.dead(1);
    // It outlives the child: the next one sends it along.
    session.completes("more");
    assert!(stage.last_request().contains("Let me see."), "{}", stage.last_request());
    stage.finish(&Paid::Exactly);
}

/// The child's totals go on over a resume (on newer versions); a turn's own spend does not.
fn a_second_send_pays_for_itself(version: &'static str) {
    let stage = Stage::new(version, "otherwise\n say You said $text.\n");
    let session = stage.session();
    for (no, text) in [(1, "one"), (2, "two"), (3, "three")] {
        let before = stage.lab.bill().per_request.len();
        session.completes(text);
        assert_eq!(session.answer(), format!("You said {text}."));
        session.dead(no);
        let own = by_model(stage.lab.bill().per_request.split_off(before));
        let rows = session.projection();
        let spend = rows.spend.iter().find(|s| s.generation == no).unwrap();
        assert_eq!(spend.tokens, own[MODEL].0, "generation {no}");
        assert!((spend.usd.unwrap() - own[MODEL].1).abs() < 1e-9, "{spend:?}, charged {own:?}");
        let printed = session.stable.ostler.summary(session.id).unwrap().turn_usd.unwrap();
        assert!((printed - own[MODEL].1).abs() < 1e-9, "{printed}, charged {own:?}");
        let restores = is_new(version) && no > 1;
        let method = if restores { SpendMethod::RestoredDifference } else { SpendMethod::Reported };
        assert_eq!((spend.method, spend.baseline_usd > 0.0), (method, restores));
        assert_eq!((rows.generations.last().unwrap().resumed, spend.tokens.cache_read > 0), (no > 1, no > 1));
    }
    stage.finish(&Paid::Exactly);
}

fn two_quick_sends(version: &'static str) {
    let stage = Stage::new(version, "otherwise\n say You said $text.\n");
    let session = stage.session();
    let (one, two) = (session.send("one"), session.send("two"));
    let turn = session.wait();
    assert_eq!(turn.outcome, Some(Outcome::Completed), "{turn:?}");
    assert_eq!((turn.no, turn.generation, turn.results), (1, 1, 2));
    for (id, text) in [(one, "one"), (two, "two")] {
        assert_eq!(session.delivery(id).state, DeliveryState::Completed);
        assert_eq!(answer_to(&session, id), format!("You said {text}."));
    }
    stage.finish(&Paid::Exactly);
}

/// What comes while the last text streams is a turn of the model's own, behind the first result; one turn for us.
fn a_late_delivery(version: &'static str) {
    let script = r#"
        when "one"
          say First words
          pause until go
          say and the rest.
        when "two"
          say Second answer.
    "#;
    let stage = Stage::new(version, script);
    let session = stage.session();
    let one = session.send("one");
    streams(&session, 1, "words");
    let two = session.send("two");
    is_read(&session, 1, two);
    stage.lab.release("go");
    let turn = session.wait();
    assert_eq!(turn.outcome, Some(Outcome::Completed), "{turn:?}");
    assert_eq!((turn.no, turn.generation, turn.results, turn.rounds), (1, 1, 2, 2));
    for id in [one, two] {
        let row = session.delivery(id);
        assert_eq!((row.state, row.turn), (DeliveryState::Completed, 1));
    }
    assert_eq!(answer_to(&session, two), "Second answer.");
    assert_eq!(session.answer(), "Second answer.");
    stage.finish(&Paid::Exactly);
}

/// What comes while a tool runs is told with the tool's result; one result answers both.
fn a_steer(version: &'static str) {
    let script = format!(
        "when \"one\"\n tool Bash {{\"command\": \"{WAITING}\", \"description\": \"wait\"}}\nthen\n say Steered.\n"
    );
    let stage = Stage::new(version, &script);
    let session = stage.session_of(&[], |spec| spec.allowed = vec!["Bash".to_owned()]);
    let one = session.send("one");
    runs(&session);
    let two = session.send("and two");
    is_read(&session, 1, two);
    if is_new(version) {
        session.becomes(two, DeliveryState::Queued);
    }
    assert_eq!(session.status().activity.as_deref(), Some("tool Bash"));
    fs::write(stage.stable.path("work/go"), "").unwrap();
    let turn = session.wait();
    assert_eq!(turn.outcome, Some(Outcome::Completed), "{turn:?}");
    assert_eq!((turn.no, turn.results), (1, 1));
    for id in [one, two] {
        let row = session.delivery(id);
        assert_eq!((row.state, row.turn), (DeliveryState::Completed, 1));
        assert_eq!(answer_to(&session, id), "Steered.");
    }
    assert!(stage.last_request().contains("and two"), "{}", stage.last_request());
    stage.finish(&Paid::Exactly);
}
