//! Bases: a name means one, a sealed one takes nothing, and a lost database knows them again.

use crate::fixture::{TestHome, conversation_id, delivery, delivery_id, session_id, session_row};
use ostler_core::base::{Base, Facts};
use ostler_core::fingerprint::Fingerprint;
use ostler_core::ids::{Millis, SessionId};
use ostler_core::rows::{CacheSeen, Generation, LastRequest, Projection, Tokens};
use ostler_core::spec::{Transcript, Ttl};
use ostler_store::db::{Inserted, Sealing};
use ostler_store::{Db, DbError, base_file};

fn facts(tokens: Tokens) -> Facts {
    Facts {
        conversation: conversation_id(1),
        version: "2.1.332".to_owned(),
        program: Some("ab".repeat(32)),
        request: LastRequest { model: "m".to_owned(), tokens },
        requested_at: Millis(1_000),
        transcript: Transcript { bytes: 7, sha256: "cd".repeat(32) },
        tools: vec!["Bash".to_owned()],
        fingerprint: Fingerprint::default(),
    }
}

fn written() -> Tokens {
    Tokens { cache_read: 900, cache_write_5m: 100, ..Tokens::default() }
}

fn training(n: u128, name: &str) -> Base {
    Base {
        session: session_id(n),
        name: name.to_owned(),
        created_at: Millis(i64::try_from(n).unwrap()),
        prompts: 1,
        replaces: None,
        sealed_at: None,
        retired_at: None,
        reason: None,
        facts: None,
    }
}

fn sealed(base: &Base) -> Base {
    Base { sealed_at: Some(Millis(500)), facts: Some(facts(written())), ..base.clone() }
}

fn with(home: &TestHome, sessions: &[u128]) -> Db {
    let db = home.db();
    for n in sessions {
        db.insert_session(&session_row(session_id(*n))).unwrap();
    }
    db
}

fn taken(done: Result<(), DbError>, by: u128) -> bool {
    matches!(done, Err(DbError::BaseExists { session, .. }) if session == session_id(by))
}

#[test]
fn a_name_means_one_base_that_lives() {
    let home = TestHome::new();
    let db = with(&home, &[1, 2, 3]);
    let first = training(1, "rules");
    db.insert_base(&first).unwrap();
    assert!(taken(db.insert_base(&training(2, "rules")), 1), "while it is trained");
    assert_eq!(db.seal_base(&sealed(&first)).unwrap(), Sealing::Sealed);
    assert_eq!(db.seal_base(&sealed(&first)).unwrap(), Sealing::Over, "sealed once");
    assert!(taken(db.insert_base(&training(2, "rules")), 1), "and when it is sealed");

    // The next of that name is trained while the first one lives.
    let next = Base { replaces: Some(session_id(1)), ..training(2, "rules") };
    db.insert_base(&next).unwrap();
    assert!(taken(db.insert_base(&Base { replaces: Some(session_id(1)), ..training(3, "rules") }), 2));
    assert_eq!(db.base_named("rules").unwrap().unwrap().session, session_id(1));
    assert_eq!(db.seal_base(&sealed(&next)).unwrap(), Sealing::Sealed);
    assert_eq!(db.base_named("rules").unwrap().unwrap().session, session_id(2));
    let old = db.base(session_id(1)).unwrap().unwrap();
    assert!(old.retired_at.is_some() && old.reason.unwrap().contains("replaced by"));
    assert_eq!(db.bases(false).unwrap().len(), 1);
    assert_eq!(db.bases(true).unwrap().len(), 2);

    // Retired, its name is free.
    assert!(db.retire_base(session_id(2), "by hand", Millis(9)).unwrap().is_some());
    assert!(db.retire_base(session_id(2), "by hand", Millis(9)).unwrap().is_none());
    db.insert_base(&training(3, "rules")).unwrap();
}

#[test]
fn a_sealed_base_takes_no_message_and_one_that_owes_an_answer_is_not_sealed() {
    let home = TestHome::new();
    let db = with(&home, &[1]);
    let base = training(1, "rules");
    db.insert_base(&base).unwrap();
    let first = db.insert_delivery(&delivery(1, session_id(1), "learn")).unwrap();
    assert!(matches!(first, Inserted::New { .. }));
    assert_eq!(db.seal_base(&sealed(&base)).unwrap(), Sealing::Busy);
    assert!(db.cancel_delivery(delivery_id(1)).unwrap());
    assert_eq!(db.seal_base(&sealed(&base)).unwrap(), Sealing::Sealed);
    assert_eq!(db.insert_delivery(&delivery(2, session_id(1), "more")).unwrap(), Inserted::Sealed);
    // Said again under its old id it is what it was.
    assert!(matches!(
        db.insert_delivery(&delivery(1, session_id(1), "learn")).unwrap(),
        Inserted::Same { .. }
    ));
    // Retired it stays sealed.
    db.retire_base(session_id(1), "by hand", Millis(9)).unwrap();
    assert_eq!(db.insert_delivery(&delivery(3, session_id(1), "more")).unwrap(), Inserted::Sealed);
}

