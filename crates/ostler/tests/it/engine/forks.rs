//! Bases and forks with a fake child: whoever is killed, nothing is lost, run twice or paid twice.

use super::crashes::ran_once;
use super::stable::{Session, Stable, now, until};
use ostler_controller::client::{ClientError, ForkError, NewBase, NewFork, NewMessage, NewSession, Trained};
use ostler_core::content::Content;
use ostler_core::ids::{DeliveryId, Millis, SessionId};
use ostler_core::machine::Mode;
use ostler_core::rows::{CacheVerdict, Outcome};
use ostler_core::spec::OnMiss;
use std::fs;
use uuid::Uuid;

const SCRIPT: &str = "when learn
 usage input=1 output=2 cache_read=900 cache_write_5m=100 cache_write_1h=0
 say Learned.
when cold
 until go
 usage input=1 output=2 cache_read=0 cache_write_5m=1003 cache_write_1h=0
 say Told $text
when hold
 usage input=1 output=2 cache_read=1000 cache_write_5m=3 cache_write_1h=0
 mark begun
 until go
 say Told $text
otherwise
 usage input=1 output=2 cache_read=1000 cache_write_5m=3 cache_write_1h=0
 say Told $text
";

fn message(text: &str) -> NewMessage {
    let content = Content::Text(text.to_owned());
    let id = DeliveryId(Uuid::new_v4());
    NewMessage { id, content, mode: Mode::Auto, idempotency_key: None, at: now() }
}

/// A base that is sealed; its session.
#[track_caller]
fn trained(stable: &Stable) -> SessionId {
    let id = SessionId(Uuid::new_v4());
    let spec = stable.spec_for(id, SCRIPT);
    let session = NewSession { id, label: None, spec, at: now() };
    let new = NewBase { name: "rules".to_owned(), session, messages: vec![message("learn")], replaces: None };
    stable.ostler.train(&new).unwrap();
    until("the base to be sealed", || match stable.ostler.wait_sealed(id, None).unwrap() {
        Trained::Sealed(base) => Some(base),
        Trained::Training => None,
        Trained::Failed(why) => panic!("{why}"),
    });
    id
}

/// A fork that is accepted and not yet started.
#[track_caller]
fn forked<'a>(
    stable: &'a Stable,
    source: SessionId,
    text: &str,
    parallel: Option<u32>,
) -> (Session<'a>, DeliveryId) {
    let gates = source;
    let row = stable.ostler.db().session(source).unwrap().unwrap();
    let source = stable.ostler.source(row).unwrap();
    let (id, message) = (SessionId(Uuid::new_v4()), message(text));
    let delivery = message.id;
    let session = NewSession { id, label: None, spec: source.spec_of_copy(), at: now() };
    let new = NewFork { session, message, worktree: None, force: false, on_miss: OnMiss::Continue, parallel };
    stable.ostler.fork(&source, &new).unwrap();
    (stable.known(id, stable.path("gates").join(gates.to_string())), delivery)
}

/// In each run somebody dies at a point while a fork starts or ends.
fn killed(who: &str) {
    const POINTS: [&str; 9] = [
        "claimed",
        "folder-made",
        "spawn-written",
        "before-fork",
        "after-fork",
        "begin-written",
        "cache-written",
        "settled-written",
        "ending-written",
    ];
    for point in POINTS {
        let mut stable = Stable::new();
        let base = trained(&stable);
        let transcript = fs::read(stable.ostler.home().session(base).transcript()).unwrap();
        let died = stable.path(&format!("died-{point}"));
        let file = died.to_str().unwrap().to_owned();
        let env = [("OSTLER_CRASH_AT", point), ("OSTLER_CRASH_ONCE", &*file), ("OSTLER_CRASH_KILLS", who)];
        let starter = stable.starter(&env);
        stable.starts_with(starter);
        let (fork, delivery) = forked(&stable, base, "a thing", None);
        stable.ostler.ensure(fork.id).unwrap();
        until(point, || died.exists().then_some(()));
        until("nothing to be owed any more", || {
            stable.ostler.sweep().unwrap();
            stable.ostler.db().sessions_owing().unwrap().is_empty().then_some(())
        });
        let turn = fork.wait();
        assert_eq!(turn.outcome, Some(Outcome::Completed), "{point}: {turn:?}");
        assert_eq!(fork.answer(), "Told a thing", "{point}");
        ran_once(&fork, &[delivery]);
        let rows = fork.projection();
        let seen: Vec<_> = rows.generations.iter().filter_map(|g| g.cache).collect();
        let [seen] = seen.as_slice() else { panic!("{point}: compared once: {rows:?}") };
        assert_eq!((seen.verdict(), seen.expected), (CacheVerdict::Hit, 1_000), "{point}");
        let own: u64 = rows.spend.iter().map(|s| s.tokens.cache_read).sum();
        assert_eq!(own, 1_000, "{point}: what was copied is not paid again: {rows:?}");
        let same = fs::read(stable.ostler.home().session(base).transcript()).unwrap() == transcript;
        assert!(same, "{point}: the base has changed");
        stable.finish();
    }
}

