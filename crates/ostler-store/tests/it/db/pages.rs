//! Messages by the page and by name.

use crate::fixture::{TestHome, delivery, delivery_id, session_id};
use ostler_core::ids::Millis;
use ostler_core::rows::{Delivery, DeliveryState, Projection};
use ostler_store::db::Route;

#[test]
fn pages_begin_behind_the_last_one() {
    let home = TestHome::new();
    let (one, two) = (session_id(1), session_id(2));
    let db = home.db_with(one);
    db.insert_session(&crate::fixture::session_row(two)).unwrap();
    for n in 1..=5 {
        db.insert_delivery(&delivery(n, one, "x")).unwrap();
        db.insert_delivery(&delivery(n + 100, two, "x")).unwrap();
    }
    let (mut after, mut seen) = (0, Vec::new());
    loop {
        let page = db.deliveries_page(one, None, after, 2).unwrap();
        seen.extend(page.rows.iter().map(|row| row.id));
        let Some(next) = page.next else { break };
        after = next;
    }
    assert_eq!(seen, [1, 2, 3, 4, 5].map(delivery_id));
    db.cancel_delivery(delivery_id(2)).unwrap();
    let cancelled = db.deliveries_page(one, Some(DeliveryState::Cancelled), 0, 9).unwrap();
    assert_eq!(cancelled.rows.iter().map(|row| row.id).collect::<Vec<_>>(), [delivery_id(2)]);
    let newest = db.newest_deliveries(one, 2).unwrap();
    assert_eq!(newest.iter().map(|row| row.id).collect::<Vec<_>>(), [4, 5].map(delivery_id));
}

#[test]
fn the_beginning_of_an_id_means_messages_of_that_session_only() {
    let home = TestHome::new();
    let (one, two) = (session_id(1), session_id(2));
    let db = home.db_with(one);
    db.insert_session(&crate::fixture::session_row(two)).unwrap();
    db.insert_delivery(&delivery(1, one, "x")).unwrap();
    db.insert_delivery(&delivery(2, two, "x")).unwrap();
    let called = |name: &str| db.deliveries_called(one, name).unwrap().len();
    assert_eq!(
        (called("D0"), called(&delivery_id(1).to_string()), called(&delivery_id(2).to_string())),
        (1, 1, 0)
    );
    assert_eq!((called(""), called("%"), called("x")), (0, 0, 0));
}

#[test]
fn how_a_message_reached_the_model_is_told_from_those_before_it() {
    let home = TestHome::new();
    let id = session_id(1);
    let db = home.db_with(id);
    for n in 1..=5 {
        db.insert_delivery(&delivery(n, id, "x")).unwrap();
    }
    let written = |n: u128, generation, turn| Delivery {
        id: delivery_id(n),
        state: DeliveryState::Started,
        generation,
        turn,
        written_at: Millis(2),
        answer: None,
    };
    let deliveries = vec![written(1, 1, 1), written(2, 1, 1), written(3, 1, 2), written(4, 2, 3)];
    db.commit_projection(id, &Projection { deliveries, ..Projection::default() }, None).unwrap();
    let route = |n| db.route_of(&db.delivery(delivery_id(n)).unwrap().unwrap()).unwrap();
    let all = [1, 2, 3, 4, 5].map(route);
    assert_eq!(all, [Some(Route::Wake), Some(Route::Steer), Some(Route::Feed), Some(Route::Wake), None]);
}
