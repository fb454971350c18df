//! Credentials that are refused for now.

use crate::fixture::TestHome;
use ostler_core::ids::Millis;

#[test]
fn refusals_are_counted_until_one_request_is_taken() {
    let db = TestHome::new().db();
    assert_eq!(db.rate_limit("key").unwrap(), None);
    let wait = |tries: u64| Some(Millis(1000 * i64::try_from(tries).unwrap()));
    db.limit_refused("key", Millis(1), None, wait).unwrap();
    let row = db.limit_refused("key", Millis(2), Some(Millis(9)), wait).unwrap();
    assert_eq!(
        (row.since, row.until, row.tries, row.next_try),
        (Millis(2), Some(Millis(9)), 2, Some(Millis(2000)))
    );
    let for_ever = db.limit_refused("other", Millis(3), None, |_| None).unwrap();
    assert_eq!(for_ever.next_try, None);
    assert_eq!(db.rate_limits().unwrap(), [row.clone(), for_ever]);
    assert_eq!(db.rate_limit("key").unwrap(), Some(row));
    assert!(db.limit_lifted("key").unwrap());
    assert!(!db.limit_lifted("key").unwrap());
    assert_eq!(db.limit_refused("key", Millis(4), None, wait).unwrap().tries, 1);
}
