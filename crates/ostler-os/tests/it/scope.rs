//! Control groups. Which kinds this machine lets us make is asked first, and every kind that it does is tried; where it
//! lets us make none, what is tested is that callers are told so.

use crate::part;
use crate::stage::{Cast, Doomed, Stage, soon};
use ostler_os::process::{identity_of, still_is};
use ostler_os::scope::{self, Caps, Hierarchies, Scope, ScopeError};
use ostler_os::spawn::{spawn_child, spawn_detached};
use ostler_os::tree::{KillPlan, Killed, kill_tree};
use std::path::Path;
use std::process::Command;

const NOBODY: &dyn Fn(u32) -> bool = &|_| false;

/// The kinds of groups that can be made here.
pub(crate) fn kinds() -> Vec<Hierarchies> {
    let mut kinds = Vec::new();
    for which in [Hierarchies::Any, Hierarchies::One] {
        let plan = Scope::plan("probe", &Caps::default(), which).unwrap();
        kinds.extend(plan.map(|_| which));
    }
    kinds
}

/// A scope of the test's own, made; its members killed and it removed at the end.
pub(crate) struct Room(pub(crate) Scope);

impl Room {
    pub(crate) fn make(stage: &Stage, caps: &Caps, which: Hierarchies) -> Self {
        let name = format!("test-{which:?}-{}", stage.dir().file_name().unwrap().to_str().unwrap());
        let scope = Scope::plan(&name, caps, which).unwrap().expect("a group can be made");
        scope.make(caps).unwrap();
        Self(scope)
    }

    fn kill(&self, keep: &dyn Fn(u32) -> bool) -> Killed {
        let scope = Some(&self.0);
        kill_tree(&KillPlan { roots: &[], marker: None, scope, own_children: false, keep, deadline: soon() })
            .unwrap()
    }

    /// A child in it that runs this script.
    fn start(&mut self, stage: &Stage, script: &str) -> Cast {
        let mut spec = stage.script(script);
        spec.scope = Some(self.0.clone());
        let cast = Cast::start(&spec);
        self.0.set_joined();
        cast
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = self.kill(NOBODY);
        self.0.remove();
    }
}

#[test]
fn a_daemon_that_cut_every_tie_is_found_in_its_scope() {
    for which in kinds() {
        let stage = Stage::new();
        let mut room = Room::make(&stage, &Caps::default(), which);
        let mut ready = stage.report("ready");
        let script = "(env -i /usr/bin/setsid /bin/sh -c '(/bin/sleep 1000 & echo $! >'$DIR/ready')' &)";
        let child = room.start(&stage, script);
        let daemon = identity_of(ready.line().parse().unwrap()).unwrap().unwrap();
        let _end = Doomed::new(&daemon);
        child.ended();
        assert!(still_is(&daemon).unwrap());
        let killed = room.kill(NOBODY);
        assert!(!still_is(&daemon).unwrap());
        assert!(killed.emptied && killed.left.is_empty() && killed.killed >= 1, "{which:?} {killed:?}");
        assert!(!killed.proven, "no subreaper was asked");
        assert!(room.0.remove());
        assert_eq!(room.0.members().unwrap(), Vec::<u32>::new(), "one that is gone is empty");
    }
}

#[test]
fn one_that_nobody_was_seen_in_proves_nothing() {
    for which in kinds() {
        let stage = Stage::new();
        let room = Room::make(&stage, &Caps::default(), which);
        assert!(!room.kill(NOBODY).emptied);
    }
}

#[test]
fn whoever_runs_ahead_in_it_is_caught() {
    for which in kinds() {
        let stage = Stage::new();
        let mut room = Room::make(&stage, &Caps::default(), which);
        let mut ready = stage.report("ready");
        // Each starts the next and ends, so that whoever was seen is dead already. Counted, so that a failure of this
        // test doesn't go on for ever.
        let runner = "for (1..50000) { exit if fork; setpgrp; \
            if ($_ == 20) { open R, q(>), $ENV{DIR}.q(/ready); print R qq(\\n); close R } } sleep 1000";
        let _child = room.start(&stage, &format!("exec perl -e '{runner}'"));
        ready.line();
        let killed = room.kill(NOBODY);
        assert!(killed.emptied && killed.left.is_empty(), "{which:?} {killed:?}");
        assert_eq!(room.0.members().unwrap(), Vec::<u32>::new());
    }
}

