//! What a session costs: memory while it waits, and the time its beginnings and ends take.

use crate::figure::{Figure, Unit};
use crate::follow::Watcher;
use crate::lines::now;
use crate::stage::{Session, Stage, until};
use ostler_core::ctl::Event;
use ostler_os::process::PidFd;
use ostler_os::reap;
use ostler_store::{Cursor, Entry};
use serde_json::json;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Lines of the child whose session is weighed.
const LINES: usize = 1_000;

/// Keeper and controller of a child that has written its lines and waits in the middle of its turn.
pub(crate) fn memory(rounds: usize) -> Vec<Figure> {
    let stage = Stage::new();
    // Lines as they stream in, of about 250 bytes.
    let line = |n: usize| {
        let text = format!("word {n} and a few more words of an answer that is being written");
        let delta =
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}});
        format!(" line {}\n", json!({"type": "stream_event", "event": delta, "parent_tool_use_id": null}))
    };
    let lines: String = (0..LINES).map(line).collect();
    let script = format!("turn\n{lines} mark written\n until weighed\n say done\n");
    let mut found: Vec<Vec<f64>> = vec![Vec::new(); 7];
    for _ in 0..rounds {
        let session = stage.session(&script);
        session.send();
        session.reaches("written");
        // Two answers: between them the controller has read all there is. Then the store gets its rows.
        for _ in 0..2 {
            session.stage.ostler.status(session.id).unwrap();
        }
        std::thread::sleep(Duration::from_millis(1_500));
        let pids = session.ours();
        let (begun, before) = (Instant::now(), pids.map(busy));
        std::thread::sleep(Duration::from_millis(500));
        let spent: f64 = pids.map(busy).iter().sum::<f64>() - before.iter().sum::<f64>();
        let [keeper, controller] = pids.map(weigh);
        let both = [keeper[0] + controller[0], keeper[1] + controller[1]];
        let samples = [&both[..], &keeper, &controller, &[spent / begun.elapsed().as_secs_f64()]].concat();
        found.iter_mut().zip(samples).for_each(|(into, sample)| into.push(sample));
        session.opens("weighed");
        session.rests();
    }
    let mut found = found.into_iter();
    let mut next = |key, what, unit| Figure::new(key, what, unit, found.next().expect("seven of them"));
    vec![
        next("both-pss", "keeper + controller after 1 000 lines, Pss", Unit::MiB).target(4.0),
        next("both-private", "keeper + controller, private dirty", Unit::MiB),
        next("keeper-pss", "– keeper, Pss", Unit::MiB).beside(),
        next("keeper-private", "– keeper, private dirty", Unit::MiB).beside(),
        next("controller-pss", "– controller, Pss", Unit::MiB).beside(),
        next("controller-private", "– controller, private dirty", Unit::MiB).beside(),
        next("busy", "processor time of both in a second in which nothing happens", Unit::Millis),
    ]
}

/// Processor time that a process has had, in milliseconds.
pub(crate) fn busy(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/schedstat")).expect("a kernel that says it");
    let nanos = stat.split(' ').next().and_then(|nanos| nanos.parse::<f64>().ok());
    nanos.expect("nanoseconds come first") / 1e6
}

/// Pss and private dirty of a process, in MiB.
pub(crate) fn weigh(pid: u32) -> [f64; 2] {
    let rollup = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).expect("a kernel that says it");
    ["Pss:", "Private_Dirty:"].map(|name| {
        let row = rollup.lines().find_map(|line| line.strip_prefix(name));
        let kib: Option<f64> = row.and_then(|row| row.trim().strip_suffix(" kB")?.parse().ok());
        kib.expect("a number of kB") / 1024.0
    })
}

