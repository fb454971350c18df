//! The queue of a bridge.

use crate::fixture::{TestHome, delivery, delivery_id, session_id};
use ostler_core::ids::Millis;
use ostler_store::Db;
use ostler_store::db::{
    Inserted, MAX_INLINE_BODY, NewTask, QueueLimit, TaskCancel, TaskEnd, TaskInserted, TaskState,
};
use std::sync::Barrier;

const ROOM: QueueLimit = QueueLimit { tasks: 100, bytes: 1 << 20 };

fn task(n: u128, place: &str) -> NewTask {
    NewTask {
        id: format!("task_1_{n}"),
        place: place.to_owned(),
        request: b"{}".to_vec(),
        session: session_id(n),
        delivery: delivery_id(n),
        at: Millis(1),
    }
}

fn queued(db: &Db, place: &str) -> Vec<String> {
    db.tasks_queued(place, 100).unwrap().into_iter().map(|row| row.id).collect()
}

#[test]
fn first_in_first_out_and_each_place_for_itself() {
    let db = TestHome::new().db();
    for (n, place) in [(3, "/a"), (1, "/a"), (2, "/b"), (4, "/a")] {
        assert_eq!(db.insert_task(&task(n, place), ROOM).unwrap(), TaskInserted::New);
    }
    assert_eq!(db.insert_task(&task(1, "/b"), ROOM).unwrap(), TaskInserted::Taken);
    assert_eq!(queued(&db, "/a"), ["task_1_3", "task_1_1", "task_1_4"]);
    assert_eq!(db.tasks_queued("/a", 1).unwrap().len(), 1);
    assert!(db.claim_task("task_1_1", Millis(5)).unwrap());
    assert_eq!((queued(&db, "/a").len(), queued(&db, "/b").len()), (2, 1));
    let under_way = db.tasks_under_way("/a").unwrap();
    assert_eq!(
        (under_way.len(), under_way[0].state, under_way[0].started_at),
        (1, TaskState::Spawning, Some(Millis(5)))
    );
    assert_eq!(db.task_request("task_1_1").unwrap(), Some(b"{}".to_vec()));
}

#[test]
fn a_queue_is_bounded_in_number_and_size() {
    let db = TestHome::new().db();
    let small = QueueLimit { tasks: 2, bytes: 10 };
    let large = NewTask { request: vec![b'x'; 9], ..task(9, "/a") };
    assert_eq!(db.insert_task(&task(1, "/a"), small).unwrap(), TaskInserted::New);
    assert_eq!(db.insert_task(&large, small).unwrap(), TaskInserted::Full);
    assert_eq!(db.insert_task(&task(2, "/a"), small).unwrap(), TaskInserted::New);
    assert_eq!(db.insert_task(&task(3, "/a"), small).unwrap(), TaskInserted::Full);
    assert_eq!(db.insert_task(&task(3, "/b"), small).unwrap(), TaskInserted::New);
    // What has begun makes room.
    assert!(db.claim_task("task_1_1", Millis(2)).unwrap());
    assert_eq!(db.insert_task(&task(4, "/a"), small).unwrap(), TaskInserted::New);
}

#[test]
fn two_servers_never_begin_the_same_task() {
    let home = TestHome::new();
    home.db().insert_task(&task(1, "/a"), ROOM).unwrap();
    let start = Barrier::new(8);
    let won: usize = std::thread::scope(|scope| {
        let claims: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let db = home.db();
                    start.wait();
                    usize::from(db.claim_task("task_1_1", Millis(2)).unwrap())
                })
            })
            .collect();
        claims.into_iter().map(|claim| claim.join().unwrap()).sum()
    });
    assert_eq!(won, 1);
}

