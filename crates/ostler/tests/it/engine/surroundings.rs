//! Bad surroundings: what is missing, stopped or in the way.

use super::stable::{Stable, fake_claude, until};
use ostler_controller::client::{ClientError, Waited};
use ostler_core::ctl::{Event, Exit};
use ostler_core::rows::{DeliveryState, Outcome};
use std::process::Command;
use std::time::{Duration, Instant};

const ECHO: &str = "otherwise\n say You said $text\n";

#[test]
fn a_session_without_a_working_directory_is_not_created() {
    let stable = Stable::new();
    let gone = stable.path("gone");
    let spec = stable.session("").spec();
    let spec = ostler_core::spec::LaunchSpec { cwd: gone.to_str().unwrap().to_owned(), ..spec };
    let id = ostler_core::ids::SessionId(uuid::Uuid::new_v4());
    let new = ostler_controller::client::NewSession { id, label: None, spec, at: super::stable::now() };
    let error = stable.ostler.create(&new).unwrap_err();
    assert!(matches!(error, ClientError::NoCwd { .. }), "{error:?}");
    stable.finish();
}

#[test]
fn a_working_directory_that_was_deleted_before_a_wake_is_told() {
    let stable = Stable::new();
    let cwd = stable.path("deleted");
    std::fs::create_dir(&cwd).unwrap();
    let session = stable.session_of(ECHO, |spec| spec.cwd = cwd.to_str().unwrap().to_owned());
    session.completes("hello");
    std::fs::remove_dir(&cwd).unwrap();
    let id = session.send("again");
    let turn = session.wait();
    assert_eq!(turn.failure.as_deref(), Some("did not start"));
    assert!(turn.message.unwrap().contains("deleted is not there any more"));
    assert_eq!(session.delivery(id).state, DeliveryState::Failed);
    std::fs::create_dir(&cwd).unwrap();
    session.completes("once more");
    stable.finish();
}

#[test]
fn a_launcher_that_is_gone_is_told() {
    let stable = Stable::new();
    let session = stable.session_of(ECHO, |spec| {
        spec.launcher.resolved.program.path = "/nowhere/claude".to_owned();
    });
    session.send("hello");
    let turn = session.wait();
    assert_eq!((turn.outcome, turn.failure.as_deref()), (Some(Outcome::Unfinished), Some("did not start")));
    assert!(turn.message.as_deref().unwrap().contains("/nowhere/claude"), "{turn:?}");
    stable.finish();
}

#[test]
fn a_launcher_that_is_no_program_is_told() {
    let stable = Stable::new();
    let path = stable.path("no-program");
    std::fs::write(&path, "just text").unwrap();
    let session = stable.session_of(ECHO, |spec| {
        spec.launcher.resolved.program.path = path.to_str().unwrap().to_owned();
    });
    session.send("hello");
    assert_eq!(session.wait().failure.as_deref(), Some("did not start"));
    stable.finish();
}

/// Something is where the FIFO should be: an error, and nothing is ever written to it.
#[test]
fn a_fifo_that_is_none_is_told() {
    let stable = Stable::new();
    let session = stable.session(ECHO);
    let files = session.generation(1);
    std::fs::create_dir_all(&files.path).unwrap();
    std::fs::write(files.in_(), "").unwrap();
    let id = session.send("hello");
    let turn = session.wait();
    assert_eq!(turn.failure.as_deref(), Some("did not start"), "{turn:?}");
    assert_eq!(session.delivery(id).state, DeliveryState::Failed);
    assert_eq!(std::fs::read(files.in_()).unwrap(), b"");
    session.completes("again");
    stable.finish();
}

