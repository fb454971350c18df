//! What a journal folds to, stored and loaded.

use crate::fixture::{TestHome, conversation_id, delivery, delivery_id, record, session_id, session_row};
use ostler_core::ctl::{Decision, Exit};
use ostler_core::ids::Millis;
use ostler_core::record::State;
use ostler_core::rows::{
    CacheSeen, Delivery, DeliveryState, Generation, Outcome, Permission, PermissionKind, PermissionState,
    Projection, Spend, SpendMethod, Tokens, Turn,
};
use ostler_store::DbError;
use ostler_store::db::{Body, Committed, RecordChange};
use proptest::prelude::*;

pub(crate) fn permission(request_id: &str, state: PermissionState) -> Permission {
    Permission {
        generation: 1,
        request_id: request_id.to_owned(),
        kind: PermissionKind::Tool,
        tool: Some("Bash".to_owned()),
        tool_use_id: Some("toolu_1".to_owned()),
        line: (10, 200),
        state,
        decision: None,
        decided_by: None,
        message: None,
        withdrawn: None,
        input: None,
        always: false,
        interrupt: false,
        asked_at: None,
        exhausted: false,
        call: None,
    }
}

fn generation(no: u32) -> Generation {
    Generation {
        no,
        conversation: conversation_id(1),
        resumed: no > 1,
        version: "2.1.332".to_owned(),
        model: Some("claude-x".to_owned()),
        credential: None,
        started_at: Millis(-5),
        ended_at: (no == 1).then_some(Millis(9)),
        exit: (no == 1).then_some(Exit::Signal(9)),
        garbled: no,
        killed: 3,
        proven: no == 1,
        cache: (no == 1).then_some(CacheSeen { expected: 100, read: 90, written: 10 }),
    }
}

fn turn(no: u32) -> Turn {
    Turn {
        no,
        generation: no,
        started_at: Millis(1),
        settled_at: (no == 1).then_some(Millis(7)),
        outcome: (no == 1).then_some(Outcome::Failed),
        failure: (no == 1).then(|| "api_error".to_owned()),
        message: None,
        results: 2,
        rounds: 4,
        denials: 1,
        killed_tasks: 1,
        unclean: true,
        garbled: false,
        answer: (no == 1).then_some((5, u64::from(u32::MAX) * 4)),
    }
}

fn written(n: u128, state: DeliveryState) -> Delivery {
    Delivery {
        id: delivery_id(n),
        state,
        generation: 1,
        turn: 1,
        written_at: Millis(3),
        answer: Some((1, 2)),
    }
}

fn spend(generation: u32, model: &str, usd: Option<f64>) -> Spend {
    let tokens = Tokens { input: 1, output: 2, cache_read: 3, cache_write_5m: 4, cache_write_1h: 1 << 40 };
    Spend {
        generation,
        model: model.to_owned(),
        tokens,
        usd,
        method: SpendMethod::RestoredDifference,
        baseline_usd: 0.065_778_6,
    }
}

/// Something of everything.
pub(crate) fn full() -> Projection {
    let decided = Permission {
        decision: Some(Decision::Deny),
        decided_by: Some("cli".to_owned()),
        message: Some("no".to_owned()),
        tool: None,
        tool_use_id: None,
        kind: PermissionKind::Plan,
        input: Some("{}".to_owned()),
        always: true,
        interrupt: true,
        asked_at: Some(Millis(6)),
        exhausted: true,
        call: Some("00ff".to_owned()),
        ..permission("r2", PermissionState::Answered)
    };
    Projection {
        generations: vec![generation(1), generation(2)],
        turns: vec![turn(1), turn(2)],
        // Not in the order of their ids.
        deliveries: vec![written(9, DeliveryState::Completed), written(2, DeliveryState::Started)],
        permissions: vec![permission("r3", PermissionState::Open), decided],
        spend: vec![spend(2, "b", None), spend(1, "b", Some(0.1 + 0.2)), spend(1, "a", Some(0.0))],
    }
}

#[test]
fn what_was_committed_is_loaded_exactly() {
    let home = TestHome::new();
    let id = session_id(1);
    let db = home.db_with(id);
    assert_eq!(db.load_projection(id).unwrap(), Projection::default());
    let committed = db.commit_projection(id, &full(), None).unwrap();
    assert_eq!(committed, Committed { changed: true, record_set: true });
    assert_eq!(db.load_projection(id).unwrap(), full());
    assert_eq!(home.db().load_projection(id).unwrap(), full());
    let unknown = db.commit_projection(session_id(9), &full(), None);
    assert!(matches!(unknown, Err(DbError::NoSession { .. })), "{unknown:?}");
}

#[test]
fn what_is_equal_is_not_written_and_changes_are_told_by_kind() {
    let home = TestHome::new();
    let id = session_id(1);
    let db = home.db_with(id);
    db.commit_projection(id, &full(), None).unwrap();
    let seq = db.last_change_seq().unwrap();
    let again = db.commit_projection(id, &full(), None).unwrap();
    assert!(!again.changed);
    assert_eq!(db.last_change_seq().unwrap(), seq);
    let mut next = full();
    next.turns[1].results += 1;
    next.spend[0].usd = Some(0.5);
    db.commit_projection(id, &next, None).unwrap();
    let kinds: Vec<String> = db.changes_after(seq, 10).unwrap().changes.into_iter().map(|c| c.kind).collect();
    assert_eq!(kinds, ["turn", "spend"]);
}