#[test]
fn the_message_is_accepted_in_the_instant_in_which_the_task_runs() {
    let home = TestHome::new();
    let db = home.db_with(session_id(1));
    db.insert_task(&task(1, "/a"), ROOM).unwrap();
    let message = delivery(1, session_id(1), vec![b'x'; MAX_INLINE_BODY + 1]);
    assert_eq!(db.run_task("task_1_1", &message, 0).unwrap(), None, "nobody has claimed it");
    assert_eq!(db.delivery(delivery_id(1)).unwrap(), None);
    db.claim_task("task_1_1", Millis(2)).unwrap();
    assert!(matches!(db.run_task("task_1_1", &message, 7).unwrap(), Some(Inserted::New { .. })));
    let row = db.task("task_1_1").unwrap().unwrap();
    assert_eq!((row.state, row.ran, row.behind), (TaskState::Running, true, 7));
    assert_eq!(db.task_request("task_1_1").unwrap(), None, "the delivery has it now");
    assert_eq!(db.delivery_body(delivery_id(1)).unwrap(), message.body);
    // Twice is once.
    assert_eq!(db.run_task("task_1_1", &message, 8).unwrap(), None);
}

#[test]
fn what_was_cancelled_before_it_ran_never_does() {
    let home = TestHome::new();
    let db = home.db_with(session_id(1));
    assert_eq!(db.cancel_task("task_1_1", Millis(3)).unwrap(), TaskCancel::Unknown);
    db.insert_task(&task(1, "/a"), ROOM).unwrap();
    db.claim_task("task_1_1", Millis(2)).unwrap();
    assert_eq!(db.cancel_task("task_1_1", Millis(3)).unwrap(), TaskCancel::NotBegun);
    let message = delivery(1, session_id(1), "hello");
    assert_eq!(db.run_task("task_1_1", &message, 0).unwrap(), None);
    assert_eq!(db.delivery(delivery_id(1)).unwrap(), None, "nothing was accepted");
    let row = db.task("task_1_1").unwrap().unwrap();
    assert_eq!((row.state, row.ran, row.reason.as_deref()), (TaskState::Failed, false, Some("cancelled")));
    assert_eq!(db.cancel_task("task_1_1", Millis(4)).unwrap(), TaskCancel::Over);
    assert!(!db.claim_task("task_1_1", Millis(4)).unwrap());
}

#[test]
fn the_first_end_stays() {
    let home = TestHome::new();
    let db = home.db_with(session_id(1));
    db.insert_task(&task(1, "/a"), ROOM).unwrap();
    db.claim_task("task_1_1", Millis(2)).unwrap();
    db.run_task("task_1_1", &delivery(1, session_id(1), "hello"), 0).unwrap();
    assert_eq!(db.cancel_task("task_1_1", Millis(3)).unwrap(), TaskCancel::Running);
    let end = |done, reason: Option<&str>, at| TaskEnd {
        done,
        exit_code: i64::from(!done),
        reason: reason.map(str::to_owned),
        at: Millis(at),
    };
    assert!(db.end_task("task_1_1", &end(true, None, 5)).unwrap());
    assert!(!db.end_task("task_1_1", &end(false, Some("late"), 6)).unwrap());
    let row = db.task("task_1_1").unwrap().unwrap();
    assert_eq!(
        (row.state, row.exit_code, row.ended_at, row.cancelled),
        (TaskState::Done, Some(0), Some(Millis(5)), true)
    );
    assert_eq!(db.tasks_ended_since("/a", Millis(5)).unwrap(), [row]);
    assert!(db.tasks_ended_since("/a", Millis(6)).unwrap().is_empty());
    assert!(db.first_listens("task_1_1").unwrap() && !db.first_listens("task_1_1").unwrap());
    assert!(!db.first_listens("task_2_2").unwrap());
}

#[test]
fn a_session_that_takes_nothing_keeps_its_task_waiting_for_an_end() {
    let home = TestHome::new();
    let db = home.db_with(session_id(1));
    db.move_record(session_id(1), &ostler_core::record::RecordEvent::Stops, None, Millis(1)).unwrap();
    db.insert_task(&task(1, "/a"), ROOM).unwrap();
    db.claim_task("task_1_1", Millis(2)).unwrap();
    let refused = db.run_task("task_1_1", &delivery(1, session_id(1), "hello"), 0).unwrap();
    assert_eq!(refused, Some(Inserted::Stopped));
    assert_eq!(db.task("task_1_1").unwrap().unwrap().state, TaskState::Spawning);
}