#[test]
fn two_who_want_a_controller_at_once_start_one() {
    let stable = Stable::new();
    let session = stable.session("turn\n until go\n say done\n");
    session.send("hello");
    session.row(1, "the line written", |ev| matches!(ev, Event::Done { .. }).then_some(()));
    until("nobody to be left", || {
        let left = session.holders();
        left.iter().for_each(|pid| super::stable::kill(*pid));
        left.is_empty().then_some(())
    });
    let adoptions = || session.rows(1).iter().filter(|row| matches!(row.ev, Event::Adopted { .. })).count();
    let before = adoptions();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let (face, id) = (stable.another_face(), session.id);
            scope.spawn(move || face.ensure(id).unwrap());
        }
    });
    let child = session.child();
    session.open("go");
    assert_eq!(session.wait().outcome, Some(Outcome::Completed));
    assert_eq!(session.child(), child);
    // One that was just being started while the others were killed may have been there before it.
    assert!((1..=2).contains(&(adoptions() - before)), "{} controllers took over", adoptions() - before);
    stable.finish();
}

fn freeze(pid: u32) {
    assert!(Command::new("kill").args(["-STOP", &pid.to_string()]).status().unwrap().success());
}

#[test]
fn a_controller_that_does_not_answer_is_replaced() {
    let stable = Stable::new();
    let session = stable.session("turn\n until go\n say done\n");
    session.send("hello");
    session.row(1, "the line written", |ev| matches!(ev, Event::Done { .. }).then_some(()));
    let (keeper, controller) = (session.keeper(), session.controller());
    freeze(controller);
    stable.ostler.ensure(session.id).unwrap();
    assert_ne!(session.controller(), controller);
    assert_eq!(session.keeper(), keeper, "its keeper starts the next one");
    session.open("go");
    assert_eq!(session.wait().outcome, Some(Outcome::Completed));
    stable.finish();
}

#[test]
fn a_wait_replaces_a_controller_and_a_keeper_that_do_not_answer() {
    let stable = Stable::new();
    let session = stable.session("turn\n until go\n say done\n");
    session.send("hello");
    session.row(1, "the line written", |ev| matches!(ev, Event::Done { .. }).then_some(()));
    let (keeper, controller) = (session.keeper(), session.controller());
    freeze(keeper);
    freeze(controller);
    session.open("go");
    assert_eq!(session.wait().outcome, Some(Outcome::Completed));
    assert!(super::stable::is_dead(controller) && super::stable::is_dead(keeper));
    stable.finish();
}

#[test]
fn a_short_wait_is_short_even_with_a_controller_that_does_not_answer() {
    let stable = Stable::new();
    let session = stable.session("turn\n until go\n say done\n");
    session.send("hello");
    freeze(session.controller());
    let begun = Instant::now();
    let waited = stable.ostler.wait(session.id, Some(begun + Duration::from_millis(300))).unwrap();
    assert_eq!(waited, Waited::StillRunning);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    session.open("go");
    session.wait();
    stable.finish();
}

#[test]
fn a_program_that_is_replaced_while_it_runs_changes_nothing() {
    let stable = Stable::new();
    let own = stable.path("claude");
    std::fs::copy(fake_claude(), &own).unwrap();
    let session = stable.session_of("turn\n until go\n say done\n", |spec| {
        spec.launcher.resolved.program.path = own.to_str().unwrap().to_owned();
    });
    session.send("hello");
    session.row(1, "the line written", |ev| matches!(ev, Event::Done { .. }).then_some(()));
    std::fs::remove_file(&own).unwrap();
    std::fs::write(&own, "an update").unwrap();
    session.open("go");
    assert_eq!(session.wait().outcome, Some(Outcome::Completed));
    assert_eq!(session.dead(1).0, Exit::Code(0));
    stable.finish();
}

