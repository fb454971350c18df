//! Accepting deliveries.

use crate::fixture::{TestHome, delivery, delivery_id, record, session_id, session_row};
use ostler_core::record::{Record, State};
use ostler_core::rows::{DeliveryState, Projection};
use ostler_store::DbError;
use ostler_store::db::{Body, Claim, Inserted, MAX_INLINE_BODY, NewDelivery};

#[test]
fn deliveries_wait_in_the_order_they_came() {
    let home = TestHome::new();
    let id = session_id(1);
    let db = home.db_with(id);
    for n in [3, 1, 2] {
        let inserted = db.insert_delivery(&delivery(n, id, format!("body {n}"))).unwrap();
        assert!(matches!(inserted, Inserted::New { .. }), "{inserted:?}");
    }
    let pending = db.pending_deliveries(id).unwrap();
    let ids: Vec<_> = pending.iter().map(|pending| pending.id).collect();
    assert_eq!(ids, [3, 1, 2].map(delivery_id));
    assert!(pending.iter().is_sorted_by_key(|pending| pending.seq));
    assert!(pending.iter().all(|pending| pending.state == DeliveryState::Accepted));
    assert_eq!(db.delivery_body(delivery_id(1)).unwrap(), b"body 1");
    assert_eq!(db.deliveries(id).unwrap().len(), 3);
    assert_eq!(db.pending_deliveries(session_id(2)).unwrap(), []);
}

#[test]
fn a_body_comes_back_whatever_its_size() {
    let home = TestHome::new();
    let id = session_id(1);
    let db = home.db_with(id);
    let sizes = [0, 1, MAX_INLINE_BODY, MAX_INLINE_BODY + 1, 8 << 20];
    for (n, size) in (1..).zip(sizes) {
        let body: Vec<u8> = (0..size).map(|at| (at * 7 + n as usize) as u8).collect();
        db.insert_delivery(&delivery(n, id, body.clone())).unwrap();
        assert!(db.delivery_body(delivery_id(n)).unwrap() == body, "{size}");
        let row = db.delivery(delivery_id(n)).unwrap().unwrap();
        assert_eq!(row.body_len, size as u64);
        let place = if size > MAX_INLINE_BODY { Body::File } else { Body::Inline };
        assert_eq!(row.body, place);
        let file = home.home.session(id).delivery_body(delivery_id(n));
        assert_eq!(file.exists(), place == Body::File);
    }
    assert!(matches!(db.delivery_body(delivery_id(99)), Err(DbError::NoDelivery { .. })));
}

#[test]
fn the_same_key_is_the_same_delivery_and_another_body_is_refused() {
    let home = TestHome::new();
    let id = session_id(1);
    let db = home.db_with(id);
    db.insert_session(&session_row(session_id(2))).unwrap();
    for size in [3, MAX_INLINE_BODY + 1] {
        let keyed = |n, session, byte: u8| NewDelivery {
            idempotency_key: Some(format!("key {size}")),
            ..delivery(n + size as u128 * 100, session, vec![byte; size])
        };
        let first = keyed(1, id, 1);
        assert!(matches!(db.insert_delivery(&first).unwrap(), Inserted::New { .. }));
        assert_eq!(db.insert_delivery(&keyed(2, id, 1)).unwrap(), Inserted::Same { id: first.id });
        let other = keyed(3, id, 9);
        assert_eq!(db.insert_delivery(&other).unwrap(), Inserted::ConflictingBody { id: first.id });
        assert!(!home.home.session(id).delivery_body(other.id).exists());
        assert!(matches!(db.insert_delivery(&keyed(4, session_id(2), 9)).unwrap(), Inserted::New { .. }));
        // The id alone says as much.
        assert_eq!(db.insert_delivery(&first).unwrap(), Inserted::Same { id: first.id });
        let same_id = NewDelivery { body: vec![7; size], ..first.clone() };
        assert_eq!(db.insert_delivery(&same_id).unwrap(), Inserted::ConflictingBody { id: first.id });
        let elsewhere = NewDelivery { session: session_id(2), idempotency_key: None, ..first.clone() };
        assert_eq!(db.insert_delivery(&elsewhere).unwrap(), Inserted::ConflictingBody { id: first.id });
        assert_eq!(db.delivery_body(first.id).unwrap(), first.body);
    }
    assert_eq!(db.deliveries(id).unwrap().len(), 2);
}