#[test]
fn who_is_to_be_kept_stays_in_it_with_all_below() {
    for which in kinds() {
        let stage = Stage::new();
        let mut room = Room::make(&stage, &Caps::default(), which);
        let mut ready = stage.report("ready");
        let child = room.start(
            &stage,
            "exec 3>$DIR/ready; sh -c 'sleep 1000 & echo $$ $! >&3; wait' & sleep 1000 & echo $! >&3; wait",
        );
        let (mut kept, mut other) = (Vec::new(), None);
        for _ in 0..2 {
            let line = ready.line();
            let pids: Vec<u32> = line.split(' ').map(|pid| pid.parse().unwrap()).collect();
            if pids.len() == 2 { kept = pids } else { other = Some(pids[0]) }
        }
        let lives = |pid: u32| identity_of(pid).unwrap().is_some_and(|identity| still_is(&identity).unwrap());
        room.kill(&|pid| pid == kept[0]);
        assert!(lives(kept[0]) && lives(kept[1]), "{which:?}");
        assert!(!lives(other.unwrap()) && !lives(child.0.pid), "{which:?}");
        assert!(!room.0.remove(), "somebody is in it");
        assert!(room.kill(NOBODY).emptied);
        assert!(!lives(kept[1]) && room.0.remove());
    }
}

#[test]
fn processes_are_bounded_and_what_was_refused_is_counted() {
    for which in kinds() {
        let stage = Stage::new();
        let caps = Caps { pids: Some(24), memory: None };
        let mut room = Room::make(&stage, &caps, which);
        // Fifty times two; without a limit that would be all of them.
        let bomb = "i=0; while [ $i -lt 50 ]; do perl -e \"fork; sleep 1000\" & i=$((i+1)); done 2>/dev/null";
        let child = room.start(&stage, &format!("({bomb}); sleep 1000"));
        let mut most = 0;
        while room.0.met().pids == 0 {
            most = most.max(room.0.members().unwrap().len());
            std::thread::yield_now();
        }
        assert!(most <= 24, "{most}");
        let killed = room.kill(NOBODY);
        child.ended();
        assert!(killed.emptied && killed.left.is_empty(), "{which:?} {killed:?}");
        assert!(room.0.remove());
    }
}

#[test]
fn memory_is_bounded_inside_only() {
    if kinds().is_empty() {
        return refused("memory");
    }
    let stage = Stage::new();
    let caps = Caps { pids: None, memory: Some(32 << 20) };
    let mut room = Room::make(&stage, &caps, Hierarchies::Any);
    let child = room.start(&stage, "exec perl -e '$x = \"x\" x (128 << 20); sleep 1000'");
    child.ended();
    assert!(room.0.met().memory > 0);
    assert!(room.0.remove());
}

/// What can't be held is refused.
fn refused(what: &str) {
    let caps = Caps { pids: Some(1000), memory: Some(1 << 30) };
    let error = Scope::plan("probe", &caps, Hierarchies::Without).unwrap_err();
    assert!(
        matches!(error, ScopeError::Cap { .. }) && error.to_string().contains("limit"),
        "{what}: {error}"
    );
}

#[test]
fn a_limit_that_nobody_can_hold_is_refused() {
    refused("all");
    assert_eq!(Scope::plan("probe", &Caps::default(), Hierarchies::Without).unwrap(), None);
}

#[test]
fn who_leaves_is_in_no_scope_and_neither_is_what_is_started_detached() {
    for which in kinds() {
        let stage = Stage::new();
        let room = Room::make(&stage, &Caps::default(), which);
        let command = part::command("scope::leaver", &[]);
        let mut words = vec![command.get_program().to_str().unwrap().to_owned()];
        words.extend(command.get_args().map(|word| word.to_str().unwrap().to_owned()));
        let mut spec = stage.script("true");
        spec.argv = words.into_iter().map(Into::into).collect();
        let variables =
            command.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
        spec.env.extend(variables);
        spec.scope = Some(room.0.clone());
        let child = Cast(spawn_child(&spec).unwrap());
        child.ended();
        let out = stage.read("out");
        assert!(out.contains("1 passed"), "{out} {}", stage.read("err"));
        assert_eq!(room.0.members().unwrap(), Vec::<u32>::new());
    }
}

pub(crate) fn leaver() {
    let groups = |path: &Path| std::fs::read_to_string(path).unwrap();
    let own = Path::new("/proc/self/cgroup");
    assert!(groups(own).contains("ostler-gen-"));
    let dir = std::env::var_os("DIR").unwrap();
    let log = Path::new(&dir).join("log");
    let detached = spawn_detached(&["/bin/sleep".into(), "1000".into()], &[], &log).unwrap();
    let _end = Doomed::new(&detached);
    assert!(!groups(Path::new(&format!("/proc/{}/cgroup", detached.pid))).contains("ostler-gen-"));
    assert!(groups(own).contains("ostler-gen-"), "we ourselves are still inside");
    scope::leave();
    assert!(!groups(own).contains("ostler-gen-"));
    let inherited = Command::new("cat").arg("/proc/self/cgroup").output().unwrap();
    assert!(!String::from_utf8(inherited.stdout).unwrap().contains("ostler-gen-"));
}