#[test]
fn an_odd_face_disturbs_nobody() {
    use std::io::{Read, Write};
    let stable = Stable::new();
    let session = stable.session("turn\n until go\n say done\n");
    session.send("hello");
    let controller = session.controller();
    let connect =
        || until("the socket", || std::os::unix::net::UnixStream::connect(session.dir.control_sock()).ok());
    // Rubbish, half a request, too much, and many who say nothing.
    let mut rubbish = connect();
    rubbish.write_all(b"what?\n{\"do\":\"dance\"}\n").unwrap();
    let mut answer = [0; 34];
    rubbish.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"{\"is\":\"unknown\"}\n{\"is\":\"unknown\"}\n");
    let mut half = connect();
    half.write_all(b"{\"do\":").unwrap();
    drop(half);
    let mut long = connect();
    drop(long.write_all(&vec![b'x'; 200 << 10]));
    let silent: Vec<_> = (0..30).map(|_| connect()).collect();
    stable.ostler.ensure(session.id).unwrap();
    drop(silent);
    assert_eq!(session.controller(), controller);
    session.open("go");
    session.wait();
    stable.finish();
}

#[test]
fn a_fifo_that_was_removed_loses_no_answer() {
    let stable = Stable::new();
    let session = stable.session_of("turn\n until go\n say done\n", |spec| spec.limits.end = 300);
    session.send("hello");
    session.row(1, "the line written", |ev| matches!(ev, Event::Done { .. }).then_some(()));
    std::fs::remove_file(session.generation(1).in_()).unwrap();
    super::stable::kill(session.controller());
    session.row(1, "an adoption", |ev| matches!(ev, Event::Adopted { .. }).then_some(()));
    session.open("go");
    assert_eq!(session.wait().outcome, Some(Outcome::Completed));
    // It can't be told to leave.
    assert_eq!(session.dead(1).0, Exit::Signal(9));
    session.script(ECHO);
    session.completes("again");
    stable.finish();
}

#[test]
fn what_marks_another_session_or_host_never_reaches_a_child() {
    let outer = [
        ("CLAUDECODE", "1"),
        ("CLAUDE_CODE_ENTRYPOINT", "cli"),
        ("CLAUDE_CODE_SSE_PORT", "1234"),
        ("OSTLER_TOKEN", "secret"),
        ("VIRTUAL_ENV", "/venv"),
        ("NODE_OPTIONS", "--inspect"),
        ("OSTLER_SESSION", "of-another"),
    ];
    let stable = Stable::with(&outer);
    // These two it gets anew.
    let own = ["OSTLER_SESSION", "OSTLER_TOKEN"];
    let names: Vec<&str> = outer.iter().map(|(name, _)| *name).filter(|name| !own.contains(name)).collect();
    let session = stable.session(&format!("forbid-env {}\n{ECHO}", names.join(" ")));
    session.completes("hello");
    session.dead(1);
    assert_ne!(std::fs::read_to_string(session.dir.token()).unwrap(), "secret");
    stable.finish();
}

/// Each message comes while the processes of the one before are leaving.
#[test]
fn messages_that_come_while_everything_leaves_are_not_lost() {
    let stable = Stable::new();
    let session = stable.session(ECHO);
    for n in 1..=12 {
        session.completes(&format!("message {n}"));
        assert_eq!(session.answer(), format!("You said message {n}"));
        if n % 3 == 0 {
            session.dead(session.projection().turns.last().unwrap().generation);
        }
    }
    stable.finish();
}

#[test]
fn a_session_that_no_controller_can_read_is_told_and_keeps_its_message() {
    let stable = Stable::new();
    let session = stable.session(ECHO);
    let whole = std::fs::read(session.dir.session_json()).unwrap();
    std::fs::write(session.dir.session_json(), &whole[..whole.len() / 2]).unwrap();
    let error = session.send_as("hello", ostler_core::machine::Mode::Auto).unwrap_err();
    assert!(matches!(error, ClientError::Controller { .. }), "{error:?}");
    assert!(error.to_string().contains("session.json"), "{error}");
    std::fs::write(session.dir.session_json(), whole).unwrap();
    assert_eq!(session.wait().outcome, Some(Outcome::Completed));
    assert_eq!(session.answer(), "You said hello");
    stable.finish();
}
