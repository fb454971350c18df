use crate::part;
use crate::stage::{Stage, eventually, soon};
use ostler_os::lockfile::{lock_within, note, try_lock, try_lock_shared};
use ostler_os::process::PidFd;
use std::process::Stdio;
use std::time::{Duration, Instant};

#[test]
fn one_holder_at_a_time() {
    let stage = Stage::new();
    let path = stage.path("lock");
    let held = try_lock(&path).unwrap().expect("it is free");
    assert!(try_lock(&path).unwrap().is_none());
    assert!(try_lock_shared(&path).unwrap().is_none());
    drop(held);
    eventually(|| try_lock(&path).unwrap());
}

#[test]
fn shared_holders_share_and_keep_others_out() {
    let stage = Stage::new();
    let path = stage.path("lock");
    let first = try_lock_shared(&path).unwrap().expect("it is free");
    let second = try_lock_shared(&path).unwrap().expect("it can be shared");
    assert!(try_lock(&path).unwrap().is_none());
    drop((first, second));
    eventually(|| try_lock(&path).unwrap());
}

#[test]
fn a_glance_at_a_lock_keeps_nobody_from_it() {
    let stage = Stage::new();
    let path = stage.path("lock");
    let glance = try_lock_shared(&path).unwrap().expect("it is free");
    let begun = Instant::now();
    assert!(lock_within(&path, Duration::from_millis(5)).unwrap().is_none());
    assert!(begun.elapsed() >= Duration::from_millis(5));
    std::thread::scope(|scope| {
        let taker = scope.spawn(|| lock_within(&path, Duration::from_secs(20)).unwrap());
        drop(glance);
        assert!(taker.join().unwrap().is_some());
    });
}

#[test]
fn a_lock_on_a_removed_or_replaced_file_is_not_current() {
    let stage = Stage::new();
    let path = stage.path("lock");
    let old = try_lock(&path).unwrap().unwrap();
    assert!(old.is_current().unwrap());
    std::fs::remove_file(&path).unwrap();
    assert!(!old.is_current().unwrap());

    let new = try_lock(&path).unwrap().expect("the path names another file now");
    assert!(new.is_current().unwrap());
    assert!(!old.is_current().unwrap());
}

#[test]
fn a_lock_that_is_given_out_is_current() {
    part::play("lockfile::contest");
}

/// Holders remove the file before they let go, while others are between opening and locking it.
pub(crate) fn contest() {
    let stage = Stage::new();
    let path = stage.path("lock");
    let contend = || {
        let mut held = 0;
        while held < 1000 {
            let Some(lock) = try_lock(&path).unwrap() else { continue };
            assert!(lock.is_current().unwrap());
            std::fs::remove_file(&path).unwrap();
            held += 1;
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(contend);
        scope.spawn(contend);
    });
}

#[test]
fn a_note_is_replaced_whole_and_read_without_the_lock() {
    let stage = Stage::new();
    let path = stage.path("lock");
    assert_eq!(note(&path).unwrap(), b"");
    let held = try_lock(&path).unwrap().unwrap();
    held.set_note(b"a long note").unwrap();
    held.set_note(b"short").unwrap();
    assert_eq!(note(&path).unwrap(), b"short");
}

#[test]
fn a_killed_holder_frees_the_lock() {
    let stage = Stage::new();
    let mut ready = stage.report("ready");
    let mut holder = part::command("lockfile::holder", &[]);
    let mut holder = holder.env("DIR", stage.dir()).stdout(Stdio::null()).spawn().unwrap();
    ready.line();
    assert!(try_lock(&stage.path("lock")).unwrap().is_none());

    let pidfd = PidFd::open(holder.id()).unwrap().unwrap();
    pidfd.kill().unwrap();
    assert!(pidfd.wait(soon()).unwrap());
    eventually(|| try_lock(&stage.path("lock")).unwrap());
    holder.wait().unwrap();
}

/// Holds the lock until it is killed.
pub(crate) fn holder() {
    let dir = std::path::PathBuf::from(std::env::var_os("DIR").unwrap());
    let _held = try_lock(&dir.join("lock")).unwrap().expect("it is free");
    std::fs::write(dir.join("ready"), "ready\n").unwrap();
    loop {
        std::thread::park();
    }
}
