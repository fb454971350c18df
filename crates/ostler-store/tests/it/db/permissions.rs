//! Permissions: the first decision counts.

use super::projections::{full, permission};
use crate::fixture::{TestHome, session_id, session_row};
use ostler_core::ctl::{Decision, Reply};
use ostler_core::ids::Millis;
use ostler_core::rows::{Permission, PermissionState, Projection};
use ostler_store::Db;
use ostler_store::db::{Decided, NewDecision, Winner};

fn decision(request_id: &str, decision: Decision, by: &str) -> NewDecision {
    NewDecision {
        session: session_id(1),
        generation: 1,
        request_id: request_id.to_owned(),
        reply: Reply {
            decision,
            message: Some("because".to_owned()),
            input: Some("{\"command\":\"ls\"}".to_owned()),
            always: true,
            interrupt: true,
        },
        by: by.to_owned(),
        at: Millis(5),
    }
}

fn asked(permissions: &[Permission]) -> Projection {
    Projection { permissions: permissions.to_vec(), ..Projection::default() }
}

fn open(home: &TestHome) -> Db {
    let db = home.db_with(session_id(1));
    let open = asked(&[permission("a", PermissionState::Open), permission("b", PermissionState::Open)]);
    db.commit_projection(session_id(1), &open, None).unwrap();
    db
}

fn pending(db: &Db) -> Vec<String> {
    let rows = db.pending_permissions(Some(session_id(1))).unwrap();
    rows.into_iter().map(|row| row.journal.request_id).collect()
}

#[test]
fn the_first_decision_counts_and_the_second_hears_whose_it_was() {
    let home = TestHome::new();
    let db = open(&home);
    assert_eq!(pending(&db), ["a", "b"]);
    let first = decision("a", Decision::Deny, "terminal");
    assert_eq!(db.decide_permission(&first).unwrap(), Decided::First);
    let lost = db.decide_permission(&decision("a", Decision::Allow, "cli")).unwrap();
    assert_eq!(lost, Decided::Lost(Winner { decision: Decision::Deny, by: "terminal".to_owned() }));
    assert_eq!(db.decide_permission(&decision("x", Decision::Allow, "cli")).unwrap(), Decided::Unknown);
    assert_eq!(pending(&db), ["b"]);
    assert_eq!(db.decisions_to_write(session_id(1)).unwrap(), [first]);
}

#[test]
fn of_many_who_decide_at_once_one_is_first() {
    let home = TestHome::new();
    let db = open(&home);
    let threads: Vec<_> = (0..4)
        .map(|n| {
            let (db, new) = (home.db(), decision("a", Decision::Allow, &format!("face {n}")));
            std::thread::spawn(move || (new.by.clone(), db.decide_permission(&new).unwrap()))
        })
        .collect();
    let results: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    let first: Vec<_> = results.iter().filter(|(_, decided)| *decided == Decided::First).collect();
    assert_eq!(first.len(), 1, "{results:?}");
    for (_, decided) in results.iter().filter(|(_, decided)| *decided != Decided::First) {
        let winner = Winner { decision: Decision::Allow, by: first[0].0.clone() };
        assert_eq!(*decided, Decided::Lost(winner));
    }
    assert_eq!(db.decisions_to_write(session_id(1)).unwrap().len(), 1);
}

#[test]
fn a_projection_from_before_the_decision_does_not_undo_it() {
    let home = TestHome::new();
    let db = open(&home);
    let id = session_id(1);
    db.decide_permission(&decision("a", Decision::Allow, "terminal")).unwrap();
    // The controller has not seen it: its fold still says open, and something else has changed.
    let older = asked(&[
        Permission { tool: Some("Write".to_owned()), ..permission("a", PermissionState::Open) },
        permission("b", PermissionState::Open),
        permission("c", PermissionState::Open),
    ]);
    db.commit_projection(id, &older, None).unwrap();
    assert_eq!(pending(&db), ["b", "c"]);
    assert_eq!(db.decisions_to_write(id).unwrap().len(), 1);
    assert_eq!(db.permissions(id).unwrap()[0].state(), PermissionState::Decided);
    assert_eq!(db.load_projection(id).unwrap(), older, "the journal's half is the journal's");
    let lost = db.decide_permission(&decision("a", Decision::Deny, "cli")).unwrap();
    assert!(matches!(lost, Decided::Lost(_)));
}