#[test]
fn the_record_changes_with_it_or_loses_to_whoever_was_first() {
    let home = TestHome::new();
    let id = session_id(1);
    let db = home.db_with(id);
    let change = RecordChange { expected: 0, new: record(State::Active) };
    assert!(db.commit_projection(id, &full(), Some(&change)).unwrap().record_set);
    assert_eq!(db.record(id).unwrap(), (record(State::Active), 1));
    let late = RecordChange { expected: 0, new: record(State::Idle) };
    let mut next = full();
    next.turns[1].results += 1;
    let committed = db.commit_projection(id, &next, Some(&late)).unwrap();
    assert_eq!(committed, Committed { changed: true, record_set: false });
    assert_eq!(db.record(id).unwrap(), (record(State::Active), 1));
    assert_eq!(db.load_projection(id).unwrap(), next, "the rows are what the journal says in any case");
}

#[test]
fn dropping_and_folding_again_gives_the_same_rows() {
    let home = TestHome::new();
    let id = session_id(1);
    let db = home.db_with(id);
    db.insert_delivery(&delivery(9, id, "kept")).unwrap();
    db.insert_delivery(&delivery(5, id, "never written")).unwrap();
    db.commit_projection(id, &full(), None).unwrap();
    let rows = db.deliveries(id).unwrap();
    db.drop_derived(id).unwrap();
    assert_eq!(db.load_projection(id).unwrap(), Projection::default());
    let left: Vec<_> = db.deliveries(id).unwrap().into_iter().map(|row| (row.id, row.state)).collect();
    let accepted = DeliveryState::Accepted;
    assert_eq!(left, [(delivery_id(9), accepted), (delivery_id(5), accepted)]);
    db.commit_projection(id, &full(), None).unwrap();
    assert_eq!(db.load_projection(id).unwrap(), full());
    assert_eq!(db.deliveries(id).unwrap().len(), rows.len());
    assert_eq!(db.delivery_body(delivery_id(9)).unwrap(), b"kept");
}

#[test]
fn a_delivery_that_only_the_journal_knows_has_a_row_without_a_body() {
    let home = TestHome::new();
    let id = session_id(1);
    let db = home.db_with(id);
    db.commit_projection(id, &full(), None).unwrap();
    assert_eq!(db.delivery(delivery_id(9)).unwrap().unwrap().body, Body::Lost);
    let lost = db.delivery_body(delivery_id(9));
    assert!(matches!(lost, Err(DbError::BodyLost { .. })), "{lost:?}");
}

#[test]
fn states_of_deliveries_are_the_journals() {
    let home = TestHome::new();
    let id = session_id(1);
    let db = home.db_with(id);
    db.insert_delivery(&delivery(2, id, "x")).unwrap();
    db.insert_delivery(&delivery(3, id, "y")).unwrap();
    for state in [DeliveryState::Written, DeliveryState::Started, DeliveryState::Completed] {
        let said = Projection { deliveries: vec![written(2, state)], ..Projection::default() };
        db.commit_projection(id, &said, None).unwrap();
        assert_eq!(db.delivery(delivery_id(2)).unwrap().unwrap().state, state);
    }
    let pending: Vec<_> = db.pending_deliveries(id).unwrap().into_iter().map(|pending| pending.id).collect();
    assert_eq!(pending, [delivery_id(3)]);
    assert!(!db.cancel_delivery(delivery_id(2)).unwrap());
}

/// Parts of the full projection, with some values changed: enough to make every difference there is.
fn projections() -> impl Strategy<Value = Projection> {
    let pick = |len: usize| prop::collection::vec(any::<bool>(), len);
    (pick(10), 0..3u32, any::<bool>()).prop_map(|(keep, count, reverse)| {
        let mut next = full();
        let mut keep = keep.into_iter();
        next.generations.retain(|_| keep.next().unwrap());
        next.turns.retain(|_| keep.next().unwrap());
        next.deliveries.retain(|_| keep.next().unwrap());
        next.permissions.retain(|_| keep.next().unwrap());
        next.spend.retain(|_| keep.next().unwrap_or(true));
        next.generations.iter_mut().for_each(|generation| generation.garbled = count);
        next.turns.iter_mut().for_each(|turn| turn.rounds = count);
        next.spend.iter_mut().for_each(|spend| spend.usd = spend.usd.map(|usd| usd + f64::from(count) / 3.0));
        if reverse {
            next.deliveries.reverse();
            next.permissions.reverse();
            next.spend.reverse();
        }
        next
    })
}

#[test]
fn whatever_was_there_the_rows_become_equal() {
    let home = TestHome::new();
    let id = session_id(1);
    let db = home.db_with(id);
    db.insert_session(&session_row(session_id(2))).unwrap();
    let elsewhere = Projection { deliveries: Vec::new(), ..full() };
    db.commit_projection(session_id(2), &elsewhere, None).unwrap();
    proptest!(ProptestConfig { failure_persistence: None, cases: 200, ..ProptestConfig::default() }, |(next in projections())| {
        db.commit_projection(id, &next, None).unwrap();
        prop_assert_eq!(db.load_projection(id).unwrap(), next);
        prop_assert_eq!(db.load_projection(session_id(2)).unwrap(), elsewhere.clone());
    });
}
