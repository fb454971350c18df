use crate::part;
use crate::stage::{Stage, soon};
use ostler_os::process::PidFd;
use ostler_os::reap::{Exit, become_subreaper, has_children, is_subreaper, reap_all};
use ostler_os::spawn::spawn_child;
use std::collections::HashMap;
use std::process::Command;

#[test]
fn three_hundred_children_give_three_hundred_exact_codes() {
    part::play("reap::many");
}

#[expect(clippy::zombie_processes, reason = "reaping them otherwise is what is tested")]
pub(crate) fn many() {
    let mut expected = HashMap::new();
    let mut reaped = HashMap::new();
    for number in 0..300 {
        let code = number % 256;
        let child = Command::new("/bin/sh").args(["-c", &format!("exit {code}")]).spawn().unwrap();
        expected.insert(child.id(), Exit::Code(code));
        // In between, so that some die while others start.
        reaped.extend(reap_all().unwrap());
    }
    for pid in expected.keys() {
        if !reaped.contains_key(pid) {
            assert!(PidFd::open(*pid).unwrap().unwrap().wait(soon()).unwrap());
        }
    }
    for (pid, exit) in reap_all().unwrap() {
        assert_eq!(reaped.insert(pid, exit), None, "once each");
    }
    assert_eq!(reaped, expected);
    assert!(!has_children().unwrap());
    assert_eq!(reap_all().unwrap(), [], "no children is no error");
}

#[test]
fn a_subreaper_gets_the_orphans_while_its_child_lives() {
    part::play("reap::orphans");
}

pub(crate) fn orphans() {
    assert!(!is_subreaper().unwrap());
    become_subreaper().unwrap();
    assert!(is_subreaper().unwrap());
    let stage = Stage::new();
    let mut over = stage.report("over");
    // Each orphan holds the report open until it ends.
    let script = "exec 3>$DIR/over
        i=0; while [ $i -lt 100 ]; do (sh -c 'exit 3' &); i=$((i+1)); done
        exec 3>&-; exec sleep 1000";
    let child = spawn_child(&stage.script(script)).unwrap();
    over.rest();
    let mut orphans = 0;
    while orphans < 100 {
        for (pid, exit) in reap_all().unwrap() {
            assert_ne!(pid, child.pid);
            assert_eq!(exit, Exit::Code(3));
            orphans += 1;
        }
    }
    assert!(has_children().unwrap());
    child.pidfd.kill().unwrap();
    assert!(child.pidfd.wait(soon()).unwrap());
    assert_eq!(reap_all().unwrap(), [(child.pid, Exit::Signal(9))]);
}

#[test]
fn signals_are_told_from_codes() {
    part::play("reap::signals");
}

pub(crate) fn signals() {
    let stage = Stage::new();
    for (script, exit) in [
        ("kill -TERM $$", Exit::Signal(15)),
        ("exit 143", Exit::Code(143)),
        ("kill -SEGV $$", Exit::Signal(11)),
    ] {
        let child = spawn_child(&stage.script(script)).unwrap();
        assert!(child.pidfd.wait(soon()).unwrap());
        assert_eq!(reap_all().unwrap(), [(child.pid, exit)], "{script}");
    }
}
