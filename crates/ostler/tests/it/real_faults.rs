//! The API refuses, fails, breaks off, or the turn runs into a limit: what the real CLI makes of it, and what people
//! are told.

use super::engine::stable::{Session, until};
use super::real_stage::{Paid, Stage, is_new, on_both_versions, said, streams};
use ostler_core::ctl::Exit;
use ostler_core::rows::{DeliveryState, Outcome, Turn};

on_both_versions! {
    status_400
    the_same_400_twice
    status_401
    status_429_for_a_second
    status_429_for_an_hour
    status_529
    a_cut_stream
    a_stream_that_is_cut_before_any_text
    too_many_rounds
    a_spent_budget
    an_unknown_model
}

/// A turn that fails for what the API said.
#[track_caller]
fn fails(session: &Session<'_>, text: &str, kind: &str, words: &[&str]) -> Turn {
    let id = session.send(text);
    let turn = session.wait();
    assert_eq!((turn.outcome, turn.failure.as_deref()), (Some(Outcome::Failed), Some(kind)), "{turn:?}");
    let message = turn.message.clone().unwrap_or_default();
    assert!(words.iter().all(|word| message.contains(word)), "{message:?}");
    assert_eq!(session.delivery(id).state, DeliveryState::Failed);
    // The status only repeats what the result said.
    let (exit, proven, _) = session.dead(turn.generation);
    assert_eq!((exit, proven), (Exit::Code(1), true));
    let turn = session.projection().turns.pop().unwrap();
    assert!(!turn.unclean, "{turn:?}");
    turn
}

fn retries(session: &Session<'_>) -> Vec<u64> {
    let lines = said(session, 1);
    let retries = lines.iter().filter(|l| l.json["subtype"] == "api_retry");
    retries.map(|l| l.json["error_status"].as_u64().unwrap()).collect()
}

/// An errored session is online: its next delivery is a new attempt.
fn status_400(version: &'static str) {
    let script = "when \"bad\"\n status 400 \"This is not a prompt.\"\notherwise\n say Fine.\n";
    let stage = Stage::new(version, script);
    let session = stage.session();
    let turn = fails(&session, "bad", "api_error", &["400", "This is not a prompt."]);
    assert_eq!(turn.results, 1);
    let turn = session.completes("good");
    assert_eq!((turn.no, turn.generation), (2, 2));
    assert_eq!(session.answer(), "Fine.");
    assert_eq!(session.dead(2).0, Exit::Code(0));
    stage.finish(&Paid::Exactly);
}

/// The second generation is refused as the first one was: nothing is tried by itself any more, a message is.
fn the_same_400_twice(version: &'static str) {
    let script = "when \"mended\"\n say Fine.\notherwise\n status 400 \"messages.1: a block is missing\"\n";
    let stage = Stage::new(version, script);
    let session = stage.session();
    fails(&session, "go", "api_error", &["400"]);
    assert_eq!(session.status().parked, None);
    fails(&session, "go on", "api_error", &["400"]);
    let parked = until("the park", || session.status().parked);
    assert!(parked.starts_with("poisoned transcript"), "{parked:?}");
    session.completes("mended");
    stage.finish(&Paid::Exactly);
}

fn status_401(version: &'static str) {
    let stage = Stage::new(version, "otherwise\n status 401 \"The key is not valid.\"\n");
    let session = stage.session_of(&[("CLAUDE_CODE_MAX_RETRIES", "1")], |_| {});
    fails(&session, "go", "authentication", &["401", "The key is not valid."]);
    stage.finish(&Paid::Exactly);
}

fn status_429_for_a_second(version: &'static str) {
    let stage = Stage::new(version, "otherwise\n status 429 retry-after 1\nretry\n say At last.\n");
    let session = stage.session();
    let turn = session.completes("go");
    assert_eq!((turn.results, session.answer().as_str()), (1, "At last."));
    assert_eq!(retries(&session), [429]);
    stage.finish(&Paid::Exactly);
}

