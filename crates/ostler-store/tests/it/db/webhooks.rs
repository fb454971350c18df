//! The queue of questions that somebody outside is to be told of.

use super::projections::permission;
use crate::fixture::{TestHome, session_id};
use ostler_core::ctl::Reply;
use ostler_core::ids::Millis;
use ostler_core::rows::{Permission, PermissionState, Projection};
use ostler_store::Db;
use ostler_store::db::{NewDecision, WebhookEnd, WebhookRow};

fn asks(db: &Db, requests: &[&str]) {
    let open = |request: &&str| permission(request, PermissionState::Open);
    let permissions: Vec<Permission> = requests.iter().map(open).collect();
    let projection = Projection { permissions, ..Projection::default() };
    db.commit_projection(session_id(1), &projection, None).unwrap();
}

fn due(db: &Db, now: i64) -> Option<WebhookRow> {
    db.webhook_due(Millis(now)).unwrap().ok()
}

#[test]
fn a_question_is_queued_once_and_waits_between_attempts() {
    let home = TestHome::new();
    let db = home.db_with(session_id(1));
    assert_eq!(db.webhook_due(Millis(0)).unwrap(), Err(None));
    asks(&db, &["a"]);
    assert_eq!(db.webhook_fit(Millis(5), 10).unwrap(), (1, 0));
    assert_eq!(db.webhook_fit(Millis(6), 10).unwrap(), (0, 0));
    assert_eq!(db.webhook_due(Millis(4)).unwrap(), Err(Some(Millis(5))));
    let row = due(&db, 5).unwrap();
    assert_eq!((row.request_id.as_str(), row.created_at, row.attempts), ("a", Millis(5), 0));
    db.webhook_begins(row.id, Millis(1_005)).unwrap();
    // Whoever is killed here leaves it so.
    assert_eq!(home.db().webhook_due(Millis(6)).unwrap(), Err(Some(Millis(1_005))));
    db.webhook_tried(row.id, None, Some("answered 500")).unwrap();
    let again = due(&db, 1_005).unwrap();
    assert_eq!((again.id, again.attempts), (row.id, 1));
    db.webhook_tried(row.id, Some(WebhookEnd::Sent), None).unwrap();
    assert_eq!(db.webhook_due(Millis(i64::MAX)).unwrap(), Err(None));
    // What was sent is not queued again for as long as it waits.
    assert_eq!(db.webhook_fit(Millis(7), 10).unwrap(), (0, 0));
}

#[test]
fn what_can_not_be_decided_any_more_is_forgotten_and_a_full_queue_takes_the_rest_later() {
    let home = TestHome::new();
    let db = home.db_with(session_id(1));
    asks(&db, &["a", "b", "c"]);
    assert_eq!(db.webhook_fit(Millis(1), 2).unwrap(), (2, 1));
    let first = due(&db, 1).unwrap();
    let decided = NewDecision {
        session: session_id(1),
        generation: 1,
        request_id: first.request_id.clone(),
        reply: Reply::allow(),
        by: "cli".to_owned(),
        at: Millis(2),
    };
    db.decide_permission(&decided).unwrap();
    assert_eq!(db.webhook_fit(Millis(2), 2).unwrap(), (1, 0));
    assert_ne!(due(&db, 2).unwrap().id, first.id);
    asks(&db, &[]);
    assert_eq!(db.webhook_fit(Millis(3), 2).unwrap(), (0, 0));
    assert_eq!(db.webhook_due(Millis(i64::MAX)).unwrap(), Err(None));
}
