//! Another version of ostler takes a running session over.

use super::stable::{Session, Stable, is_dead, kill, until};
use ostler_core::ctl::Event;
use ostler_core::rows::{DeliveryState, Outcome};
use std::io::Write;
use std::path::Path;

/// A copy of ostler that says it is of that version, put in place at once.
fn install(path: &Path, version: &str) {
    let new = path.with_extension("new");
    std::fs::copy(env!("CARGO_BIN_EXE_ostler"), &new).unwrap();
    let mut file = std::fs::OpenOptions::new().append(true).open(&new).unwrap();
    writeln!(file, "\nostler-version={version}").unwrap();
    drop(file);
    std::fs::rename(new, path).unwrap();
}

/// The versions that have taken the child over.
fn adoptions(session: &Session<'_>) -> Vec<String> {
    let version = |row: ostler_core::ctl::Row| match row.ev {
        Event::Adopted { version, .. } => Some(version),
        _ => None,
    };
    session.rows(1).into_iter().filter_map(version).collect()
}

fn stable_of(version: &str) -> (Stable, std::path::PathBuf) {
    let mut stable = Stable::with(&[("OSTLER_TEST_VERSION", "own")]);
    let exe = stable.path("ostler");
    install(&exe, version);
    let mut starter = stable.starter(&[("OSTLER_TEST_VERSION", "own")]);
    starter.exe = exe.clone().into();
    stable.starts_with(starter);
    (stable, exe)
}

#[test]
fn a_new_version_takes_over_in_the_middle_of_a_turn() {
    let (stable, exe) = stable_of("0.0.1");
    let session = stable.session("turn\n say First{until one} and second{until two} and third.\n");
    let id = session.send("hello");
    session.row(1, "the line written", |ev| matches!(ev, Event::Done { .. }).then_some(()));
    let (child, keeper, controller) = (session.child(), session.keeper(), session.controller());

    // A face of another version asks, but what would come is the same file: nothing is won, and nobody leaves.
    stable.ostler.ensure(session.id).unwrap();
    assert_eq!((session.controller(), adoptions(&session)), (controller, vec![]));

    session.open("one");
    install(&exe, "0.0.2");
    stable.ostler.ensure(session.id).unwrap();
    assert_ne!(session.controller(), controller);
    until("the adoption", || (adoptions(&session) == ["0.0.2"]).then_some(()));
    assert_eq!((session.child(), session.keeper()), (child, keeper));

    // The next who asks finds the new version in its place.
    let after = session.controller();
    stable.ostler.ensure(session.id).unwrap();
    assert_eq!(session.controller(), after);

    session.open("two");
    assert_eq!(session.wait().outcome, Some(Outcome::Completed));
    assert_eq!(session.answer(), "First and second and third.");
    assert_eq!(session.dir.generations().unwrap(), [1]);
    assert_eq!((session.offers(id), session.delivery(id).state), (1, DeliveryState::Completed));
    assert!(session.dead(1).1, "its keeper is still its parent");
    stable.finish();
}

/// It can't be asked to, so it is killed: its successor adopts what it had.
#[test]
fn a_version_that_knows_no_leave_is_killed_for_the_next() {
    let (stable, exe) = stable_of("0.0.0");
    let session = stable.session("turn\n say First{until one} and second.\n");
    let id = session.send("hello");
    session.row(1, "the line written", |ev| matches!(ev, Event::Done { .. }).then_some(()));
    // Whoever sent it was of another version too, so this may not be the first controller; it is the one that stays.
    let (child, keeper, controller) = (session.child(), session.keeper(), session.controller());
    install(&exe, "0.0.2");
    stable.ostler.ensure(session.id).unwrap();
    assert!(is_dead(controller));
    until("the adoption", || (adoptions(&session).last()? == "0.0.2").then_some(()));
    assert_eq!((session.child(), session.keeper()), (child, keeper));
    session.open("one");
    assert_eq!(session.wait().outcome, Some(Outcome::Completed));
    assert_eq!(session.answer(), "First and second.");
    assert_eq!((session.offers(id), session.delivery(id).state), (1, DeliveryState::Completed));
    stable.finish();
}

/// A controller that dies is succeeded by whatever lies there now, too.
#[test]
fn after_a_crash_the_new_version_goes_on() {
    let (stable, exe) = stable_of("0.0.1");
    let session = stable.session("turn\n until go\n say done\n");
    session.send("hello");
    session.row(1, "the line written", |ev| matches!(ev, Event::Done { .. }).then_some(()));
    install(&exe, "0.0.2");
    kill(session.controller());
    until("the adoption", || (adoptions(&session) == ["0.0.2"]).then_some(()));
    session.open("go");
    assert_eq!(session.wait().outcome, Some(Outcome::Completed));
    stable.finish();
}

/// An upgrade that can't run takes nothing down: after it has failed a few times its keeper starts what it is itself.
#[test]
fn a_new_version_that_cannot_run_is_given_up() {
    let (stable, exe) = stable_of("0.0.1");
    let session = stable.session("turn\n until go\n say done\n");
    session.send("hello");
    session.row(1, "the line written", |ev| matches!(ev, Event::Done { .. }).then_some(()));
    super::stable::executable(&stable.path("broken"), "#!/bin/sh\nexit 3\n");
    std::fs::rename(stable.path("broken"), &exe).unwrap();
    kill(session.controller());
    until("the adoption", || (adoptions(&session) == ["0.0.1"]).then_some(()));
    session.open("go");
    assert_eq!(session.wait().outcome, Some(Outcome::Completed));
    stable.finish();
}

/// A line that is longer than the pipe is finished before the place is given up: a half line would spoil the pipe.
#[test]
fn a_long_line_is_finished_before_a_controller_leaves() {
    let (stable, exe) = stable_of("0.0.1");
    let session = stable.session("start\n deaf until ears\notherwise\n say heard\n");
    let id = session.send(&"x".repeat(3 << 20));
    session.row(1, "the line begun", |ev| matches!(ev, Event::Begin { .. }).then_some(()));
    let child = session.child();
    install(&exe, "0.0.2");
    stable.ostler.ensure(session.id).unwrap();
    assert_eq!(adoptions(&session), Vec::<String>::new(), "it waits for the line");
    session.open("ears");
    assert_eq!(session.wait().outcome, Some(Outcome::Completed));
    assert_eq!((session.child(), session.offers(id)), (child, 1));
    assert_eq!(session.dir.generations().unwrap(), [1]);
    stable.finish();
}
