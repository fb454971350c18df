//! Which places may be gone back to, and which are refused.

use super::{drain, read_all, short};
use crate::fixture::{TestSession, append, line, note};
use ostler_store::{Cursor, CursorError, Journal, JournalError};

fn refusal(session: &TestSession, text: &str) -> CursorError {
    let cursor = text.parse().unwrap();
    match Journal::open(&session.dir).read_from(cursor) {
        Err(JournalError::Cursor(error)) => error,
        other => panic!("{text}: {other:?}"),
    }
}

fn behind(session: &TestSession, text: &str) -> Vec<String> {
    let cursor = text.parse().unwrap();
    short(&drain(&mut Journal::open(&session.dir).read_from(cursor).unwrap()))
}

fn session() -> TestSession {
    let session = TestSession::with_generations(&[0, 1, 2]);
    session.ctl(0, line(&note(0, "0")));
    session.out(1, "ab\ncd\ntail");
    session.ctl(1, line(&note(3, "1")));
    session.out(2, "ef\ngh");
    session
}

#[test]
fn cursors_have_one_spelling() {
    for text in ["0.0.0", "3.1048576.2048", "4294967295.18446744073709551615.1"] {
        assert_eq!(text.parse::<Cursor>().unwrap().to_string(), text);
    }
    for text in
        ["", "1", "1.2", "1.2.3.4", "1.2.-3", "+1.2.3", "1.02.3", "1. 2.3", "1.2.x", "4294967296.0.0", "1..2"]
    {
        assert!(matches!(text.parse::<Cursor>(), Err(CursorError::Malformed { .. })), "{text:?}");
    }
    let long = "9".repeat(10_000);
    assert!(long.parse::<Cursor>().unwrap_err().to_string().len() < 200);
}

#[test]
fn every_line_end_is_a_place() {
    let session = session();
    let row = line(&note(0, "0")).len();
    assert_eq!(
        short(&read_all(&session.dir)),
        ["0!0", "g1", "1:ab", "1!1", "1:cd", "1:tail 6+4", "g2", "2:ef"]
    );
    assert_eq!(behind(&session, "0.0.0").len(), 8);
    assert_eq!(behind(&session, &format!("0.0.{row}"))[0], "g1");
    assert_eq!(behind(&session, "1.0.0")[0], "1:ab");
    assert_eq!(behind(&session, "1.3.0")[0], "1!1");
    assert_eq!(behind(&session, &format!("1.3.{row}"))[0], "1:cd");
    assert_eq!(behind(&session, &format!("1.6.{row}"))[0], "1:tail 6+4");
    assert_eq!(behind(&session, &format!("1.10.{row}"))[0], "g2", "behind the tail");
    assert_eq!(behind(&session, &format!("0.1.{row}"))[0], "g2", "behind generation 1");
    assert!(behind(&session, "2.3.0").is_empty());
}

#[test]
fn other_places_are_refused_with_a_sentence() {
    let session = session();
    assert!(matches!(refusal(&session, "1.1.0"), CursorError::InsideLine { .. }));
    assert!(matches!(refusal(&session, "1.3.7"), CursorError::InsideLine { .. }));
    assert!(matches!(refusal(&session, "0.0.7"), CursorError::InsideLine { .. }));
    assert!(matches!(refusal(&session, "1.8.0"), CursorError::InsideLine { .. }), "inside the tail");
    assert!(matches!(refusal(&session, "2.5.0"), CursorError::InsideLine { .. }), "that line may still grow");
    assert!(matches!(refusal(&session, "1.11.0"), CursorError::BehindEnd { len: 10, .. }));
    assert!(matches!(refusal(&session, "2.0.9"), CursorError::BehindEnd { len: 0, .. }));
    assert!(matches!(refusal(&session, "3.0.0"), CursorError::NoGeneration { .. }));
    assert!(matches!(refusal(&session, "0.3.0"), CursorError::NoGeneration { .. }));
    assert!(matches!(refusal(&session, "0.4294967296.0"), CursorError::NoGeneration { .. }));
    assert_eq!(
        refusal(&session, "3.0.0").to_string(),
        "cursor 3.0.0 names a generation that this session does not have; start without a cursor"
    );
}

#[test]
fn the_end_of_a_line_that_was_never_finished_becomes_a_place_when_its_child_is_dead() {
    let session = session();
    refusal(&session, "2.5.0");
    append(&session.dir.generation(2).exit(), b"{}");
    assert!(behind(&session, "2.5.0").is_empty());
    assert_eq!(behind(&session, "2.3.0"), ["2:tail 3+2"]);
}
