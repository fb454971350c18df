//! The feed of changes.

use crate::fixture::{TestHome, delivery, session_id, session_row};
use ostler_core::record::Record;
use ostler_store::db::{Change, ChangePage};

#[test]
fn every_kind_of_change_is_told_in_order() {
    let home = TestHome::new();
    let id = session_id(1);
    let db = home.db();
    assert_eq!(db.last_change_seq().unwrap(), 0);
    assert_eq!(db.changes_after(0, 10).unwrap(), ChangePage { changes: Vec::new(), reset: false });
    db.insert_session(&session_row(id)).unwrap();
    db.insert_delivery(&delivery(1, id, "x")).unwrap();
    db.set_record(id, 0, &Record::default()).unwrap();
    let expected: Vec<Change> = (1..)
        .zip(["session", "delivery", "record"])
        .map(|(seq, kind)| Change { seq, session: id, kind: kind.to_owned() })
        .collect();
    assert_eq!(db.changes_after(0, 10).unwrap().changes, expected);
    assert_eq!(db.changes_after(0, 2).unwrap().changes, expected[..2]);
    assert_eq!(db.changes_after(2, 10).unwrap().changes, expected[2..]);
    assert_eq!(db.last_change_seq().unwrap(), 3);
    assert!(db.changes_after(4, 10).unwrap().reset, "a place that this database never had");
}

#[test]
fn the_feed_is_bounded_and_says_what_it_no_longer_has() {
    let home = TestHome::new();
    let id = session_id(1);
    let db = home.db_with(id);
    // As if nearly all of what is kept had been written already.
    let path = db.path().to_owned();
    let raw = rusqlite::Connection::open(path).unwrap();
    raw.execute("INSERT INTO change (seq, session, kind) VALUES (100999, ?1, 'turn')", [id.to_string()])
        .unwrap();
    db.set_record(id, 0, &Record::default()).unwrap();
    assert_eq!(db.last_change_seq().unwrap(), 101_000);
    let page = db.changes_after(1, 10).unwrap();
    assert!(page.reset && page.changes.is_empty());
    let kept = db.changes_after(100_998, 10).unwrap();
    assert_eq!((kept.reset, kept.changes.len()), (false, 2));
}
