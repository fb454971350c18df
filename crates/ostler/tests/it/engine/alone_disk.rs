//! Full disks: a small file system of its own for a test, hence the name.

use super::stable::{PATIENCE, Session, Stable, until};
use ostler_controller::client::Waited;
use ostler_core::ctl::Event;
use ostler_core::rows::{DeliveryState, Outcome};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use tempfile::TempDir;

/// Mounted file systems, unmounted when dropped, the last one first.
struct Mounts(Vec<PathBuf>);

impl Mounts {
    fn add(&mut self, args: &[&str], at: &Path) {
        std::fs::create_dir_all(at).unwrap();
        let mount = Command::new("mount").args(args).arg(at).output().expect("`mount` must be there");
        let said = String::from_utf8_lossy(&mount.stderr);
        assert!(mount.status.success(), "this test mounts a tmpfs and so must be run as root: {said}");
        self.0.push(at.to_owned());
    }

    fn small(&mut self, kib: u32, at: &Path) {
        self.add(&["-t", "tmpfs", "-o", &format!("size={kib}k,mode=0700"), "tmpfs"], at);
    }
}

impl Drop for Mounts {
    fn drop(&mut self) {
        for path in self.0.iter().rev() {
            drop(Command::new("umount").arg("-l").arg(path).status());
        }
        // The test's folder could not be removed while something was mounted in it.
        let all = std::env::temp_dir();
        let inside = self.0.first().and_then(|path| path.strip_prefix(&all).ok()?.iter().next());
        if let Some(folder) = inside {
            let _ = std::fs::remove_dir_all(all.join(folder));
        }
    }
}

/// Takes all space that is left. Removing the file gives it back.
fn fill(folder: &Path) -> PathBuf {
    fill_by(folder.join("filler"))
}

fn fill_by(path: PathBuf) -> PathBuf {
    let mut file = File::create(&path).unwrap();
    for size in [64 << 10, 4 << 10, 256, 1] {
        while file.write_all(&vec![0; size]).is_ok() {}
    }
    path
}

fn parks(session: &Session<'_>) -> String {
    let ostler = &session.stable.ostler;
    until("the session to be parked", || {
        // An interrupted turn settles a wait too.
        match ostler.wait(session.id, Some(Instant::now() + PATIENCE)).unwrap() {
            Waited::Parked(reason) => Some(reason),
            _ => session.status().parked,
        }
    })
}

/// Says more than the part of the reserve that may be used before it is topped up.
const TALKS: &str =
    "turn\n mark up\n until full\n huge 1500000\n tool Bash {}\n until never\n then\n say done\n";

/// A home whose journals are on a disk of that size.
fn on_a_small_disk(kib: u32) -> (Mounts, Stable, PathBuf) {
    let folder = TempDir::new().unwrap();
    let mut mounts = Mounts(Vec::new());
    let sessions = folder.path().join("home").join("sessions");
    mounts.small(kib, &sessions);
    let stable = Stable::in_folder(folder);
    (mounts, stable, sessions)
}

#[test]
fn a_disk_that_runs_full_during_a_turn_interrupts_and_parks() {
    let (mounts, stable, disk) = on_a_small_disk(16 << 10);
    let session = stable.session(TALKS);
    let id = session.send("hello");
    session.reaches("up");
    let filler = fill(&disk);
    session.open("full");
    let reason = parks(&session);
    assert!(reason.starts_with("disk full"), "{reason}");
    let turn = session.projection().turns[0].clone();
    assert_eq!((turn.outcome, turn.results, turn.garbled), (Some(Outcome::Interrupted), 1, false));
    assert!(session.delivery(id).state.is_final());
    session.dead(1);
    let out = std::fs::read(session.generation(1).out()).unwrap();
    assert!(out.ends_with(b"\n"), "no line is torn");
    // Nothing goes on while it is full, and whoever sends is told where no controller is left that could tell it later…
    stable.is_left();
    // What the ended generation had kept free was given back.
    let more = fill_by(disk.join("more"));
    session.script("otherwise\n say $text\n");
    let told = session.send_as("second", ostler_core::machine::Mode::Auto).unwrap_err();
    assert!(told.to_string().contains("disk full"), "{told}");
    let waiting = stable.ostler.db().pending_deliveries(session.id).unwrap()[0].id;
    assert!(parks(&session).starts_with("disk full"));
    assert_eq!(session.offers(waiting), 0);
    // …and everything does when there is room.
    std::fs::remove_file(filler).unwrap();
    std::fs::remove_file(more).unwrap();
    session.completes("third");
    assert_eq!(session.delivery(waiting).state, DeliveryState::Completed);
    stable.finish();
    drop(mounts);
}

#[test]
fn a_disk_that_is_full_before_the_start_parks_at_once() {
    let (mounts, stable, disk) = on_a_small_disk(8 << 10);
    let session = stable.session("otherwise\n say $text\n");
    let filler = fill(&disk);
    // A folder and a row may still find room, or not; either way nothing starts.
    let sent = session.send_as("first", ostler_core::machine::Mode::Auto);
    assert!(parks(&session).starts_with("disk full"));
    assert!(session.log().is_empty());
    std::fs::remove_file(filler).unwrap();
    session.completes("second");
    if let Ok(first) = sent {
        assert_eq!(session.delivery(first).state, DeliveryState::Completed);
    }
    stable.finish();
    drop(mounts);
}

