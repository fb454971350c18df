//! A look at the files instead of a query.

use crate::fixture::{TestHome, delivery, session_id};
use ostler_store::Db;
use std::fs::File;
use std::time::{Duration, SystemTime};

/// As if the last write were long ago.
fn age(db: &Db, by: Duration) {
    let log = db.path().with_file_name("ostler.db-wal");
    for path in [db.path(), &log] {
        File::options().write(true).open(path).unwrap().set_modified(SystemTime::now() - by).unwrap();
    }
}

#[test]
fn a_write_of_anybody_shows() {
    let home = TestHome::new();
    let id = session_id(1);
    let (db, other) = (home.db_with(id), home.db());
    let mut glance = db.glance();
    for n in 1..50 {
        age(&db, Duration::from_secs(u64::try_from(n).unwrap() + 3));
        assert!(glance.changed(), "the first look, and one behind a write");
        assert!(!glance.changed(), "nobody wrote");
        let writer = if n % 2 == 0 { &db } else { &other };
        writer.insert_delivery(&delivery(n, id, "text".to_owned())).unwrap();
        assert!(glance.changed(), "write {n}");
    }
}

#[test]
fn what_was_written_just_now_proves_nothing() {
    let home = TestHome::new();
    let db = home.db_with(session_id(1));
    let mut glance = db.glance();
    age(&db, Duration::ZERO);
    assert!(glance.changed() && glance.changed(), "another write in the same tick would look the same");
    // A clock that was set back.
    let ahead = SystemTime::now() + Duration::from_secs(3600);
    File::options().write(true).open(db.path()).unwrap().set_modified(ahead).unwrap();
    assert!(glance.changed() && glance.changed());
}

#[test]
fn a_checkpoint_shows_as_a_change() {
    let home = TestHome::new();
    let id = session_id(1);
    let db = home.db_with(id);
    let mut glance = db.glance();
    age(&db, Duration::from_secs(5));
    assert!(glance.changed() && !glance.changed());
    db.insert_delivery(&delivery(1, id, "text".to_owned())).unwrap();
    let raw = rusqlite::Connection::open(db.path()).unwrap();
    raw.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    assert!(glance.changed());
}
