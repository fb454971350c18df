use crate::part;
use crate::stage::{Cast, Stage, becomes, becomes_free, has_open, soon, status_field};
use ostler_os::fifo;
use ostler_os::process::PidFd;
use ostler_os::reap::{Exit, reap_all};
use ostler_os::spawn::{SpawnError, spawn_child};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::ffi::OsString;
use std::fs;
use std::os::fd::AsFd;

#[test]
fn a_child_has_exactly_the_environment_arguments_and_cwd_it_was_given() {
    let stage = Stage::new();
    fs::create_dir(stage.path("work")).unwrap();
    let mut spec = stage.program(["env", "-0"]);
    spec.env = vec![("PATH".into(), "/usr/bin:/bin".into()), ("EMPTY".into(), OsString::new())];
    spec.cwd = stage.path("work");
    Cast::start(&spec).ended();
    assert_eq!(stage.read("out"), "PATH=/usr/bin:/bin\0EMPTY=\0");

    let other = Stage::new();
    let mut spec = other.script("pwd; for word; do echo \"<$word>\"; done");
    spec.argv.extend(["name".into(), "two words".into(), OsString::new(), "-x".into()]);
    spec.cwd = stage.path("work");
    Cast::start(&spec).ended();
    let work = stage.path("work");
    assert_eq!(other.read("out"), format!("{}\n<two words>\n<>\n<-x>\n", work.display()));
}

#[test]
fn output_is_appended_and_private() {
    use std::os::unix::fs::PermissionsExt;
    let stage = Stage::new();
    fs::write(stage.path("out"), "before\n").unwrap();
    Cast::start(&stage.script("echo after; echo oops >&2")).ended();
    assert_eq!(stage.read("out"), "before\nafter\n");
    assert_eq!(stage.read("err"), "oops\n");
    assert_eq!(fs::metadata(stage.path("err")).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_relative_program_counts_from_its_cwd() {
    let stage = Stage::new();
    std::os::unix::fs::symlink("/bin/echo", stage.path("say")).unwrap();
    Cast::start(&stage.program(["./say", "hello"])).ended();
    assert_eq!(stage.read("out"), "hello\n");
}

#[test]
fn two_children_at_once_do_not_hold_each_others_files() {
    let stages = [Stage::new(), Stage::new()];
    let children = stages.each_ref().map(|stage| Cast::start(&stage.program(["sleep", "1000"])));
    children[0].0.pidfd.kill().unwrap();
    children[0].ended();
    becomes_free(&stages[0].path("alive"));
    let error = fifo::open_writer(&stages[0].path("in")).unwrap_err();
    assert!(matches!(error, fifo::OpenError::NoReader { .. }), "{error}");
}

#[test]
fn nothing_of_odd_surroundings_reaches_the_child() {
    let launcher = ["nice", "-n", "5", "env", "--ignore-signal=HUP,USR1,CHLD", "--block-signal=TERM,USR2"];
    part::play_under(&launcher, "spawn::from_odd_surroundings");
}

pub(crate) fn from_odd_surroundings() {
    let stage = Stage::new();
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o007));
    let hard = getrlimit(Resource::Cpu).maximum;
    setrlimit(Resource::Cpu, Rlimit { current: Some(1000), maximum: hard }).unwrap();
    let nofile = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(64), maximum: nofile.maximum }).unwrap();
    let leaked = fs::File::open("/dev/null").unwrap();
    rustix::io::fcntl_setfd(&leaked, rustix::io::FdFlags::empty()).unwrap();

    let mut ready = stage.report("ready");
    let mut spec = stage.script("umask; ulimit -t; echo ready >$DIR/ready; exec sleep 1000");
    spec.oom_score_adj = Some(300);
    let child = Cast::start(&spec);
    ready.line();
    let pid = child.0.pid;
    becomes(pid, &["sleep", "1000"]);

    assert_eq!(status_field(pid, "SigBlk"), "0000000000000000");
    assert_eq!(status_field(pid, "SigIgn"), "0000000000000000");
    let cpu = hard.map_or("unlimited".to_owned(), |limit| limit.to_string());
    assert_eq!(stage.read("out"), format!("0022\n{cpu}\n"));
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let open_files = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let soft: u64 = open_files.split_ascii_whitespace().nth(3).unwrap().parse().unwrap();
    assert_eq!(soft, nofile.maximum.unwrap_or(u64::MAX).min(65_536));
    assert_eq!(fs::read_to_string(format!("/proc/{pid}/oom_score_adj")).unwrap(), "300\n");

    // pid (comm) state ppid pgrp session …, nice is field 19.
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    assert_eq!(fields[2], pid.to_string(), "its own process group");
    assert_eq!(fields[3], pid.to_string(), "its own session");
    assert_eq!(fields[16], "0", "nice");

    has_open(pid, &["alive", "err", "in", "out"].map(|name| stage.path(name)));
    let flags = fs::read_to_string(format!("/proc/{pid}/fdinfo/0")).unwrap();
    let flags = flags.lines().find_map(|line| line.strip_prefix("flags:")).unwrap().trim();
    let flags = i32::from_str_radix(flags, 8).unwrap();
    assert_eq!(flags & (libc::O_ACCMODE | libc::O_NONBLOCK), libc::O_RDWR, "stdin");
    assert!(leaked.as_fd().try_clone_to_owned().is_ok(), "we have it still");

    // SIGCHLD was ignored when this began, and yet the exit status is here.
    child.0.pidfd.kill().unwrap();
    assert!(child.0.pidfd.wait(soon()).unwrap());
    assert_eq!(reap_all().unwrap(), [(pid, Exit::Signal(9))]);
}

#[test]
fn a_caller_that_ignores_sigchld_gets_errors_and_statuses_all_the_same() {
    part::play_under(&["env", "--ignore-signal=CHLD"], "spawn::ignored_sigchld");
}

pub(crate) fn ignored_sigchld() {
    let ignored = u64::from_str_radix(&status_field(std::process::id(), "SigIgn"), 16).unwrap();
    assert_ne!(ignored & (1 << (libc::SIGCHLD - 1)), 0, "else this tests nothing");
    let stage = Stage::new();
    fs::write(stage.path("text"), "no program").unwrap();
    let error = spawn_child(&stage.program(["./text"])).unwrap_err();
    assert!(matches!(error, SpawnError::NotExecutable { .. }), "{error}");

    let child = spawn_child(&stage.script("exit 7")).unwrap();
    assert!(child.pidfd.wait(soon()).unwrap());
    assert_eq!(reap_all().unwrap(), [(child.pid, Exit::Code(7))]);
}

#[test]
fn a_child_that_ends_at_once_is_started_all_the_same() {
    for _ in 0..20 {
        let stage = Stage::new();
        let child = Cast::start(&stage.program(["true"]));
        assert!(child.0.start_ticks > 0);
        child.ended();
        assert!(PidFd::open(child.0.pid).unwrap().is_some());
    }
}

#[test]
fn a_spec_is_shown_without_the_values_of_its_environment() {
    let mut spec = Stage::new().program(["true"]);
    spec.env.push(("API_KEY".into(), "hush".into()));
    let shown = format!("{spec:?}");
    assert!(shown.contains("API_KEY") && !shown.contains("hush"), "{shown}");
}