/// From an accepted delivery to the first instruction of the child that answers it; the session was idle.
pub(crate) fn wake(count: usize) -> Vec<Figure> {
    /// Wakes of one session: its journal should not become an unusual one.
    const OF_ONE: usize = 10;
    let stage = Stage::new();
    let (mut accepting, mut waking) = (Vec::new(), Vec::new());
    let mut session: Option<Session<'_>> = None;
    for n in 0..count {
        if n.is_multiple_of(OF_ONE) {
            let new = stage.session("otherwise\n say hello\n");
            new.send();
            new.rests();
            session = Some(new);
        }
        let session = session.as_ref().expect("made above");
        let begun = now();
        session.accept();
        let accepted = now();
        session.stage.ostler.ensure(session.id).unwrap();
        session.rests();
        accepting.push(millis(begun, accepted));
        waking.push(millis(accepted, session.started()));
    }
    vec![
        // The disk's.
        Figure::new("accept", "a delivery is accepted: row, fsync", Unit::Millis, accepting).beside(),
        Figure::new("wake", "from there to the exec of an idle session's child", Unit::Millis, waking)
            .target(10.0),
    ]
}

/// From a child's death to its `dead` row, as a follower sees it.
pub(crate) fn death(count: usize) -> Vec<Figure> {
    let stage = Stage::new();
    let took = (0..count).map(|_| {
        let session = stage.session("otherwise\n mark up\n until free\n");
        session.send();
        session.reaches("up");
        let took = dies(&session, session.child());
        // What it had not answered is offered to another child.
        session.opens("free");
        session.rests();
        took
    });
    let took = took.collect();
    vec![Figure::new("death", "a child is killed → its `dead` row is seen", Unit::Millis, took).target(20.0)]
}

/// The same where the keeper was killed before and whoever inherits the child does not reap: a process of this program
/// that is a subreaper.
pub(crate) fn unreaped_death(count: usize) -> Vec<Figure> {
    let mut command = Command::new(std::env::current_exe().expect("we run"));
    let out = command.args([UNREAPED, &count.to_string()]).stderr(Stdio::inherit()).output().unwrap();
    assert!(out.status.success(), "the process that does not reap failed");
    let took: Vec<f64> = std::str::from_utf8(&out.stdout)
        .expect("digits")
        .lines()
        .map(|line| line.parse().expect("a number"))
        .collect();
    assert_eq!(took.len(), count);
    let what = "– where its keeper was killed before, and whoever inherited it does not reap";
    vec![Figure::new("death-unreaped", what, Unit::Millis, took).target(20.0)]
}

/// The word that makes this program play that process.
pub(crate) const UNREAPED: &str = "unreaped";

/// What it measures, in milliseconds.
pub(crate) fn unreaped(count: usize) -> Vec<f64> {
    reap::become_subreaper().unwrap();
    let stage = Stage::new();
    let took = (0..count).map(|_| {
        let session = stage.session("otherwise\n mark up\n until free\n");
        session.send();
        session.reaches("up");
        let (child, before) = (session.child(), session.ours());
        PidFd::open(before[0]).unwrap().expect("a keeper").kill().unwrap();
        until("keeper and controller to be replaced", || {
            let now = session.ours_now()?;
            let adopted = stage.ostler.status(session.id).unwrap().pid == Some(child);
            (now[0] != before[0] && now[1] != before[1] && adopted).then_some(())
        });
        let took = dies(&session, child);
        // Dead, ours, and not reaped: else this would have measured something else.
        let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).expect("nobody reaps it");
        let zombie = format!(") Z {} ", std::process::id());
        assert!(stat.contains(&zombie), "{stat}");
        session.opens("free");
        session.rests();
        took
    });
    took.collect()
}

/// Kills the child; how many milliseconds later its `dead` row is seen.
fn dies(session: &Session<'_>, child: u32) -> f64 {
    let child = PidFd::open(child).unwrap().expect("it waits");
    let mut watcher = Watcher::new(session.stage.ostler.follow(session.id, Cursor::START).unwrap());
    watcher.skip();
    let begun = now();
    child.kill().unwrap();
    while !matches!(watcher.next(), Entry::Ctl { row, .. } if matches!(row.ev, Event::Dead { .. })) {}
    millis(begun, now())
}

fn millis(from: u64, to: u64) -> f64 {
    to.saturating_sub(from) as f64 / 1e6
}
