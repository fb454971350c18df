use crate::part;
use crate::stage::{Stage, soon};
use ostler_os::poll::{Pollable, Waker};
use ostler_os::watch::{Backend, FileWatch, Woken};
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_millis(5);

fn append(path: &Path, text: &str) {
    OpenOptions::new().append(true).create(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

#[track_caller]
fn changed(watch: &mut FileWatch) -> Vec<PathBuf> {
    match watch.wait(Some(soon()), &[]).unwrap() {
        Woken::Changed(paths) => paths,
        woken => panic!("{woken:?}"),
    }
}

/// Reads what is there until nothing more comes.
#[track_caller]
fn settle(watch: &mut FileWatch) {
    while watch.wait(Some(Instant::now()), &[]).unwrap() != Woken::Deadline {}
}

#[track_caller]
fn is_quiet(watch: &mut FileWatch) {
    let woken = watch.wait(Some(Instant::now() + 3 * INTERVAL), &[]).unwrap();
    assert_eq!(woken, Woken::Deadline);
}

/// What holds whichever way one watches.
fn behaves(backend: Backend) {
    files_that_grow(backend);
    files_that_are_replaced(backend);
    files_that_go_and_come_back(backend);
    directories(backend);
    sets_of_files(backend);
    names_of_one_file(backend);
    others_and_deadlines(backend);
}

fn files_that_grow(backend: Backend) {
    let stage = Stage::new();
    let [out, ctl, unwatched] = ["out", "ctl", "err"].map(|name| stage.path(name));
    append(&out, "");
    append(&ctl, "");
    let mut watch = FileWatch::new(backend, INTERVAL);
    watch.add(&out).unwrap();
    watch.add(&ctl).unwrap();
    assert_eq!(watch.is_polling(), backend == Backend::Poll);
    is_quiet(&mut watch);
    append(&out, "line\n");
    assert_eq!(changed(&mut watch), [out.as_path()]);
    append(&unwatched, "line\n");
    append(&ctl, "line\n");
    assert_eq!(changed(&mut watch), [ctl.as_path()]);
    OpenOptions::new().write(true).truncate(true).open(&out).unwrap();
    assert_eq!(changed(&mut watch), [out.as_path()]);
    watch.remove(&out);
    append(&out, "line\n");
    is_quiet(&mut watch);
    let missing = watch.add(&stage.path("missing")).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
}

fn sets_of_files(backend: Backend) {
    let stage = Stage::new();
    let [first, second, missing] = ["first", "second", "missing"].map(|name| stage.path(name));
    append(&first, "");
    append(&second, "");
    let mut watch = FileWatch::new(backend, INTERVAL);
    assert!(watch.set([first.clone(), missing.clone()]));
    assert!(!watch.set([first.clone(), missing]), "nothing is new");
    append(&first, "line\n");
    assert_eq!(changed(&mut watch), [first.as_path()]);
    assert!(watch.set([second.clone()]));
    append(&first, "line\n");
    is_quiet(&mut watch);
    append(&second, "line\n");
    assert_eq!(changed(&mut watch), [second.as_path()]);
    assert!(!watch.set([]));
    append(&second, "line\n");
    is_quiet(&mut watch);
}

fn files_that_are_replaced(backend: Backend) {
    let stage = Stage::new();
    let path = stage.path("file");
    append(&path, "old");
    let mut watch = FileWatch::new(backend, INTERVAL);
    watch.add(&path).unwrap();
    append(&stage.path("new"), "new");
    fs::rename(stage.path("new"), &path).unwrap();
    assert_eq!(changed(&mut watch), [path.as_path()]);
    settle(&mut watch);
    append(&path, "more");
    assert_eq!(changed(&mut watch), [path]);
}

fn files_that_go_and_come_back(backend: Backend) {
    let stage = Stage::new();
    let path = stage.path("file");
    append(&path, "old");
    // Somebody has it open, as a child has its output.
    let _open = fs::File::open(&path).unwrap();
    let mut watch = FileWatch::new(backend, INTERVAL);
    watch.add(&path).unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(changed(&mut watch), [path.as_path()]);
    settle(&mut watch);
    append(&path, "back");
    assert_eq!(changed(&mut watch), [path.as_path()]);
    settle(&mut watch);
    append(&path, "more");
    assert_eq!(changed(&mut watch), [path]);
    assert_eq!(watch.is_polling(), backend == Backend::Poll, "the new file is watched like the old one");
}

fn directories(backend: Backend) {
    let stage = Stage::new();
    let path = stage.path("gen");
    fs::create_dir(&path).unwrap();
    let mut watch = FileWatch::new(backend, INTERVAL);
    watch.add(&path).unwrap();
    fs::create_dir(path.join("0001")).unwrap();
    assert_eq!(changed(&mut watch), [path.as_path()]);
    settle(&mut watch);
    fs::rename(path.join("0001"), path.join("0002")).unwrap();
    assert_eq!(changed(&mut watch), [path.as_path()]);
    settle(&mut watch);
    fs::remove_dir(path.join("0002")).unwrap();
    assert_eq!(changed(&mut watch), [path]);
}

fn names_of_one_file(backend: Backend) {
    let stage = Stage::new();
    let [first, second] = ["a", "b"].map(|name| stage.path(name));
    append(&first, "");
    fs::hard_link(&first, &second).unwrap();
    let mut watch = FileWatch::new(backend, INTERVAL);
    watch.add(&first).unwrap();
    watch.add(&second).unwrap();
    append(&first, "x");
    assert_eq!(changed(&mut watch), [first.clone(), second.clone()]);
    watch.remove(&first);
    settle(&mut watch);
    append(&first, "x");
    assert_eq!(changed(&mut watch), [second]);
}

fn others_and_deadlines(backend: Backend) {
    let stage = Stage::new();
    let path = stage.path("file");
    append(&path, "");
    let mut watch = FileWatch::new(backend, INTERVAL);
    watch.add(&path).unwrap();
    let wakers = [Waker::new().unwrap(), Waker::new().unwrap()];
    let others = wakers.each_ref().map(Pollable::source);
    assert_eq!(watch.wait(Some(Instant::now()), &others).unwrap(), Woken::Deadline);
    wakers[1].wake();
    append(&path, "x");
    // Both are there; who asks to stop is heard first.
    assert_eq!(watch.wait(None, &others).unwrap(), Woken::Other(1));
    wakers[1].clear();
    assert_eq!(watch.wait(None, &others).unwrap(), Woken::Changed(vec![path]));
}

#[test]
fn polling_sees_what_events_see() {
    behaves(Backend::Poll);
}

#[test]
fn events_see_what_polling_sees() {
    part::play("watch::events");
}

pub(crate) fn events() {
    behaves(Backend::Auto);
}

#[test]
fn an_event_comes_without_an_interval() {
    part::play("watch::one_instance");
}

pub(crate) fn one_instance() {
    let stage = Stage::new();
    let path = stage.path("file");
    append(&path, "");
    let hour = Duration::from_secs(3600);
    let mut first = FileWatch::new(Backend::Auto, hour);
    first.add(&path).unwrap();
    // A process has one instance; the second watch must do without.
    let mut second = FileWatch::new(Backend::Auto, INTERVAL);
    second.add(&path).unwrap();
    assert!(!first.is_polling() && second.is_polling());
    append(&path, "x");
    assert_eq!(changed(&mut first), [path.as_path()]);
    assert_eq!(changed(&mut second), [path.as_path()]);
    drop(first);
    let mut third = FileWatch::new(Backend::Auto, hour);
    third.add(&path).unwrap();
    assert!(!third.is_polling(), "the instance was given back");
}

#[test]
fn without_an_instance_to_be_had_it_polls() {
    // A user namespace has its own limit, which we may set there.
    let none = "echo 0 >/proc/sys/user/max_inotify_instances && exec \"$@\"";
    part::play_under(&["unshare", "--user", "--map-root-user", "sh", "-c", none, "sh"], "watch::no_instance");
}

pub(crate) fn no_instance() {
    let error = rustix::fs::inotify::init(rustix::fs::inotify::CreateFlags::empty()).unwrap_err();
    assert_eq!(error, rustix::io::Errno::MFILE, "else this tests nothing");
    let stage = Stage::new();
    let path = stage.path("file");
    append(&path, "");
    let mut watch = FileWatch::new(Backend::Auto, INTERVAL);
    watch.add(&path).unwrap();
    assert!(watch.is_polling());
    append(&path, "x");
    assert_eq!(changed(&mut watch), [path]);
}

#[test]
fn lost_events_ask_for_a_rescan_and_the_watch_goes_on() {
    part::play("watch::overflow");
}

pub(crate) fn overflow() {
    let stage = Stage::new();
    let [first, second] = ["a", "b"].map(|name| stage.path(name));
    append(&first, "");
    append(&second, "");
    let mut watch = FileWatch::new(Backend::Auto, INTERVAL);
    watch.add(&first).unwrap();
    watch.add(&second).unwrap();
    assert!(!watch.is_polling());
    let limit = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let limit: usize = limit.trim().parse().unwrap();
    // Equal events in a row are merged, so they alternate.
    let mut files = [&first, &second].map(|path| OpenOptions::new().append(true).open(path).unwrap());
    for _ in 0..=limit / 2 {
        for file in &mut files {
            file.write_all(b"x").unwrap();
        }
    }
    let mut woken = watch.wait(Some(soon()), &[]).unwrap();
    while matches!(woken, Woken::Changed(_)) {
        woken = watch.wait(Some(soon()), &[]).unwrap();
    }
    assert_eq!(woken, Woken::Rescan);
    settle(&mut watch);
    append(&second, "x");
    assert_eq!(changed(&mut watch), [second]);
}