/// A session whose first child's file of that name is alone on a small disk, everything else where there is room.
fn with_one_file_on_a_small_disk<'s>(
    mounts: &mut Mounts,
    stable: &'s Stable,
    file: &str,
    script: &str,
) -> (Session<'s>, PathBuf) {
    let session = stable.session(script);
    let disk = stable.path("small");
    mounts.small(8 << 10, &disk);
    let there = disk.join(file);
    File::create(&there).unwrap();
    let folder = session.generation(1);
    ostler_os::durable::create_dir_private(&folder.path).unwrap();
    let here = folder.path.join(file);
    File::create(&here).unwrap();
    let mount = Command::new("mount").arg("--bind").args([&there, &here]).status().unwrap();
    assert!(mount.success());
    mounts.0.push(here);
    (session, disk)
}

#[test]
fn out_alone_on_a_full_disk_interrupts_and_loses_no_line() {
    let stable = Stable::new();
    let mut mounts = Mounts(Vec::new());
    let (session, disk) = with_one_file_on_a_small_disk(&mut mounts, &stable, "out", TALKS);
    let id = session.send("hello");
    session.reaches("up");
    fill(&disk);
    session.open("full");
    let turn = session.wait();
    assert_eq!((turn.outcome, turn.results, turn.garbled), (Some(Outcome::Interrupted), 1, false));
    assert!(session.delivery(id).state.is_final());
    session.dead(1);
    let out = std::fs::read(session.generation(1).out()).unwrap();
    assert!(out.ends_with(b"\n") && out.len() > 1_500_000, "{} bytes, and no line is torn", out.len());
    // The next child's files are where there is room.
    session.script("otherwise\n say $text\n");
    session.completes("second");
    stable.finish();
    drop(mounts);
}

/// Requests that nobody knows: each is refused at once, by two rows of `ctl`.
fn asks(n: u32) -> String {
    let ask = |k: u32| {
        format!(
            " line {{\"type\":\"control_request\",\"request_id\":\"q{k}\",\"request\":{{\"subtype\":\"unheard_of\"}}}}\n"
        )
    };
    (0..n).map(ask).collect()
}

#[test]
fn ctl_alone_on_a_full_disk_holds_a_turn_in_its_reserve() {
    let stable = Stable::new();
    let mut mounts = Mounts(Vec::new());
    let script = format!("turn\n mark up\n until full\n{} say done\n", asks(20));
    let (session, disk) = with_one_file_on_a_small_disk(&mut mounts, &stable, "ctl", &script);
    session.send("hello");
    session.reaches("up");
    fill(&disk);
    session.open("full");
    assert_eq!(session.wait().outcome, Some(Outcome::Completed));
    stable.finish();
    drop(mounts);
}

#[test]
fn ctl_alone_on_a_full_disk_interrupts_before_its_reserve_is_used_up() {
    let stable = Stable::new();
    let mut mounts = Mounts(Vec::new());
    let script = format!(
        "turn\n mark up\n until full\n{} tool Bash {{}}\n until never\n then\n say done\n",
        asks(600)
    );
    let (session, disk) = with_one_file_on_a_small_disk(&mut mounts, &stable, "ctl", &script);
    let id = session.send("hello");
    session.reaches("up");
    fill(&disk);
    session.open("full");
    let turn = session.wait();
    assert_eq!((turn.outcome, turn.results, turn.garbled), (Some(Outcome::Interrupted), 1, false));
    assert!(session.delivery(id).state.is_final());
    session.dead(1);
    let ctl = std::fs::read(session.generation(1).ctl()).unwrap();
    assert!(ctl.ends_with(b"\n") && ctl.len() > 128 << 10, "{} bytes, and no row is torn", ctl.len());
    session.script("otherwise\n say $text\n");
    session.completes("second");
    stable.finish();
    drop(mounts);
}

#[test]
fn a_store_that_runs_full_during_a_turn_interrupts_and_parks() {
    let folder = TempDir::new().unwrap();
    let (home, elsewhere) = (folder.path().join("home"), folder.path().join("journals"));
    std::fs::create_dir_all(&elsewhere).unwrap();
    let mut mounts = Mounts(Vec::new());
    mounts.small(1 << 10, &home);
    let bound = elsewhere.to_str().unwrap().to_owned();
    mounts.add(&["--bind", &bound], &home.join("sessions"));
    let stable = Stable::in_folder(folder);
    // Each delivery is a row that the store must take in.
    let session = stable.session("turn\n mark up\n until never\n");
    session.send("hello");
    session.reaches("up");
    session.row(1, "the line written", |ev| matches!(ev, Event::Done { .. }).then_some(()));
    let filler = fill(&home);
    let mut refused = None;
    for _ in 0..400 {
        refused = session.send_as(&"x".repeat(20_000), ostler_core::machine::Mode::Queue).err();
        if refused.is_some() {
            break;
        }
    }
    let refused = refused.expect("the store to be full");
    assert!(refused.to_string().contains("no space left"), "{refused}");
    // What the journal says can't be stored: the turn ends, and the session waits for room.
    stable.ostler.interrupt(session.id, true).unwrap();
    let reason = until("the controller to tell", || session.status().parked);
    assert!(reason.starts_with("disk full"), "{reason}");
    session.script("otherwise\n say read\n");
    std::fs::remove_file(filler).unwrap();
    session.completes("go on");
    stable.finish();
    drop(mounts);
}
