//! `/clear` makes a new conversation of the same session.

use super::real_stage::{Paid, Stage, on_both_versions};
use ostler_core::ids::ConversationId;
use ostler_core::rows::Outcome;

on_both_versions! {
    a_cleared_session_goes_on_in_a_new_conversation
    a_resident_child_is_cleared
}

const SCRIPT: &str = "otherwise\n say You said $text.\n";

fn a_cleared_session_goes_on_in_a_new_conversation(version: &'static str) {
    let stage = Stage::new(version, SCRIPT);
    let session = stage.session();
    let now = || stage.stable.ostler.db().session(session.id).unwrap().unwrap().conversation;
    session.completes("apple");
    session.dead(1);
    assert_eq!(now(), ConversationId(session.id.0));
    session.send("/clear");
    let turn = session.wait();
    assert_eq!(turn.outcome, Some(Outcome::Completed), "{turn:?}");
    session.dead(2);
    let cleared = now();
    assert_ne!(cleared, ConversationId(session.id.0));
    session.completes("pear");
    session.dead(3);
    assert!(!stage.last_request().contains("apple"), "{}", stage.last_request());
    session.completes("plum");
    session.dead(4);
    assert!(stage.last_request().contains("pear"), "{}", stage.last_request());
    assert!(!stage.last_request().contains("apple"), "{}", stage.last_request());
    let rows = session.projection();
    let of = |no: usize| (rows.generations[no - 1].conversation, rows.generations[no - 1].resumed);
    assert_eq!((of(2).1, of(4)), (true, (now(), true)), "{rows:#?}");
    stage.finish(&Paid::Exactly);
}

/// All in one process: its totals begin again on newer versions, and go on on older ones.
fn a_resident_child_is_cleared(version: &'static str) {
    let stage = Stage::new(version, SCRIPT);
    let session = stage.session_of(&[], |spec| spec.limits.linger = 600_000);
    session.completes("apple");
    session.send("/clear");
    assert_eq!(session.wait().outcome, Some(Outcome::Completed));
    session.completes("pear");
    assert_eq!(session.projection().generations.len(), 1);
    assert!(!stage.last_request().contains("apple"), "{}", stage.last_request());
    stage.stable.ostler.stop(session.id).unwrap();
    stage.stable.ostler.resume(session.id).unwrap();
    session.completes("plum");
    assert!(stage.last_request().contains("pear"), "{}", stage.last_request());
    assert!(!stage.last_request().contains("apple"), "{}", stage.last_request());
    stage.stable.ostler.stop(session.id).unwrap();
    assert_eq!(session.projection().generations.len(), 2);
    stage.finish(&Paid::Exactly);
}
