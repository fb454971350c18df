//! Sums of what was spent: nothing twice, nothing unknown as nothing.

use crate::fixture::{TestHome, conversation_id, session_id, session_row};
use ostler_core::base::Base;
use ostler_core::ids::Millis;
use ostler_core::rows::{Generation, Projection, Spend, SpendMethod, Tokens};
use ostler_store::Db;
use ostler_store::db::{Cost, CostFilter, CostKey, SessionRow};

const DAY: i64 = 86_400_000;

/// A session with one generation a day, each with a row of this model and these dollars.
fn session(db: &Db, n: u128, label: Option<&str>, spent: &[(i64, &str, Option<f64>)]) {
    let row = SessionRow { label: label.map(str::to_owned), ..session_row(session_id(n)) };
    db.insert_session(&row).unwrap();
    let mut rows = Projection::default();
    for (no, (day, model, usd)) in (1..).zip(spent) {
        rows.generations.push(Generation {
            no,
            conversation: conversation_id(n),
            resumed: no > 1,
            version: "2.1.332".to_owned(),
            model: None,
            credential: None,
            started_at: Millis(day * DAY + 5),
            ended_at: None,
            exit: None,
            garbled: 0,
            killed: 0,
            proven: true,
            cache: None,
        });
        rows.spend.push(Spend {
            generation: no,
            model: (*model).to_owned(),
            tokens: Tokens { input: 1, output: 2, cache_read: 3, cache_write_5m: 4, cache_write_1h: 5 },
            usd: *usd,
            method: if usd.is_none() { SpendMethod::Estimated } else { SpendMethod::Reported },
            baseline_usd: 0.0,
        });
    }
    db.commit_projection(session_id(n), &rows, None).unwrap();
}

fn keys(costs: &[Cost]) -> Vec<(Option<&str>, u64, f64, u64)> {
    costs.iter().map(|c| (c.key.as_deref(), c.sessions, c.usd, c.unknown)).collect()
}

fn home() -> (TestHome, Db) {
    let home = TestHome::new();
    let db = home.db();
    session(&db, 1, Some("night"), &[(0, "a", Some(1.0)), (1, "b", Some(2.0))]);
    session(&db, 2, Some("night"), &[(1, "a", Some(4.0)), (1, "a", None)]);
    session(&db, 3, None, &[(2, "c", None)]);
    (home, db)
}

#[test]
fn each_sum_has_its_own_and_says_what_it_does_not_know() {
    let (_home, db) = home();
    let by = |key| db.costs(key, &CostFilter::default()).unwrap();
    let (one, two, three) = (session_id(1).to_string(), session_id(2).to_string(), session_id(3).to_string());
    assert_eq!(
        keys(&by(CostKey::Session)),
        [(Some(&*two), 1, 4.0, 1), (Some(&*one), 1, 3.0, 0), (Some(&*three), 1, 0.0, 1)]
    );
    assert_eq!(keys(&by(CostKey::Label)), [(Some("night"), 2, 7.0, 1), (None, 1, 0.0, 1)]);
    assert_eq!(
        keys(&by(CostKey::Model)),
        [(Some("a"), 2, 5.0, 1), (Some("b"), 1, 2.0, 0), (Some("c"), 1, 0.0, 1)]
    );
    assert_eq!(
        keys(&by(CostKey::Day)),
        [(Some("1970-01-01"), 1, 1.0, 0), (Some("1970-01-02"), 2, 6.0, 1), (Some("1970-01-03"), 1, 0.0, 1)]
    );
    assert_eq!(by(CostKey::Label)[0].tokens.input, 4, "tokens of what has no price count as well");
}

#[test]
fn a_base_is_summed_with_its_forks_and_apart_from_them() {
    let (_home, db) = home();
    let base = Base {
        session: session_id(1),
        name: "rules".to_owned(),
        created_at: Millis(0),
        prompts: 1,
        replaces: None,
        sealed_at: None,
        retired_at: None,
        reason: None,
        facts: None,
    };
    db.insert_base(&base).unwrap();
    db.insert_fork(session_id(2), session_id(1), Some(session_id(1)), false).unwrap();
    let costs = db.costs(CostKey::Base, &CostFilter::default()).unwrap();
    let one = session_id(1).to_string();
    assert_eq!(keys(&costs), [(Some(&*one), 2, 7.0, 1), (None, 1, 0.0, 1)]);
    assert_eq!((costs[0].own_usd, costs[0].forks_usd, costs[0].forks), (3.0, 4.0, 1));
    let filter = CostFilter { base: Some(session_id(1)), ..CostFilter::default() };
    assert_eq!(db.costs(CostKey::Session, &filter).unwrap().len(), 2);
}

#[test]
fn filters_leave_out_what_was_not_asked_for() {
    let (_home, db) = home();
    let total = |filter: CostFilter| -> f64 {
        db.costs(CostKey::Model, &filter).unwrap().iter().map(|c| c.usd).sum()
    };
    assert_eq!(total(CostFilter { since: Some(Millis(DAY)), ..CostFilter::default() }), 6.0);
    assert_eq!(total(CostFilter { until: Some(Millis(DAY)), ..CostFilter::default() }), 1.0);
    assert_eq!(total(CostFilter { session: Some(session_id(2)), ..CostFilter::default() }), 4.0);
    assert_eq!(total(CostFilter { label: Some("day".to_owned()), ..CostFilter::default() }), 0.0);
}
