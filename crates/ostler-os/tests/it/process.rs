use crate::stage::{Cast, Stage, soon};
use ostler_os::process::{Identity, PidFd, boot_id, command_line, identity_of, self_identity, still_is};
use std::time::{Duration, Instant};

fn identity(child: &Cast) -> Identity {
    let identity = identity_of(child.0.pid).unwrap().unwrap();
    assert_eq!(identity.start_ticks, child.0.start_ticks);
    identity
}

#[test]
fn names_this_process() {
    let me = self_identity().unwrap();
    assert_eq!(me.pid, std::process::id());
    assert_eq!(me.boot_id, boot_id().unwrap());
    assert!(still_is(&me).unwrap());
}

#[test]
fn a_pid_that_came_round_is_somebody_else() {
    let stage = Stage::new();
    let child = Cast::start(&stage.program(["sleep", "1000"]));
    let now = identity(&child);
    let before = Identity { start_ticks: now.start_ticks - 1, ..now.clone() };
    let last_boot = Identity { boot_id: "another".into(), ..now.clone() };
    assert!(still_is(&now).unwrap());
    for other in [before, last_boot] {
        assert!(!still_is(&other).unwrap());
        assert!(PidFd::open_identity(&other).unwrap().is_none());
    }
}

#[test]
fn a_zombie_has_its_pid_but_is_dead() {
    let stage = Stage::new();
    let child = Cast::start(&stage.program(["true"]));
    let before = identity(&child);
    child.ended();
    assert_eq!(identity(&child), before);
    assert!(!still_is(&before).unwrap());
    assert!(PidFd::open_identity(&before).unwrap().unwrap().is_dead().unwrap());
    assert_eq!(command_line(child.0.pid).unwrap(), Some(Vec::new()));
}

#[test]
fn nobody_is_nobody() {
    let stage = Stage::new();
    let child = Cast::start(&stage.program(["true"]));
    let (pid, gone) = (child.0.pid, identity(&child));
    child.ended();
    drop(child);
    assert_eq!(identity_of(pid).unwrap(), None);
    assert!(!still_is(&gone).unwrap());
    assert!(PidFd::open(pid).unwrap().is_none());
    assert!(PidFd::open(0).unwrap().is_none());
    assert_eq!(command_line(pid).unwrap(), None);
}

#[test]
fn waiting_ends_at_the_deadline_or_at_death() {
    let stage = Stage::new();
    let child = Cast::start(&stage.program(["sleep", "1000"]));
    let short = Instant::now() + Duration::from_millis(5);
    assert!(!child.0.pidfd.wait(short).unwrap());
    assert!(Instant::now() >= short);
    assert!(child.0.pidfd.kill().unwrap());
    assert!(child.0.pidfd.wait(soon()).unwrap());
}

#[test]
fn tells_the_arguments_of_others() {
    let stage = Stage::new();
    let child = Cast::start(&stage.program(["/bin/sleep", "1000"]));
    assert_eq!(command_line(child.0.pid).unwrap().unwrap(), ["/bin/sleep", "1000"]);
}
