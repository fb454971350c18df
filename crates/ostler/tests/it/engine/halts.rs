//! Stop, resume, close: what the record says decides, whoever is killed in between.

use super::stable::{PATIENCE, Session, Stable, is_dead, kill_at_once, now, until};
use ostler_controller::client::{ClientError, NewMessage, Ostler, Resumed, Starter, Stopped, Waited};
use ostler_core::ctl::Event;
use ostler_core::ids::DeliveryId;
use ostler_core::machine::{Mode, Phase};
use ostler_core::record::{RecordEvent, State};
use ostler_core::rows::{DeliveryState, Outcome};
use ostler_os::alive::AliveLock;
use ostler_store::db::{Chore, Fate};
use std::fs;
use std::time::{Duration, Instant};
use uuid::Uuid;

const BUSY: &str =
    "turn\n tool Bash {}\n mark up\n until never\n then\n say done\notherwise\n say again $text\n";

/// A session whose child runs a tool.
fn busy(stable: &Stable) -> Session<'_> {
    let session = stable.session(BUSY);
    session.send("work");
    until("the tool to run", || {
        let out = fs::read_to_string(session.generation(1).out()).unwrap_or_default();
        out.contains("tool_use").then_some(())
    });
    // The child may be quicker than the commit.
    until("the store to know of it", || (!session.projection().generations.is_empty()).then_some(()));
    session
}

fn refused(done: Result<impl std::fmt::Debug, ClientError>, wanted: &str) {
    match done {
        Err(ClientError::NotTaking { state, .. }) => assert_eq!(state, wanted),
        other => panic!("not refused as {wanted}: {other:?}"),
    }
}

#[test]
fn a_stopped_session_takes_nothing_and_is_started_by_nothing_but_a_resume() {
    let stable = Stable::new();
    let session = busy(&stable);
    let behind = session.send_as("behind", Mode::Queue).unwrap();
    assert_eq!(stable.ostler.stop(session.id).unwrap(), Stopped::Ended { killed: 0, proven: true });
    refused(session.send_as("no", Mode::Auto), "stopped");
    assert_eq!(stable.ostler.sweep().unwrap(), 0, "a sweep doesn't wake it");
    stable.ostler.ensure(session.id).unwrap();
    let waited = stable.ostler.wait(session.id, Some(Instant::now() + PATIENCE)).unwrap();
    assert_eq!(waited, Waited::Stopped(1));
    assert_eq!(stable.ostler.stop(session.id).unwrap(), Stopped::NothingRunning, "a second stop");
    assert_eq!(session.dir.generations().unwrap(), [1]);
    assert_eq!(session.offers(behind), 0);
    session.script("otherwise\n say $text\n");
    assert_eq!(stable.ostler.resume(session.id).unwrap(), Resumed { was_stopped: true, waiting: 1 });
    assert_eq!(session.wait().outcome, Some(Outcome::Completed));
    assert_eq!(session.delivery(behind).state, DeliveryState::Completed);
    assert_eq!(stable.ostler.resume(session.id).unwrap(), Resumed { was_stopped: false, waiting: 0 });
    stable.finish();
}

#[test]
fn a_resume_starts_no_turn_by_itself() {
    let stable = Stable::new();
    let session = busy(&stable);
    stable.ostler.stop(session.id).unwrap();
    stable.is_left();
    assert_eq!(stable.ostler.resume(session.id).unwrap(), Resumed { was_stopped: true, waiting: 0 });
    assert_eq!(stable.ostler.sweep().unwrap(), 0);
    assert!(session.holders().is_empty(), "nobody was started");
    stable.finish();
}

/// The flag alone, as a face leaves it that is killed right behind it.
fn mark_stopped(ostler: &Ostler, session: &Session<'_>) {
    ostler.db().move_record(session.id, &RecordEvent::Stops, Some(&Chore::Stop), now()).unwrap();
}

#[test]
fn a_controller_ends_the_child_of_a_session_that_was_stopped_without_telling_it() {
    let stable = Stable::new();
    let session = busy(&stable);
    mark_stopped(&stable.ostler, &session);
    session.dead(1);
    stable.is_left();
    assert_eq!(stable.ostler.sweep().unwrap(), 0);
    assert_eq!(stable.ostler.db().chores().unwrap(), [], "the sweep found it done");
    stable.finish();
}