#[test]
fn a_decision_leaves_the_list_when_the_journal_has_it() {
    let home = TestHome::new();
    let db = open(&home);
    let id = session_id(1);
    db.decide_permission(&decision("a", Decision::Allow, "terminal")).unwrap();
    for state in [PermissionState::Decided, PermissionState::Answered] {
        let known = Permission {
            decision: Some(Decision::Allow),
            decided_by: Some("terminal".to_owned()),
            ..permission("a", state)
        };
        db.commit_projection(id, &asked(&[known]), None).unwrap();
        assert!(db.decisions_to_write(id).unwrap().is_empty());
        let lost = db.decide_permission(&decision("a", Decision::Deny, "cli")).unwrap();
        assert_eq!(lost, Decided::Lost(Winner { decision: Decision::Allow, by: "terminal".to_owned() }));
    }
}

#[test]
fn a_withdrawn_question_takes_no_decision() {
    let home = TestHome::new();
    let db = open(&home);
    let id = session_id(1);
    db.decide_permission(&decision("b", Decision::Allow, "terminal")).unwrap();
    let withdrawn = asked(&["a", "b"].map(|request| Permission {
        withdrawn: Some("interrupted".to_owned()),
        ..permission(request, PermissionState::Withdrawn)
    }));
    db.commit_projection(id, &withdrawn, None).unwrap();
    assert!(pending(&db).is_empty() && db.decisions_to_write(id).unwrap().is_empty());
    for request in ["a", "b"] {
        assert_eq!(
            db.decide_permission(&decision(request, Decision::Deny, "cli")).unwrap(),
            Decided::Withdrawn
        );
    }
    let rows = db.permissions(id).unwrap();
    assert_eq!(rows[1].state(), PermissionState::Withdrawn);
    assert!(rows[1].face.is_some(), "what a person decided and no child ever heard is kept");
}

#[test]
fn a_rule_that_decided_first_wins_too() {
    let home = TestHome::new();
    let db = open(&home);
    let by_rule = Permission {
        decision: Some(Decision::Deny),
        decided_by: Some("policy".to_owned()),
        ..permission("a", PermissionState::Decided)
    };
    db.commit_projection(session_id(1), &asked(&[by_rule]), None).unwrap();
    let lost = db.decide_permission(&decision("a", Decision::Allow, "cli")).unwrap();
    assert_eq!(lost, Decided::Lost(Winner { decision: Decision::Deny, by: "policy".to_owned() }));
}

#[test]
fn decisions_survive_folding_again() {
    let home = TestHome::new();
    let db = open(&home);
    let id = session_id(1);
    let before = db.load_projection(id).unwrap();
    db.decide_permission(&decision("a", Decision::Allow, "terminal")).unwrap();
    db.drop_derived(id).unwrap();
    assert_eq!(db.load_projection(id).unwrap(), Projection::default());
    assert!(db.permissions(id).unwrap().is_empty() && db.decisions_to_write(id).unwrap().is_empty());
    db.commit_projection(id, &before, None).unwrap();
    assert_eq!(db.load_projection(id).unwrap(), before);
    assert_eq!(db.decisions_to_write(id).unwrap().len(), 1);
}

#[test]
fn all_sessions_can_be_asked_at_once() {
    let home = TestHome::new();
    let db = open(&home);
    db.insert_session(&session_row(session_id(2))).unwrap();
    let waits = |permission: &Permission| permission.state == PermissionState::Open;
    let expected = full().permissions.iter().filter(|permission| waits(permission)).count();
    db.commit_projection(session_id(2), &full(), None).unwrap();
    assert_eq!(db.pending_permissions(None).unwrap().len(), 2 + expected);
    assert_eq!(db.pending_permissions(Some(session_id(2))).unwrap().len(), expected);
}
