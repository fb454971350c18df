//! A lost database: rows come back from folders.

use crate::fixture::{TestHome, record, session_file, session_id};
use ostler_core::record::{Record, State};
use ostler_store::db::SessionRow;
use ostler_store::rebuild::rebuild_session_rows;
use ostler_store::{Durability, Home, SessionFileError};

#[test]
fn session_rows_come_back_from_their_folders() {
    let home = TestHome::new();
    let db = home.db();
    for n in 1..=3 {
        let file = session_file(session_id(n));
        file.write(&home.home.session(file.id)).unwrap();
        db.insert_session(&SessionRow::of(&file)).unwrap();
    }
    let rows = [1, 2, 3].map(|n| db.session(session_id(n)).unwrap());
    let root = home.home.root().to_owned();
    drop(db);
    for name in ["ostler.db", "ostler.db-wal", "ostler.db-shm"] {
        let removed = std::fs::remove_file(root.join(name));
        assert!(removed.is_ok() || name != "ostler.db");
    }
    let fresh = Home::open(&root).unwrap();
    let db = fresh.db(Durability::Full).unwrap();
    assert_eq!(db.session(session_id(1)).unwrap(), None);
    let rebuilt = rebuild_session_rows(&fresh, &db).unwrap();
    assert_eq!(rebuilt.inserted, [1, 2, 3].map(session_id));
    assert_eq!([1, 2, 3].map(|n| db.session(session_id(n)).unwrap()), rows);
    assert!(db.session(session_id(1)).unwrap().unwrap().record == Record::default());
}

#[test]
fn rows_that_exist_are_kept_and_folders_that_say_nothing_are_named() {
    let home = TestHome::new();
    let db = home.db();
    let (kept, damaged, empty) = (session_file(session_id(1)), session_id(2), session_id(3));
    kept.write(&home.home.session(kept.id)).unwrap();
    db.insert_session(&SessionRow::of(&kept)).unwrap();
    db.set_record(kept.id, 0, &record(State::Idle)).unwrap();
    for id in [damaged, empty] {
        std::fs::create_dir(home.home.session(id).path).unwrap();
    }
    std::fs::write(home.home.session(damaged).session_json(), "{").unwrap();
    let rebuilt = rebuild_session_rows(&home.home, &db).unwrap();
    assert!(rebuilt.inserted.is_empty());
    assert_eq!(rebuilt.kept, 1);
    assert_eq!(db.record(kept.id).unwrap(), (record(State::Idle), 1));
    let why: Vec<_> = rebuilt.unreadable.iter().map(|(path, error)| (path.clone(), error)).collect();
    assert_eq!(why[0].0, home.home.session(damaged).path);
    assert!(matches!(why[0].1, SessionFileError::Damaged { .. }));
    assert_eq!(why[1].0, home.home.session(empty).path);
    assert!(matches!(why[1].1, SessionFileError::Io { .. }));
}