#[test]
fn a_sweep_ends_the_child_of_a_stopped_session_that_nobody_attends() {
    let stable = Stable::new();
    let session = busy(&stable);
    let child = session.child();
    kill_at_once(&session.holders());
    mark_stopped(&stable.ostler, &session);
    assert!(!is_dead(child), "a child outlives keeper and controller");
    // Of the two that were killed one may have begun to replace the other: then that one finds the flag instead.
    until("a sweep to end the child", || {
        stable.ostler.sweep().unwrap();
        is_dead(child).then_some(())
    });
    stable.is_left();
    stable.ostler.sweep().unwrap();
    assert_eq!(stable.ostler.db().chores().unwrap(), []);
    assert_eq!(session.dir.generations().unwrap(), [1], "nothing was started");
    stable.finish();
}

/// Nobody is at work, and by the flag nothing is owed but the child, which the store does not even know.
#[test]
fn a_close_ends_a_child_that_the_store_never_heard_of() {
    let once = tempfile::tempdir().unwrap();
    let file = once.path().join("died");
    let stable = Stable::with(&[
        ("OSTLER_CRASH_AT", "after-fork"),
        ("OSTLER_CRASH_ONCE", file.to_str().unwrap()),
        ("OSTLER_CRASH_KILLS", "both"),
    ]);
    let session = stable.session(BUSY);
    session.send("work");
    until("both to be killed", || file.exists().then_some(()));
    stable.ostler.close(session.id, Fate::Keep, false).unwrap();
    assert!(!ostler_os::alive::is_busy(&session.generation(1).alive()).unwrap());
    stable.is_left();
    assert_eq!(session.dir.generations().unwrap(), [1], "nothing was started");
    assert_eq!(stable.ostler.db().chores().unwrap(), []);
    stable.finish();
}

/// The child has died by itself, and with it nobody is left who knows that there was one, but the journal.
#[test]
fn a_stop_and_a_close_bury_a_child_that_the_store_never_heard_of() {
    for close in [false, true] {
        let once = tempfile::tempdir().unwrap();
        let file = once.path().join("died");
        let stable = Stable::with(&[
            ("OSTLER_CRASH_AT", "after-fork"),
            ("OSTLER_CRASH_ONCE", file.to_str().unwrap()),
            ("OSTLER_CRASH_KILLS", "both"),
        ]);
        let session = stable.session("start\n until go\n exit 1\n");
        session.send("work");
        until("both to be killed", || file.exists().then_some(()));
        session.open("go");
        let alive = session.generation(1).alive();
        until("the child to leave", || (!ostler_os::alive::is_busy(&alive).unwrap()).then_some(()));
        if close {
            stable.ostler.close(session.id, Fate::Keep, false).unwrap();
        } else {
            stable.ostler.stop(session.id).unwrap();
        }
        session.dead(1);
        stable.is_left();
        let rebuilt = stable.ostler.rebuild(false).unwrap();
        assert!(rebuilt.iter().all(|one| one.differs.is_empty()), "{rebuilt:?}");
        stable.finish();
    }
}

#[test]
fn a_lost_database_is_made_again_from_the_folders_with_what_people_had_said() {
    let stable = Stable::new();
    let stopped = busy(&stable);
    stable.ostler.stop(stopped.id).unwrap();
    let idle = stable.session("otherwise\n say hi\n");
    idle.completes("hello");
    stable.is_left();
    let before = [stopped.id, idle.id].map(|id| stable.ostler.db().record(id).unwrap().0);
    for file in ["ostler.db", "ostler.db-wal", "ostler.db-shm"] {
        let _ = fs::remove_file(stable.ostler.home().root().join(file));
    }
    let other = stable.another_face();
    assert!(other.rebuild(false).unwrap().iter().all(|r| r.differs == ["session"]));
    other.rebuild(true).unwrap();
    assert_eq!([stopped.id, idle.id].map(|id| other.db().record(id).unwrap().0), before);
    assert!(before[0].stopped && before[1].state == State::Idle);
    assert!(other.rebuild(false).unwrap().iter().all(|r| r.differs.is_empty()));
}