#[test]
fn j_a_controller_that_is_killed_over_a_fork_loses_and_doubles_nothing() {
    killed("controller");
}

#[test]
fn j_a_keeper_that_is_killed_over_a_fork_loses_and_doubles_nothing() {
    killed("keeper");
}

#[test]
fn j_keeper_and_controller_killed_over_a_fork_lose_and_double_nothing() {
    killed("both");
}

#[test]
fn l_no_more_forks_of_a_source_live_at_once_than_was_said() {
    let stable = Stable::new();
    let base = trained(&stable);
    let forks: Vec<_> = (0..4).map(|_| forked(&stable, base, "hold", Some(1)).0).collect();
    for fork in &forks {
        stable.ostler.ensure(fork.id).unwrap();
    }
    let lives = |fork: &Session<'_>| fork.status().process != "cold";
    let begun = stable.path("gates").join(base.to_string()).join("begun");
    until("the first of them", || begun.exists().then_some(()));
    until("the others to wait", || {
        let waits = forks
            .iter()
            .filter(|f| f.status().activity.as_deref() == Some("waiting for another fork to end"));
        (waits.count() == 3).then_some(())
    });
    assert_eq!(forks.iter().filter(|f| lives(f)).count(), 1);
    fs::write(stable.path("gates").join(base.to_string()).join("go"), "").unwrap();
    for fork in &forks {
        assert_eq!(fork.wait().outcome, Some(Outcome::Completed));
    }
    stable.finish();
}

/// A clock that has run out can't be waited for in a test: the base says that it was asked an hour earlier.
#[test]
fn k_of_a_cold_base_one_fork_goes_first_and_the_others_find_what_it_wrote() {
    let stable = Stable::new();
    let base = trained(&stable);
    let db = stable.ostler.db();
    let mut cold = db.base(base).unwrap().unwrap();
    cold.facts.as_mut().unwrap().requested_at = Millis(0);
    db.restore_base(&cold).unwrap();
    let (first, _) = forked(&stable, base, "cold", None);
    stable.ostler.ensure(first.id).unwrap();
    until("the first of them", || (first.status().process != "cold").then_some(()));
    let (second, _) = forked(&stable, base, "a thing", None);
    stable.ostler.ensure(second.id).unwrap();
    until("the second one to wait", || {
        let activity = second.status().activity;
        (activity.as_deref() == Some("waiting for the first fork to warm the cache")).then_some(())
    });
    assert_eq!(second.status().process, "cold");
    fs::write(stable.path("gates").join(base.to_string()).join("go"), "").unwrap();
    assert_eq!(second.wait().outcome, Some(Outcome::Completed));
    assert_eq!(first.wait().outcome, Some(Outcome::Completed));
    stable.finish();
}

#[test]
fn a_copy_of_half_a_turn_is_refused() {
    let stable = Stable::new();
    let base = trained(&stable);
    let (fork, _) = forked(&stable, base, "hold", None);
    let source = || {
        let row = stable.ostler.db().session(fork.id).unwrap().unwrap();
        stable.ostler.source(row).map(drop)
    };
    let running =
        |done: Result<(), ClientError>| matches!(done, Err(ClientError::Fork(ForkError::Running { .. })));
    assert!(running(source()), "before it has begun");
    stable.ostler.ensure(fork.id).unwrap();
    until("it to begin", || stable.path("gates").join(base.to_string()).join("begun").exists().then_some(()));
    assert!(running(source()), "in the middle of it");
    fs::write(stable.path("gates").join(base.to_string()).join("go"), "").unwrap();
    fork.wait();
    source().unwrap();
    stable.finish();
}
