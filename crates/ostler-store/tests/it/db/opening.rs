//! Opening a database: fresh, old, newer, damaged, busy, in use by many.

use crate::fixture::{TestHome, delivery, session_id, session_row};
use ostler_store::{Db, DbError, Durability, Home, HomeError};
use rusqlite::Connection;
use std::os::unix::fs::PermissionsExt;

fn raw(home: &TestHome) -> Connection {
    Connection::open(home.home.db_path()).unwrap()
}

#[test]
fn its_files_are_for_their_owner_only() {
    let home = TestHome::new();
    let _db = home.db();
    for name in ["ostler.db", "ostler.db-wal", "ostler.db-shm"] {
        let mode = std::fs::metadata(home.home.root().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn it_is_a_write_ahead_log_with_the_promised_sync() {
    let home = TestHome::new();
    let db = home.db();
    let mode: String = raw(&home).query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
    assert_eq!(db.path(), home.home.db_path());
}

#[test]
fn a_newer_one_is_refused_only_if_it_says_so() {
    let home = TestHome::new();
    drop(home.db());
    let number = || raw(&home).query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0)).unwrap();
    let known = number();
    let (newer, needed) = (known + 4, known + 2);
    let set = |lowest: i64| {
        let raw = raw(&home);
        raw.pragma_update(None, "user_version", newer).unwrap();
        raw.execute("UPDATE meta SET value = ?1 WHERE name = 'lowest_reader'", [lowest]).unwrap();
    };
    set(1);
    let db = Db::open(home.home.root(), Durability::Full).unwrap();
    db.insert_session(&session_row(session_id(1))).unwrap();
    set(needed);
    let refused = Home::open(home.home.root()).unwrap_err();
    let HomeError::Db(DbError::Newer { found, lowest_reader, ours, .. }) = &refused else {
        panic!("{refused:?}")
    };
    assert_eq!((*found, *lowest_reader, *ours), (newer, needed, known));
    let path = home.home.db_path();
    assert_eq!(
        refused.to_string(),
        format!(
            "{} was written by a newer ostler (schema {newer}; this one knows up to {known}, and readers must know {needed}); upgrade ostler",
            path.display()
        )
    );
    assert_eq!(number(), newer, "it is left as it was");
}

#[test]
fn a_damaged_one_is_refused_with_the_way_out() {
    let home = TestHome::new();
    drop(home.db());
    let path = home.home.db_path();
    let damage: [&dyn Fn(); 2] = [
        &|| std::fs::write(&path, "this is not a database, whatever its name says. ".repeat(200)).unwrap(),
        &|| {
            let mut bytes = std::fs::read(&path).unwrap();
            bytes.iter_mut().skip(100).take(4000).for_each(|byte| *byte = 0xa5);
            std::fs::write(&path, bytes).unwrap();
        },
    ];
    let good = std::fs::read(&path).unwrap();
    for damage in damage {
        std::fs::write(&path, &good).unwrap();
        damage();
        let refused = Home::open(home.home.root())
            .and_then(|home| Ok(home.db(Durability::Full)?.session(session_id(1)).map(|_| ())?));
        let Err(HomeError::Db(error @ DbError::Corrupt { .. })) = refused else { panic!("{refused:?}") };
        assert_eq!(
            error.to_string(),
            format!(
                "{} is damaged; move it away and run `ostler doctor rebuild`: session folders and journals hold what is needed",
                path.display()
            )
        );
    }
}

#[test]
fn many_may_create_it_at_once() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("home");
    let threads: Vec<_> = (0..8)
        .map(|n| {
            let path = path.clone();
            std::thread::spawn(move || {
                let db = Home::open(&path).unwrap().db(Durability::Normal).unwrap();
                db.insert_session(&session_row(session_id(n))).unwrap();
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let db = Home::open(&path).unwrap().db(Durability::Full).unwrap();
    assert!((0..8).all(|n| db.session(session_id(n)).unwrap().is_some()));
}

#[test]
fn readers_do_not_wait_for_a_writer() {
    let home = TestHome::new();
    let db = home.db_with(session_id(1));
    let writer = raw(&home);
    writer.execute_batch("BEGIN IMMEDIATE; UPDATE session SET host = 'x'").unwrap();
    assert_eq!(db.session(session_id(1)).unwrap().unwrap().host, "here");
    let _another = Db::open(home.home.root(), Durability::Full).unwrap();
    writer.execute_batch("ROLLBACK").unwrap();
}

#[test]
fn a_writer_that_waits_too_long_says_so() {
    let home = TestHome::new();
    let db = home.db_with(session_id(1)).with_patience(std::time::Duration::from_millis(30)).unwrap();
    let writer = raw(&home);
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let start = std::time::Instant::now();
    let busy = db.insert_delivery(&delivery(1, session_id(1), "x")).unwrap_err();
    assert!(start.elapsed() < std::time::Duration::from_secs(2), "waited {:?}", start.elapsed());
    assert_eq!(
        busy.to_string(),
        format!("{} was locked by another process for 30 ms; try again", home.home.db_path().display())
    );
    writer.execute_batch("ROLLBACK").unwrap();
    db.insert_delivery(&delivery(1, session_id(1), "x")).unwrap();
}

#[test]
fn what_a_newer_writer_stored_is_named_when_it_cannot_be_read() {
    let home = TestHome::new();
    let id = session_id(1);
    let db = home.db_with(id);
    db.insert_delivery(&delivery(1, id, "x")).unwrap();
    raw(&home).execute("UPDATE delivery SET state = 'teleported'", []).unwrap();
    let error = db.deliveries(id).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "{} holds \"teleported\" for DeliveryState, which this ostler does not know; upgrade ostler",
            home.home.db_path().display()
        )
    );
}
