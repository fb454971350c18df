//! How a child comes into being, and into its group: forked into it where the kernel can, moved into it elsewhere.

use crate::part;
use crate::scope::{Room, kinds};
use crate::stage::{Cast, Stage, has_open};
use ostler_os::reap::has_children;
use ostler_os::scope::{Caps, Hierarchies, Scope};
use ostler_os::spawn::{ChildSpec, NotExecutable, SpawnError, spawn_child, spawn_detached};
use std::fs;
use std::io::ErrorKind;

/// From here on the system call gives ENOSYS to this thread and to all that it starts, as on a kernel or in a sandbox
/// that hasn't got it; where `third` is given only with that third argument.
fn refuse(call: libc::c_long, third: Option<u32>) {
    #![expect(unsafe_code, reason = "a seccomp filter is set by a bare system call")]
    let load = |offset| step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, offset);
    let unless = |value, skip| step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, skip, value);
    let give = |what| step(libc::BPF_RET | libc::BPF_K, 0, 0, what);
    // `struct seccomp_data`: the number of the call, and from 16 on its arguments of eight bytes each.
    let lower_half = if cfg!(target_endian = "little") { 0 } else { 4 };
    let mut filter = vec![load(0), unless(u32::try_from(call).unwrap(), if third.is_some() { 3 } else { 1 })];
    if let Some(third) = third {
        filter.extend([load(16 + 2 * 8 + lower_half), unless(third, 1)]);
    }
    filter.push(give(libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs()));
    filter.push(give(libc::SECCOMP_RET_ALLOW));
    let length = u16::try_from(filter.len()).unwrap();
    let program = libc::sock_fprog { len: length, filter: filter.as_mut_ptr() };
    // SAFETY: the program is valid for reads for the whole call.
    let set = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            | libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
    };
    assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
}

fn step(code: u32, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: u16::try_from(code).unwrap(), jt, jf, k }
}

/// The first thing that the child does is to look where it is: in a group of that version, with nothing open of it.
fn starts_inside(which: Hierarchies) {
    let stage = Stage::new();
    let room = Room::make(&stage, &Caps::default(), which);
    let mut ready = stage.report("ready");
    let mut spec = stage.program(["/bin/cat", "/proc/self/cgroup"]);
    spec.scope = Some(room.0.clone());
    Cast::start(&spec).ended();
    let groups = stage.read("out");
    let line = groups.lines().find(|line| line.contains("ostler-gen-")).expect(&groups);
    let two = room.0.text().starts_with("v2 ");
    assert_eq!(line.starts_with("0::"), two, "{which:?}: {line}");

    spec.argv = ["/bin/sh", "-c", "echo ready >$DIR/ready; exec sleep 1000"].map(Into::into).to_vec();
    let child = Cast::start(&spec);
    ready.line();
    has_open(child.0.pid, &["alive", "err", "in", "out"].map(|name| stage.path(name)));
    assert_eq!(room.0.members().unwrap(), [child.0.pid]);
}

/// What is wrong with a program is told, and nothing stays.
fn fails_as_ever(scope: Option<&Scope>) {
    let stage = Stage::new();
    stage.executable("tool", "text\n");
    let mut spec = stage.program(["./tool"]);
    spec.scope = scope.cloned();
    let error = spawn_child(&spec).unwrap_err();
    assert!(matches!(error, SpawnError::NotExecutable { why: NotExecutable::Format, .. }), "{error}");
    assert!(!has_children().unwrap());
    let error = spawn_detached(&["./tool".into()], &stage.env(), &stage.path("log")).unwrap_err();
    assert!(matches!(error, SpawnError::NotFound { .. }), "{error}");
    assert!(!has_children().unwrap());
}

#[test]
fn a_child_begins_in_its_group_without_a_move() {
    part::play("fork::begins_inside");
}

pub(crate) fn begins_inside() {
    // Who moves writes one byte.
    refuse(libc::SYS_write, Some(1));
    let two = |which: &Hierarchies| {
        let plan = Scope::plan("probe", &Caps::default(), *which).unwrap();
        plan.is_some_and(|scope| scope.text().starts_with("v2 "))
    };
    kinds().into_iter().filter(two).for_each(starts_inside);
    let one = |which: &Hierarchies| !two(which);
    for which in kinds().into_iter().filter(one) {
        let stage = Stage::new();
        let room = Room::make(&stage, &Caps::default(), which);
        let mut spec = stage.program(["true"]);
        spec.scope = Some(room.0.clone());
        // Else the refusal refuses nothing.
        assert!(matches!(spawn_child(&spec), Err(SpawnError::Scope { .. })));
    }
}

