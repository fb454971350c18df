//! What follows when a message was cut off: it is shown, or ostler asks the model to go on.

use super::stable::{Session, Stable, kill, until};
use ostler_core::ids::DeliveryId;
use ostler_core::rows::{DeliveryState, Outcome};
use ostler_core::spec::{LaunchSpec, OnCut};
use ostler_store::db::DeliveryRow;

const BUSY: &str = "otherwise\n tool Bash {}\n until never\n then\n say done\n";

fn goes_on(spec: &mut LaunchSpec) {
    spec.on_cut = OnCut::Continue;
}

/// Kills the child as soon as the transcript has `calls` tool calls: its messages are known to the next one.
#[track_caller]
fn cut_off(session: &Session<'_>, calls: usize) {
    let projects = session.stable.path("user").join(".claude/projects");
    until("the tool call to be in the transcript", || {
        let name = format!("{}.jsonl", session.id);
        let folders = std::fs::read_dir(&projects).into_iter().flatten().flatten();
        let mut texts = folders.filter_map(|f| std::fs::read_to_string(f.path().join(&name)).ok());
        texts.any(|text| text.matches("\"tool_use\"").count() >= calls).then_some(())
    });
    kill(session.child());
}

#[track_caller]
fn deliveries(session: &Session<'_>) -> Vec<DeliveryRow> {
    session.stable.ostler.db().deliveries(session.id).unwrap()
}

#[test]
fn a_message_that_was_cut_off_is_continued_by_one_of_ostlers_own() {
    let stable = Stable::new();
    let session = stable.session_of(BUSY, goes_on);
    let id = session.send("work");
    cut_off(&session, 1);
    session.script("otherwise\n say went on\n");
    let turn = session.wait();
    assert_eq!(turn.outcome, Some(Outcome::Completed), "{turn:?}");
    assert_eq!(session.answer(), "went on");
    let [first, own] = &deliveries(&session)[..] else { panic!("{:?}", deliveries(&session)) };
    assert_eq!((first.id, first.state, first.continues), (id, DeliveryState::Cut, None));
    assert_eq!((own.state, own.continues), (DeliveryState::Completed, Some(id)));
    let body = stable.ostler.db().delivery_body(own.id).unwrap();
    let text: String = serde_json::from_slice(&body).unwrap();
    assert!(text.starts_with("[ostler] This message comes from ostler"), "{text}");
    assert_eq!(session.offers(own.id), 1);
    stable.finish();
}

#[test]
fn it_is_only_shown_where_nothing_else_was_said() {
    let stable = Stable::new();
    let session = stable.session(BUSY);
    session.send("work");
    cut_off(&session, 1);
    session.script("otherwise\n say went on\n");
    assert_eq!(session.wait().outcome, Some(Outcome::Unfinished));
    assert_eq!(deliveries(&session).len(), 1);
    stable.finish();
}

#[test]
fn two_continuations_in_a_row_are_the_most() {
    let stable = Stable::new();
    let session = stable.session_of(BUSY, goes_on);
    session.send("work");
    let mut known: Vec<DeliveryId> = Vec::new();
    for round in 1..=3 {
        let latest = until("the next message", || {
            let all = deliveries(&session);
            (all.len() == round).then(|| all[round - 1].id)
        });
        assert!(!known.contains(&latest));
        known.push(latest);
        cut_off(&session, round);
    }
    assert_eq!(session.wait().outcome, Some(Outcome::Unfinished));
    let all = deliveries(&session);
    let chain: Vec<_> = all.iter().map(|d| (d.state, d.continues)).collect();
    let cut = DeliveryState::Cut;
    assert_eq!(chain, [(cut, None), (cut, Some(known[0])), (cut, Some(known[1]))]);
    // A person's next message has continuations of its own again.
    session.script("otherwise\n say again\n");
    session.completes("once more");
    stable.finish();
}

#[test]
fn a_controller_that_is_killed_over_it_makes_no_second_one() {
    for point in ["before-settled", "continued", "settled-written"] {
        let once = tempfile::tempdir().unwrap();
        let file = once.path().join("died");
        let stable =
            Stable::with(&[("OSTLER_CRASH_AT", point), ("OSTLER_CRASH_ONCE", file.to_str().unwrap())]);
        let session = stable.session_of(BUSY, goes_on);
        session.send("work");
        cut_off(&session, 1);
        session.script("otherwise\n say went on\n");
        let turn = session.wait();
        assert_eq!(turn.outcome, Some(Outcome::Completed), "{point}: {turn:?}");
        let all = deliveries(&session);
        assert_eq!(all.len(), 2, "{point}: {all:?}");
        assert_eq!(session.offers(all[1].id), 1, "{point}");
        assert!(file.exists(), "{point}");
        stable.finish();
    }
}
