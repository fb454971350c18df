//! What is counted over the whole database.

use super::projections::full;
use crate::fixture::{TestHome, delivery, session_id, session_row};
use ostler_core::ids::Millis;
use ostler_core::record::RecordEvent;
use ostler_core::rows::Tokens;
use ostler_store::db::Figures;

fn pairs(expected: &[(&str, u64)]) -> Vec<(String, u64)> {
    expected.iter().map(|(word, count)| ((*word).to_owned(), *count)).collect()
}

#[test]
fn an_empty_database_has_nothing_in_it() {
    assert_eq!(TestHome::new().db().figures().unwrap(), Figures::default());
}

#[test]
fn everything_is_counted_once_under_its_word() {
    let home = TestHome::new();
    let db = home.db_with(session_id(1));
    for n in 2..=4 {
        db.insert_session(&session_row(session_id(n))).unwrap();
    }
    db.move_record(session_id(3), &RecordEvent::Stops, None, Millis(1)).unwrap();
    db.move_record(session_id(4), &RecordEvent::Closes, None, Millis(1)).unwrap();
    for n in [2, 9, 10] {
        db.insert_delivery(&delivery(n, session_id(1), "hi")).unwrap();
    }
    let mut projection = full();
    projection.permissions[0].asked_at = Some(Millis(77));
    projection.turns[1].failure = Some("stalled".to_owned());
    db.commit_projection(session_id(1), &projection, None).unwrap();
    let figures = db.figures().unwrap();
    assert_eq!(figures.sessions, pairs(&[("closed", 1), ("new", 2), ("stopped", 1)]));
    assert_eq!(figures.turns, pairs(&[("running", 1), ("failed", 1)]));
    assert_eq!(figures.stalled, 1);
    assert_eq!(figures.deliveries, pairs(&[("accepted", 1), ("completed", 1), ("started", 1)]));
    assert_eq!((figures.open_permissions, figures.oldest_permission), (1, Some(Millis(77))));
    let tokens = Tokens { input: 3, output: 6, cache_read: 9, cache_write_5m: 12, cache_write_1h: 3 << 40 };
    assert_eq!(figures.tokens, tokens);
    assert!((figures.usd - 0.3).abs() < 1e-9 && figures.unpriced == 1, "{figures:?}");
    assert_eq!(figures.deaths, pairs(&[("signal", 1)]));
}
