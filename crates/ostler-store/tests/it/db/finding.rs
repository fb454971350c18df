//! Finding the session that a person means.

use crate::fixture::{TestHome, session_row};
use ostler_core::ids::{Millis, SessionId};
use ostler_store::Db;
use ostler_store::db::{FindError, SessionRow};

const IDS: [&str; 4] = [
    "0a1b2c3d-0000-4000-8000-000000000001",
    "0a1b2c3e-0000-4000-8000-000000000002",
    "ff000000-0000-4000-8000-000000000003",
    "ffffffff-ffff-4fff-bfff-ffffffffffff",
];

fn id(n: usize) -> SessionId {
    IDS[n].parse().unwrap()
}

fn store() -> (TestHome, Db) {
    let home = TestHome::new();
    let db = home.db();
    let labels = [Some("review"), Some("review"), Some("0a1b"), Some("beef")];
    for (n, label) in labels.into_iter().enumerate() {
        let created_at = Millis(n as i64);
        let row = SessionRow { label: label.map(str::to_owned), created_at, ..session_row(id(n)) };
        db.insert_session(&row).unwrap();
    }
    (home, db)
}

#[test]
fn an_id_or_a_beginning_of_one_is_enough() {
    let (_home, db) = store();
    for (n, text) in IDS.iter().enumerate() {
        assert_eq!(db.find_session(text).unwrap().id, id(n));
        assert_eq!(db.find_session(&text[..8].to_uppercase()).unwrap().id, id(n));
    }
    assert_eq!(db.find_session("ff0").unwrap().id, id(2));
    assert_eq!(db.find_session("fff").unwrap().id, id(3));
}

#[test]
fn a_label_is_enough_when_only_one_has_it() {
    let (_home, db) = store();
    assert_eq!(db.find_session("beef").unwrap().id, id(3));
    assert!(matches!(db.find_session("bee"), Err(FindError::NotFound { .. })), "a label is no prefix");
}

#[test]
fn what_fits_several_is_refused_with_the_candidates_newest_first() {
    let (_home, db) = store();
    let candidates = |name: &str| match db.find_session(name) {
        Err(FindError::Ambiguous { candidates, .. }) => {
            candidates.into_iter().map(|(id, _)| id).collect::<Vec<_>>()
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(candidates("review"), [id(1), id(0)]);
    assert_eq!(candidates("f"), [id(3), id(2)]);
    assert_eq!(candidates("0a1b"), [id(2), id(1), id(0)], "a label of one is the beginning of two others");
    assert_eq!(
        db.find_session("0a1b2c3").unwrap_err().to_string(),
        format!(
            "\"0a1b2c3\" means several sessions: {} (review), {} (review); give more of the id",
            IDS[1], IDS[0]
        )
    );
}

#[test]
fn what_fits_none_is_refused() {
    let (_home, db) = store();
    for name in
        ["", "0a1b2c3f", "%", "_", "'; DROP TABLE session", "nobody", "0a1b2c3d-0000-4000-8000-0000000000010"]
    {
        let found = db.find_session(name);
        assert!(matches!(found, Err(FindError::NotFound { .. })), "{name:?}: {found:?}");
    }
}

#[test]
fn candidates_are_bounded() {
    let home = TestHome::new();
    let db = home.db();
    (0..50).for_each(|n| db.insert_session(&session_row(crate::fixture::session_id(n))).unwrap());
    match db.find_session("0") {
        Err(FindError::Ambiguous { candidates, .. }) => assert_eq!(candidates.len(), 20),
        other => panic!("{other:?}"),
    }
}
