//! Session rows, records, pages.

use crate::fixture::{TestHome, conversation_id, delivery, record, session_id, session_row};
use ostler_core::ids::Millis;
use ostler_core::record::{Record, State};
use ostler_core::rows::Projection;
use ostler_store::DbError;
use ostler_store::db::{ListFilter, SessionPage, SessionRow};

#[test]
fn a_row_comes_back_as_it_was_stored() {
    let home = TestHome::new();
    let db = home.db();
    let row = SessionRow {
        label: Some("a \"label\" ✓".to_owned()),
        record: Record {
            state: State::Error { reason: "no result: exit 1".into() },
            stopped: true,
            closed: false,
        },
        ..session_row(session_id(1))
    };
    db.insert_session(&row).unwrap();
    assert_eq!(db.session(session_id(1)).unwrap(), Some(row.clone()));
    assert_eq!(db.session(session_id(2)).unwrap(), None);
    assert!(matches!(db.insert_session(&row), Err(DbError::SessionExists { .. })));
}

#[test]
fn a_record_changes_by_compare_and_set() {
    let home = TestHome::new();
    let id = session_id(1);
    let db = home.db_with(id);
    let other = home.db();
    assert_eq!(db.record(id).unwrap(), (Record::default(), 0));
    assert!(db.set_record(id, 0, &record(State::Active)).unwrap());
    assert!(!other.set_record(id, 0, &record(State::Idle)).unwrap(), "somebody else was first");
    assert_eq!(other.record(id).unwrap(), (record(State::Active), 1));
    assert!(other.set_record(id, 1, &record(State::Idle)).unwrap());
    let none = session_id(9);
    assert!(matches!(db.set_record(none, 0, &Record::default()), Err(DbError::NoSession { .. })));
    assert!(matches!(db.record(none), Err(DbError::NoSession { .. })));
}

#[test]
fn of_many_who_change_a_record_at_once_one_wins_each_time() {
    let home = TestHome::new();
    let id = session_id(1);
    let db = home.db_with(id);
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let db = home.db();
            std::thread::spawn(move || {
                let won = (0..25).filter(|_| {
                    let (record, revision) = db.record(id).unwrap();
                    db.set_record(id, revision, &record).unwrap()
                });
                won.count() as u64
            })
        })
        .collect();
    let won: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert_eq!(db.record(id).unwrap().1, won);
    assert!(won >= 25);
}

#[test]
fn the_conversation_can_be_replaced() {
    let home = TestHome::new();
    let id = session_id(1);
    let db = home.db_with(id);
    db.set_conversation(id, conversation_id(5)).unwrap();
    assert_eq!(db.session(id).unwrap().unwrap().conversation, conversation_id(5));
    assert!(matches!(db.set_conversation(session_id(9), conversation_id(5)), Err(DbError::NoSession { .. })));
}

fn many(home: &TestHome) -> Vec<SessionRow> {
    let db = home.db();
    let states = [State::New, State::Active, State::Idle, State::Error { reason: "x".into() }];
    let rows = (0..60u128).map(|n| SessionRow {
        // Several share a time, so that the id has to decide.
        created_at: Millis(1_000 + (n as i64 * 7) % 11),
        label: (n % 5 == 0).then(|| format!("label {}", n % 3)),
        cwd: format!("/project/{}", n % 4),
        record: Record { state: states[n as usize % 4].clone(), stopped: n % 6 == 0, closed: n % 7 == 0 },
        ..session_row(session_id(n))
    });
    let mut rows: Vec<SessionRow> = rows.collect();
    rows.iter().for_each(|row| db.insert_session(row).unwrap());
    rows.sort_by_key(|row| std::cmp::Reverse((row.created_at, row.id)));
    rows
}

fn filters() -> Vec<ListFilter> {
    let mut filters = vec![ListFilter::default()];
    let mut multiply = |change: &dyn Fn(&ListFilter) -> Vec<ListFilter>| {
        filters = filters.iter().flat_map(|filter| [vec![filter.clone()], change(filter)].concat()).collect();
    };
    multiply(&|filter| {
        ["new", "active", "nonsense"].map(|s| ListFilter { state: Some(s.into()), ..filter.clone() }).to_vec()
    });
    multiply(&|filter| vec![ListFilter { label: Some("label 0".into()), ..filter.clone() }]);
    multiply(&|filter| vec![ListFilter { cwd: Some("/project/1".into()), ..filter.clone() }]);
    multiply(&|filter| [true, false].map(|set| ListFilter { stopped: Some(set), ..filter.clone() }).to_vec());
    multiply(&|filter| [true, false].map(|set| ListFilter { closed: Some(set), ..filter.clone() }).to_vec());
    filters
}

fn fits(row: &SessionRow, filter: &ListFilter) -> bool {
    filter.state.as_ref().is_none_or(|state| row.record.state.word() == state)
        && filter.label.as_ref().is_none_or(|label| row.label.as_ref() == Some(label))
        && filter.cwd.as_ref().is_none_or(|cwd| row.cwd == *cwd)
        && filter.stopped.is_none_or(|stopped| row.record.stopped == stopped)
        && filter.closed.is_none_or(|closed| row.record.closed == closed)
}

#[test]
fn pages_show_each_session_that_fits_once_and_newest_first() {
    let home = TestHome::new();
    let rows = many(&home);
    let db = home.db();
    for filter in filters() {
        let expected: Vec<&SessionRow> = rows.iter().filter(|row| fits(row, &filter)).collect();
        let mut found = Vec::new();
        let mut after = None;
        loop {
            let SessionPage { rows, next } = db.list_sessions(&filter, after, 7).unwrap();
            assert!(rows.len() <= 7);
            found.extend(rows);
            after = next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{filter:?}");
    }
}

#[test]
fn a_full_last_page_says_that_it_is_the_last() {
    let home = TestHome::new();
    let db = home.db();
    (0..4).for_each(|n| db.insert_session(&session_row(session_id(n))).unwrap());
    let all = ListFilter::default();
    let first = db.list_sessions(&all, None, 2).unwrap();
    assert!(first.next.is_some());
    assert_eq!(db.list_sessions(&all, first.next, 2).unwrap().next, None);
}

#[test]
fn what_is_owed_is_found() {
    let home = TestHome::new();
    let db = home.db();
    (1..=6).for_each(|n| db.insert_session(&session_row(session_id(n))).unwrap());
    assert!(db.sessions_owing().unwrap().is_empty());
    db.insert_delivery(&delivery(1, session_id(1), "waiting")).unwrap();
    db.insert_delivery(&delivery(2, session_id(2), "waiting, stopped")).unwrap();
    db.set_record(session_id(2), 0, &Record { stopped: true, ..Record::default() }).unwrap();
    let full = super::projections::full();
    let mut alive = Projection { generations: full.generations.clone(), ..Projection::default() };
    alive.generations[1].ended_at = None;
    db.commit_projection(session_id(3), &alive, None).unwrap();
    let mut running = Projection { turns: full.turns.clone(), ..Projection::default() };
    running.turns[1].settled_at = None;
    db.commit_projection(session_id(4), &running, None).unwrap();
    let over = Projection { deliveries: Vec::new(), ..full };
    let over =
        Projection { generations: over.generations[..1].to_vec(), turns: over.turns[..1].to_vec(), ..over };
    db.commit_projection(session_id(5), &over, None).unwrap();
    assert_eq!(db.sessions_owing().unwrap(), [session_id(1), session_id(3), session_id(4)]);
}
