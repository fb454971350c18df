use crate::part;
use crate::stage::{Cast, Stage, becomes_free, eventually, soon};
use ostler_os::alive::{AliveError, AliveLock, is_busy};
use ostler_os::process;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn busy_while_the_child_lives_and_free_once_it_is_a_zombie() {
    let stage = Stage::new();
    let child = Cast::start(&stage.program(["sleep", "1000"]));
    assert!(is_busy(&stage.path("alive")).unwrap());

    child.0.pidfd.kill().unwrap();
    child.ended();
    becomes_free(&stage.path("alive"));
    assert!(process::identity_of(child.0.pid).unwrap().is_some(), "nobody has reaped it");
}

#[test]
fn busy_as_long_as_anybody_who_inherited_it_lives() {
    let stage = Stage::new();
    let mut pid = stage.report("pid");
    let child = Cast::start(&stage.script("sleep 1000 & echo $! >$DIR/pid"));
    let heir: u32 = pid.line().parse().unwrap();
    child.ended();
    assert!(is_busy(&stage.path("alive")).unwrap());

    let heir = process::PidFd::open(heir).unwrap().unwrap();
    heir.kill().unwrap();
    assert!(heir.wait(soon()).unwrap());
    becomes_free(&stage.path("alive"));
}

#[test]
fn a_file_that_never_was_is_free() {
    assert!(!is_busy(&Stage::new().path("alive")).unwrap());
}

#[test]
fn a_held_lock_is_not_taken_again() {
    let stage = Stage::new();
    let held = AliveLock::create(&stage.path("alive")).unwrap();
    let error = AliveLock::create(&stage.path("alive")).unwrap_err();
    assert!(matches!(error, AliveError::Busy { path } if path == held.path()));
    drop(held);
    eventually(|| AliveLock::create(&stage.path("alive")).ok());
}

#[test]
fn a_probe_is_not_taken_for_a_child() {
    let stage = Stage::new();
    drop(AliveLock::create(&stage.path("alive")).unwrap());
    becomes_free(&stage.path("alive"));
    // What a probe does, and is in the middle of.
    let probe = std::fs::File::open(stage.path("alive")).unwrap();
    probe.lock_shared().unwrap();
    assert!(!is_busy(&stage.path("alive")).unwrap());
    std::thread::scope(|scope| {
        let taken = scope.spawn(|| AliveLock::create(&stage.path("alive")));
        drop(probe);
        taken.join().unwrap().unwrap();
    });
}

#[test]
fn probes_disturb_neither_each_other_nor_who_takes_the_lock() {
    part::play("alive::probes");
}

/// Nobody forks here, so that only probes can be in the way.
pub(crate) fn probes() {
    let stage = Stage::new();
    let path = stage.path("alive");
    drop(AliveLock::create(&path).unwrap());
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let probe = || {
            while !over.load(Ordering::Relaxed) {
                is_busy(&path).unwrap();
            }
        };
        scope.spawn(probe);
        scope.spawn(probe);
        for _ in 0..500 {
            drop(AliveLock::create(&path).unwrap());
        }
        over.store(true, Ordering::Relaxed);
    });
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..1000 {
                    assert!(!is_busy(&path).unwrap(), "a probe was taken for a child");
                }
            });
        }
    });
}