#[test]
fn where_that_is_refused_it_moves_there_first() {
    part::play("fork::moves_inside");
}

pub(crate) fn moves_inside() {
    refuse(libc::SYS_clone3, None);
    for which in kinds() {
        starts_inside(which);
        let stage = Stage::new();
        fails_as_ever(Some(&Room::make(&stage, &Caps::default(), which).0));
    }
    fails_as_ever(None);
}

/// A group that is none, whose door leads to that file.
fn sham(stage: &Stage, version: &str, door: &str) -> Scope {
    let dir = stage.path(&format!("ostler-gen-{version}"));
    fs::create_dir(&dir).unwrap();
    std::os::unix::fs::symlink(door, dir.join("cgroup.procs")).unwrap();
    Scope::read(&format!("{version} {}\n", dir.display())).unwrap()
}

#[test]
fn a_group_that_cannot_be_forked_into_is_entered_by_its_door() {
    let stage = Stage::new();
    fs::write(stage.path("door"), "").unwrap();
    let mut spec = stage.script("cat $DIR/door");
    spec.scope = Some(sham(&stage, "v2", stage.path("door").to_str().unwrap()));
    Cast::start(&spec).ended();
    assert_eq!(stage.read("out"), "0", "before anything of the program ran");
}

#[test]
fn a_group_that_cannot_be_entered_is_told_from_a_program_that_cannot_run() {
    for version in ["v1", "v2"] {
        let stage = Stage::new();
        let mut spec = stage.script("echo surprise");
        spec.scope = Some(sham(&stage, version, "/dev/full"));
        let SpawnError::Scope { source, .. } = spawn_child(&spec).unwrap_err() else {
            panic!("another error")
        };
        assert_eq!(source.kind(), ErrorKind::StorageFull);
        assert_eq!(stage.read("out"), "");
    }
}

#[test]
fn neither_starts_nor_failures_leave_anything_open() {
    part::play("fork::nothing_leaks");
}

pub(crate) fn nothing_leaks() {
    let stage = Stage::new();
    let open = || fs::read_dir("/proc/self/fd").unwrap().count();
    let mask = || {
        // Of this thread; the runner's own one blocks all signals for a moment when it starts another.
        let status = fs::read_to_string("/proc/thread-self/status").unwrap();
        status.lines().find(|line| line.starts_with("SigBlk")).unwrap().to_owned()
    };
    let before = (open(), mask());
    let start = |spec: &ChildSpec| Cast::start(spec).ended();
    for which in kinds() {
        let room = Room::make(&stage, &Caps::default(), which);
        let mut spec = stage.program(["true"]);
        spec.scope = Some(room.0.clone());
        start(&spec);
        fails_as_ever(Some(&room.0));
    }
    start(&stage.program(["true"]));
    fails_as_ever(None);
    spawn_detached(&["true".into()], &stage.env(), &stage.path("log")).unwrap();
    assert_eq!((open(), mask()), before);
}

#[test]
fn a_starter_without_stdio_gives_its_child_one() {
    part::play("fork::closed_stdio");
}

pub(crate) fn closed_stdio() {
    #![expect(unsafe_code, reason = "numbers that nobody else uses here are closed")]
    let stage = Stage::new();
    let mut ready = stage.report("ready");
    let spec = stage.script("echo ready >$DIR/ready; exec sleep 1000");
    // Kept, for the test runner has something to say at its end.
    let kept = [0, 1].map(|number| {
        // SAFETY: both are open, and taken back below.
        unsafe {
            let copy = libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 10);
            libc::close(number);
            copy
        }
    });
    let child = spawn_child(&spec).map(Cast);
    for (number, copy) in (0..).zip(kept) {
        // SAFETY: the copy is ours.
        assert_eq!(unsafe { libc::dup2(copy, number) }, number);
    }
    let child = child.unwrap();
    ready.line();
    has_open(child.0.pid, &["alive", "err", "in", "out"].map(|name| stage.path(name)));
}
