use crate::stage::soon;
use ostler_os::poll::{Interest, Pollable, Poller, Waker};
use ostler_os::{limits, me};
use std::time::{Duration, Instant};

#[test]
fn limits_are_told() {
    let inotify = limits::inotify().unwrap();
    assert!(inotify.max_watches > 0);
    let before = inotify.instances_in_use;
    let _one = rustix::fs::inotify::init(rustix::fs::inotify::CreateFlags::CLOEXEC).unwrap();
    // Others take and give instances meanwhile; ours at least is seen.
    assert!(limits::inotify().unwrap().instances_in_use >= 1, "before: {before}");
    let memory = limits::memory().unwrap();
    assert!(memory.available > 0 && memory.available <= memory.total, "{memory:?}");
    let files = limits::open_files().unwrap();
    assert!(files.soft.unwrap_or(u64::MAX) <= files.hard.unwrap_or(u64::MAX));
    limits::raise_open_files().unwrap();
    assert_eq!(limits::open_files().unwrap().soft, files.hard);
    assert!(limits::cpus() >= 1);
}

#[test]
fn this_process_knows_itself() {
    assert_eq!(me::uid() == 0, limits::is_root());
    assert_eq!(std::fs::canonicalize(me::exe().unwrap()).unwrap(), me::exe_path().unwrap());
    assert!(!me::hostname().is_empty());
}

#[test]
fn a_waker_ends_a_wait_in_another_thread() {
    let waker = Waker::new().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| waker.wake());
        let mut poller = Poller::new();
        let index = poller.add(waker.source(), Interest::Read);
        assert_eq!(poller.wait(Some(soon())).unwrap(), 1);
        assert!(poller.ready(index).read && !poller.ready(index).write);
    });
    for _ in 0..100_000 {
        waker.wake();
    }
    assert!(waker.clear(), "a full bell still rings");
    assert!(!waker.clear());
}

#[test]
fn a_wait_ends_at_its_deadline_not_before() {
    let waker = Waker::new().unwrap();
    let mut poller = Poller::new();
    let index = poller.add(waker.source(), Interest::Read);
    let deadline = Instant::now() + Duration::from_millis(5);
    assert_eq!(poller.wait(Some(deadline)).unwrap(), 0);
    assert!(Instant::now() >= deadline);
    assert!(!poller.ready(index).any());
    assert_eq!(poller.wait(Some(deadline)).unwrap(), 0, "a deadline in the past is no wait");
}
