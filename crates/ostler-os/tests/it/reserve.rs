use crate::part;
use crate::stage::Stage;
use ostler_os::durable::{free_space, open_private};
use ostler_os::reserve::{Backing, ReserveError, release_tail, top_up};
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::process::Command;

const RESERVE: u64 = 256 << 10;

fn allocated(file: &File) -> u64 {
    file.metadata().unwrap().blocks() * 512
}

#[test]
fn space_is_allocated_behind_the_end_and_given_back() {
    let stage = Stage::new();
    let mut file = open_private(&stage.path("out")).unwrap();
    file.write_all(b"line\n").unwrap();
    assert_eq!(top_up(&file, RESERVE).unwrap(), Backing::Allocated);
    assert_eq!(file.metadata().unwrap().len(), 5);
    assert!(allocated(&file) >= RESERVE, "{}", allocated(&file));

    // What is used is topped up again, what is there isn't taken twice.
    file.write_all(&vec![b'x'; 100_000]).unwrap();
    top_up(&file, RESERVE).unwrap();
    top_up(&file, RESERVE).unwrap();
    assert!((RESERVE + 100_000..RESERVE + 200_000).contains(&allocated(&file)), "{}", allocated(&file));
    release_tail(&file).unwrap();
    assert_eq!(file.metadata().unwrap().len(), 100_005);
    assert!(allocated(&file) < RESERVE, "{}", allocated(&file));
}

/// Plays a part in a mount namespace of its own.
#[track_caller]
fn play_with_mounts(part: &str) {
    let allowed = Command::new("unshare").args(["--mount", "true"]).status().unwrap().success();
    assert!(
        allowed,
        "this test mounts file systems of its own: run it as root (`unshare --mount true` fails)"
    );
    part::play_under(&["unshare", "--mount"], part);
}

#[track_caller]
fn mount(stage: &Stage, kind: &str, options: &str) {
    let mounted = Command::new("mount").args(["-t", kind, "-o", options, "test"]).arg(stage.dir()).status();
    assert!(mounted.unwrap().success(), "mount -t {kind}");
}

#[test]
fn a_full_disk_is_told_before_and_the_reserve_is_still_there() {
    play_with_mounts("reserve::full_disk");
}

pub(crate) fn full_disk() {
    let stage = Stage::new();
    mount(&stage, "tmpfs", "size=1m");
    let mut out = open_private(&stage.path("out")).unwrap();
    top_up(&out, RESERVE).unwrap();
    let mut other = open_private(&stage.path("other")).unwrap();
    let full = loop {
        if let Err(error) = other.write_all(&[0; 4096]) {
            break error;
        }
    };
    assert_eq!(full.kind(), ErrorKind::StorageFull);
    assert_eq!(free_space(stage.dir()).unwrap(), 0);

    let ReserveError::DiskFull(error) = top_up(&out, 2 * RESERVE).unwrap_err() else {
        panic!("another error")
    };
    assert_eq!((error.wanted, error.free), (2 * RESERVE, 0));
    let reserve = usize::try_from(RESERVE).unwrap();
    out.write_all(&vec![b'x'; reserve]).unwrap();
    assert_eq!(out.write_all(b"x").unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(out.metadata().unwrap().len(), RESERVE);
    drop((out, other));
    unmount(&stage);
}

#[test]
fn where_nothing_can_be_allocated_ahead_the_free_space_decides() {
    play_with_mounts("reserve::no_fallocate");
}

pub(crate) fn no_fallocate() {
    let stage = Stage::new();
    mount(&stage, "ramfs", "mode=0700");
    let out = open_private(&stage.path("out")).unwrap();
    // It has no limit of its own, which it tells as 0 blocks of 0.
    assert_eq!(top_up(&out, RESERVE).unwrap(), Backing::Free);
    drop(out);
    unmount(&stage);
}

fn unmount(stage: &Stage) {
    assert!(Command::new("umount").arg(stage.dir()).status().unwrap().success());
}