#[test]
fn one_key_from_many_at_once_is_accepted_once() {
    let home = TestHome::new();
    let id = session_id(1);
    let db = home.db_with(id);
    let threads: Vec<_> = (0..4)
        .map(|n| {
            let db = home.db();
            let new = NewDelivery { idempotency_key: Some("k".to_owned()), ..delivery(n, id, "x") };
            std::thread::spawn(move || db.insert_delivery(&new).unwrap())
        })
        .collect();
    let inserted: Vec<Inserted> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    let new = inserted.iter().filter(|inserted| matches!(inserted, Inserted::New { .. })).count();
    assert_eq!(new, 1, "{inserted:?}");
    assert_eq!(db.deliveries(id).unwrap().len(), 1);
}

#[test]
fn a_stopped_closed_or_unknown_session_takes_none() {
    let home = TestHome::new();
    let id = session_id(1);
    let db = home.db_with(id);
    let accepted = delivery(1, id, "x");
    db.insert_delivery(&accepted).unwrap();
    db.set_record(id, 0, &Record { stopped: true, ..Record::default() }).unwrap();
    assert_eq!(db.insert_delivery(&delivery(2, id, "x")).unwrap(), Inserted::Stopped);
    assert_eq!(db.insert_delivery(&accepted).unwrap(), Inserted::Same { id: accepted.id });
    db.set_record(id, 1, &Record { closed: true, ..Record::default() }).unwrap();
    let large = delivery(3, id, vec![0; MAX_INLINE_BODY + 1]);
    assert_eq!(db.insert_delivery(&large).unwrap(), Inserted::Closed);
    assert!(!home.home.session(id).delivery_body(large.id).exists());
    let nobody = db.insert_delivery(&delivery(4, session_id(9), "x"));
    assert!(matches!(nobody, Err(DbError::NoSession { .. })), "{nobody:?}");
}

#[test]
fn it_is_taken_back_or_claimed_never_both() {
    let home = TestHome::new();
    let id = session_id(1);
    let db = home.db_with(id);
    db.set_record(id, 0, &record(State::Active)).unwrap();
    for n in 1..=3 {
        db.insert_delivery(&delivery(n, id, "x")).unwrap();
    }
    let yes = Claim::Yes { record: record(State::Active), revision: 1 };
    assert_eq!(db.claim_delivery(delivery_id(1)).unwrap(), yes);
    assert_eq!(db.claim_delivery(delivery_id(1)).unwrap(), yes, "an adopter claims again");
    assert!(!db.cancel_delivery(delivery_id(1)).unwrap());
    assert!(db.cancel_delivery(delivery_id(2)).unwrap());
    assert!(!db.cancel_delivery(delivery_id(2)).unwrap());
    assert_eq!(db.claim_delivery(delivery_id(2)).unwrap(), Claim::Final(DeliveryState::Cancelled));
    assert!(!db.cancel_delivery(delivery_id(9)).unwrap());
    assert!(matches!(db.claim_delivery(delivery_id(9)), Err(DbError::NoDelivery { .. })));
    let pending: Vec<_> = db.pending_deliveries(id).unwrap().iter().map(|pending| pending.id).collect();
    assert_eq!(pending, [delivery_id(1), delivery_id(3)]);
    db.set_record(id, 1, &Record { stopped: true, ..Record::default() }).unwrap();
    assert_eq!(db.claim_delivery(delivery_id(3)).unwrap(), Claim::Stopped);
    db.set_record(id, 2, &Record { closed: true, ..Record::default() }).unwrap();
    assert_eq!(db.claim_delivery(delivery_id(3)).unwrap(), Claim::Closed);
    // Taking back survives folding the journal again: the journal never knew of it.
    db.drop_derived(id).unwrap();
    db.commit_projection(id, &Projection::default(), None).unwrap();
    assert_eq!(db.delivery(delivery_id(2)).unwrap().unwrap().state, DeliveryState::Cancelled);
}