/// Nothing waits for an hour: the turn fails at once.
fn status_429_for_an_hour(version: &'static str) {
    let stage = Stage::new(version, "otherwise\n status 429 retry-after 3600 \"Too many for now.\"\n");
    let session = stage.session_of(&[], |spec| spec.on_limit = ostler_core::spec::OnLimit::Show);
    fails(&session, "go", "rate_limit", &["Too many for now."]);
    stage.finish(&Paid::Exactly);
}

fn status_529(version: &'static str) {
    let stage = Stage::new(version, "otherwise\n status 529\nretry\n say At last.\n");
    let session = stage.session();
    session.completes("go");
    assert_eq!(session.answer(), "At last.");
    assert_eq!(retries(&session), [529]);
    stage.finish(&Paid::Exactly);
}

/// A newer CLI asks again, an older one ends the turn with an error: it has seen a part of the answer.
fn a_cut_stream(version: &'static str) {
    let script = "otherwise\n say half of a sen\n pause until cut\n cut\nretry\n say The whole sentence.\n";
    let stage = Stage::new(version, script);
    let session = stage.session();
    let id = session.send("go");
    streams(&session, 1, "half");
    stage.lab.release("cut");
    let turn = session.wait();
    if is_new(version) {
        assert_eq!((turn.outcome, turn.results), (Some(Outcome::Completed), 1), "{turn:?}");
        assert_eq!(session.answer(), "The whole sentence.");
        let why = "2.1.332 counts what it has received of the answer that broke off, by a guess of its own";
        stage.finish(&Paid::OutputGuessed(why));
    } else {
        let failed = (Some(Outcome::Failed), Some("api_error"));
        assert_eq!((turn.outcome, turn.failure.as_deref()), failed, "{turn:?}");
        assert_eq!(session.delivery(id).state, DeliveryState::Failed);
        stage.finish(&Paid::Exactly);
    }
}

/// Both ask again.
fn a_stream_that_is_cut_before_any_text(version: &'static str) {
    let stage = Stage::new(version, "otherwise\n cut\nretry\n say The whole sentence.\n");
    let session = stage.session();
    session.completes("go");
    assert_eq!(session.answer(), "The whole sentence.");
    let why = "2.1.332 forgets an answer that broke off before it said anything";
    let paid = if is_new(version) { Paid::Without(why, |charge| !charge.complete) } else { Paid::Exactly };
    stage.finish(&paid);
}

fn too_many_rounds(version: &'static str) {
    let script = "otherwise\n tool Bash {\"command\": \"true\", \"description\": \"d\"}\n repeat\n";
    let stage = Stage::new(version, script);
    let session = stage.session_of(&[], |spec| {
        spec.allowed = vec!["Bash".to_owned()];
        spec.max_turns = Some(2);
    });
    let turn = fails(&session, "go", "max_turns", &["2"]);
    assert_eq!(turn.results, 1);
    stage.finish(&Paid::Exactly);
}

fn a_spent_budget(version: &'static str) {
    let script = "otherwise\n tool Bash {\"command\": \"true\", \"description\": \"d\"}\n repeat\n";
    let stage = Stage::new(version, script);
    let session = stage.session_of(&[], |spec| {
        spec.allowed = vec!["Bash".to_owned()];
        spec.max_budget_usd = Some(0.0001);
    });
    let turn = fails(&session, "go", "max_budget", &["0.0001"]);
    assert_eq!(turn.results, 1);
    stage.finish(&Paid::Exactly);
}

/// The CLI does not refuse it; the API does.
fn an_unknown_model(version: &'static str) {
    let stage = Stage::new(version, "otherwise\n say Never said.\n");
    let session = stage.session_of(&[], |spec| spec.model = "claude-nonsense-9".to_owned());
    fails(&session, "go", "api_error", &["claude-nonsense-9"]);
    stage.finish(&Paid::Exactly);
}