#[test]
fn what_a_base_is_stands_in_its_folder() {
    let home = TestHome::new();
    let db = with(&home, &[1]);
    let base = training(1, "rules");
    db.insert_base(&base).unwrap();
    db.seal_base(&sealed(&base)).unwrap();
    let read = base_file::read(&home.home.session(session_id(1))).unwrap();
    assert_eq!(Some(&read), db.base(session_id(1)).unwrap().as_ref());
    let other = TestHome::new();
    let lost = with(&other, &[1]);
    lost.restore_base(&read).unwrap();
    assert_eq!(lost.base_named("rules").unwrap(), Some(read));
    assert_eq!(lost.insert_delivery(&delivery(1, session_id(1), "more")).unwrap(), Inserted::Sealed);
}

fn fork(db: &Db, n: u128, forced: bool, started: i64, cache: Option<CacheSeen>) {
    db.insert_session(&session_row(session_id(n))).unwrap();
    db.insert_fork(session_id(n), session_id(1), Some(session_id(1)), forced).unwrap();
    let generation = Generation {
        no: 1,
        conversation: conversation_id(n),
        resumed: false,
        version: "2.1.332".to_owned(),
        model: None,
        credential: None,
        started_at: Millis(started),
        ended_at: None,
        exit: None,
        garbled: 0,
        killed: 0,
        proven: true,
        cache,
    };
    let rows = Projection { generations: vec![generation], ..Projection::default() };
    db.commit_projection(session_id(n), &rows, None).unwrap();
}

#[test]
fn forks_that_read_or_wrote_the_whole_prefix_keep_it_warm() {
    let home = TestHome::new();
    let db = with(&home, &[1]);
    let read_last = |db: &Db| db.base_read_last(session_id(1)).unwrap().map(|at| at.0);
    let seen = |read, written| Some(CacheSeen { expected: 1_000, read, written });
    assert_eq!(read_last(&db), None);
    fork(&db, 2, false, 5_000, None);
    assert_eq!(read_last(&db), None, "it was not answered yet");
    fork(&db, 3, false, 6_000, seen(1_000, 3));
    assert_eq!(read_last(&db), Some(6_000));
    fork(&db, 4, false, 7_000, seen(0, 1_003));
    assert_eq!(read_last(&db), Some(7_000), "a miss has written it again");
    fork(&db, 5, false, 8_000, seen(500, 3));
    fork(&db, 6, true, 9_000, seen(0, 2_000));
    assert_eq!(read_last(&db), Some(7_000), "neither half of it nor another prefix");
    let all: Vec<SessionId> = db.forks_of_base(session_id(1)).unwrap().iter().map(|f| f.session).collect();
    assert_eq!(all, (2..=6).map(session_id).collect::<Vec<_>>());
    assert_eq!(db.fork(session_id(6)).unwrap().unwrap().source, session_id(1));
}

#[test]
fn the_clock_runs_from_the_last_request_for_what_it_wrote() {
    let five = facts(written());
    assert_eq!((five.expected_read(), five.ttl()), (1_000, Some(Ttl::FiveMinutes)));
    assert_eq!(five.warm_until(None), Some(Millis(1_000 + 300_000)));
    assert_eq!(five.warm_until(Some(Millis(50_000))), Some(Millis(350_000)));
    assert_eq!(five.warm_until(Some(Millis(1))), Some(Millis(301_000)), "never back");
    let hour = facts(Tokens { cache_write_1h: 10, ..Tokens::default() });
    assert_eq!(hour.warm_until(None), Some(Millis(1_000 + 3_600_000)));
    let both = facts(Tokens { cache_write_1h: 10, cache_write_5m: 1, ..Tokens::default() });
    assert_eq!(both.ttl(), Some(Ttl::FiveMinutes), "the shorter one");
    let none = facts(Tokens { cache_read: 1_000, ..Tokens::default() });
    assert_eq!(none.warm_until(Some(Millis(5))), None, "nobody said how long it lives");
}
