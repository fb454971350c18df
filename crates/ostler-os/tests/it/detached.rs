use crate::part;
use crate::stage::{Doomed, Stage, becomes, has_open, soon, status_field};
use ostler_os::process::{PidFd, identity_of, still_is};
use ostler_os::spawn::{NotExecutable, SpawnError, spawn_detached};
use ostler_os::{me, tree};
use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

fn words<const N: usize>(words: [&str; N]) -> Vec<OsString> {
    words.map(OsString::from).to_vec()
}

#[test]
fn a_detached_process_has_nothing_of_its_starter() {
    let stage = Stage::new();
    let mut ready = stage.report("ready");
    let script = "umask; pwd; env >&2; echo ready >$DIR/ready; exec sleep 1000";
    let started = spawn_detached(&words(["sh", "-c", script]), &stage.env(), &stage.path("log")).unwrap();
    let _doomed = Doomed::new(&started);
    ready.line();
    let pid = started.pid;
    becomes(pid, &["sleep", "1000"]);

    assert_ne!(status_field(pid, "PPid"), std::process::id().to_string());
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    assert_eq!([fields[2], fields[3]], [pid.to_string(), pid.to_string()], "group and session");
    assert_eq!(fs::read_link(format!("/proc/{pid}/cwd")).unwrap(), PathBuf::from("/"));

    has_open(pid, &["/dev/null".into(), stage.path("log"), stage.path("log")]);
    let log = stage.read("log");
    let dir = format!("DIR={}", stage.dir().display());
    assert!(log.starts_with("0077\n/\n") && log.contains(&dir), "{log}");
    assert!(!log.contains("CARGO"), "{log}");
}

#[test]
fn one_that_ends_at_once_was_started_all_the_same() {
    let stage = Stage::new();
    for _ in 0..20 {
        let started = spawn_detached(&words(["true"]), &stage.env(), &stage.path("log")).unwrap();
        assert!(started.start_ticks > 0);
    }
}

#[test]
fn a_failed_exec_is_told() {
    let stage = Stage::new();
    let error = spawn_detached(&words(["/nowhere/ostler"]), &stage.env(), &stage.path("log")).unwrap_err();
    assert!(matches!(error, SpawnError::NotFound { .. }), "{error}");
    let error = spawn_detached(&words(["/etc/passwd"]), &stage.env(), &stage.path("log")).unwrap_err();
    assert!(matches!(error, SpawnError::NotExecutable { why: NotExecutable::Permission, .. }), "{error}");
}

#[test]
fn survives_the_end_of_its_starters_group_and_tree() {
    let stage = Stage::new();
    let mut pid = stage.report("pid");
    let mut starter = part::command("detached::starter", &[]);
    starter.env("DIR", stage.dir()).stdout(Stdio::null()).process_group(0);
    let mut starter = starter.spawn().unwrap();
    let starter_identity = identity_of(starter.id()).unwrap().unwrap();
    let detached = identity_of(pid.line().parse().unwrap()).unwrap().unwrap();
    let doomed = Doomed::new(&detached);

    let killed = tree::kill_tree(&tree::KillPlan {
        roots: &[starter_identity],
        marker: None,
        scope: None,
        own_children: false,
        keep: &|_| false,
        deadline: soon(),
    });
    assert!(killed.unwrap().killed >= 1);
    let group = rustix::process::Pid::from_child(&starter);
    // The group may be gone with its last member.
    let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    starter.wait().unwrap();

    assert!(!doomed.0.wait(Instant::now()).unwrap());
    assert!(still_is(&detached).unwrap());
}

/// Starts a detached process and stays.
pub(crate) fn starter() {
    let stage = PathBuf::from(std::env::var_os("DIR").unwrap());
    let env = [("PATH".into(), "/usr/bin:/bin".into())];
    let started = spawn_detached(&words(["sleep", "1000"]), &env, &stage.join("log")).unwrap();
    fs::write(stage.join("pid"), format!("{}\n", started.pid)).unwrap();
    loop {
        std::thread::park();
    }
}

#[test]
fn this_executable_starts_again_after_it_was_deleted() {
    let stage = Stage::new();
    let copy = stage.path("copy");
    // Not by this process: see `Stage::executable`.
    let copied = Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&copy).status();
    assert!(copied.unwrap().success());
    let mut done = stage.report("done");
    let mut part =
        part::command("detached::from_deleted_exe", &["sh", "-c", "shift; exec $DIR/copy \"$@\"", "sh"]);
    let mut part = part.env("DIR", stage.dir()).stdout(Stdio::null()).spawn().unwrap();
    let again: u32 = done.line().parse().unwrap();
    assert!(part.wait().unwrap().success());
    assert!(!copy.exists());
    // It lists its tests and ends, if it hasn't yet.
    if let Some(again) = PidFd::open(again).unwrap() {
        assert!(again.wait(soon()).unwrap());
    }
    assert!(stage.read("log").contains("part::played: test"), "{}", stage.read("log"));
}

pub(crate) fn from_deleted_exe() {
    let stage = PathBuf::from(std::env::var_os("DIR").unwrap());
    fs::remove_file(stage.join("copy")).unwrap();
    let argv = [me::exe().unwrap().into(), "--list".into()];
    let again = spawn_detached(&argv, &[], &stage.join("log")).unwrap();
    fs::write(stage.join("done"), format!("{}\n", again.pid)).unwrap();
}