#[test]
fn what_a_process_does_is_told_from_its_files_alone() {
    let stable = Stable::new();
    let session = stable.session("otherwise\n say hi\n");
    let phase = || stable.ostler.process(session.id).phase;
    assert_eq!(phase(), Phase::Cold);
    let files = session.generation(1);
    fs::create_dir_all(&files.path).unwrap();
    fs::write(files.out(), "").unwrap();
    fs::write(files.ctl(), "").unwrap();
    let alive = AliveLock::create(&files.alive()).unwrap();
    assert_eq!(phase(), Phase::Starting, "it has said nothing");
    fs::write(files.out(), "{}\n").unwrap();
    assert_eq!(phase(), Phase::Resident);
    // Words of a prompt are no rows.
    fs::write(files.ctl(), r#"{"at":1,"off":0,"ev":{"kind":"note","text":"\"kind\":\"ending\""}}"#).unwrap();
    assert_eq!(phase(), Phase::Resident);
    fs::write(files.ctl(), r#"{"at":1,"off":0,"ev":{"kind":"ending","why":"stop"}}"#).unwrap();
    assert_eq!(phase(), Phase::Ending);
    drop(alive);
    assert_eq!(phase(), Phase::Cold, "the kernel decides");
    fs::remove_dir_all(&files.path).unwrap();
    stable.finish();
}

/// Where the CLI keeps a session's transcript.
fn original(stable: &Stable, session: &Session<'_>) -> std::path::PathBuf {
    let folders = fs::read_dir(stable.path("user/.claude/projects")).unwrap();
    let name = format!("{}.jsonl", session.id);
    let mut all = folders.map(|folder| folder.unwrap().path().join(&name));
    all.find(|path| path.exists()).expect("a transcript")
}

#[test]
fn a_session_that_can_be_woken_keeps_its_transcript_whoever_deletes_the_original() {
    let stable = Stable::new();
    let session = stable.session("otherwise\n say You said $text\n");
    session.completes("hello");
    stable.is_left();
    let original = original(&stable, &session);
    fs::remove_file(&original).unwrap();
    assert_eq!(stable.ostler.gc(Duration::ZERO, false).unwrap(), []);
    session.completes("more");
    let resumed = session.row(2, "the start", |ev| match ev {
        Event::Spawn { resume, .. } => Some(*resume),
        _ => None,
    });
    assert!(resumed, "the conversation goes on");
    let text = fs::read_to_string(&original).unwrap();
    assert!(text.contains("hello") && text.contains("more"), "it was linked back to where it was");
    stable.finish();
}

/// A face that can start no keeper: the program is gone, or ends at once.
fn broken(stable: &Stable, exe: &str) -> Ostler {
    let starter = Starter { exe: exe.into(), ..stable.starter(&[]) };
    Ostler::open(stable.ostler.home().root()).unwrap().with_starter(starter)
}

fn unreachable(done: Result<impl std::fmt::Debug, ClientError>) {
    assert!(matches!(done, Err(ClientError::Controller { .. })), "{done:?}");
}

#[test]
fn a_controller_that_cannot_start_is_loud_and_what_was_accepted_runs_later() {
    for exe in ["/nonexistent/ostler", "/bin/false"] {
        let stable = Stable::new();
        let session = stable.session("otherwise\n say You said $text\n");
        let face = broken(&stable, exe);
        let id = DeliveryId(Uuid::new_v4());
        let message =
            NewMessage { id, content: "hello".into(), mode: Mode::Auto, idempotency_key: None, at: now() };
        unreachable(face.deliver(session.id, &message));
        assert_eq!(face.db().pending_deliveries(session.id).unwrap().len(), 1, "it stays accepted");
        assert!(face.db().record(session.id).unwrap().0.online(), "liveness does not change");
        if exe != "/bin/false" {
            unreachable(face.interrupt(session.id, false));
        }
        assert_eq!(stable.ostler.sweep().unwrap(), 1);
        assert_eq!(session.wait().outcome, Some(Outcome::Completed));
        assert_eq!((session.delivery(id).state, session.offers(id)), (DeliveryState::Completed, 1));
        stable.finish();
    }
}

#[test]
fn a_stop_that_finds_no_controller_is_loud_and_the_next_sweep_ends_the_child() {
    let stable = Stable::new();
    let session = busy(&stable);
    let child = session.child();
    kill_at_once(&session.holders());
    let face = broken(&stable, "/nonexistent/ostler");
    unreachable(face.interrupt(session.id, false));
    unreachable(face.stop(session.id));
    assert!(face.db().record(session.id).unwrap().0.stopped && !is_dead(child));
    refused(session.send_as("no", Mode::Auto), "stopped");
    stable.ostler.sweep().unwrap();
    until("the child to be ended", || is_dead(child).then_some(()));
    stable.finish();
}
