//! What a session costs: memory while it waits, and the time its beginnings and ends take.

use crate::figure::{Figure, Unit};
use crate::follow::Watcher;
use crate::lines::now;
use crate::stage::{Session, Stage};
use ostler_core::ctl::Event;
use ostler_os::process::PidFd;
use ostler_store::{Cursor, Entry};
use std::time::Duration;

/// Lines of the child whose session is weighed.
const LINES: usize = 1_000;

/// Keeper and controller of a child that has written its lines and waits.
pub(crate) fn memory(rounds: usize) -> Vec<Figure> {
    let stage = Stage::new();
    // Lines as they stream in, of about 250 bytes.
    let delta = |n: usize| {
        let text = format!("word {n} and a few more words of an answer that is being written");
        let event = format!(
            r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{text}"}}}}"#
        );
        format!(" line {{\"type\":\"stream_event\",\"event\":{event},\"parent_tool_use_id\":null}}\n")
    };
    let lines: String = (0..LINES).map(delta).collect();
    let script = format!("turn\n{lines} mark written\n until weighed\n say done\n");
    let mut found: Vec<Vec<f64>> = vec![Vec::new(); 6];
    for _ in 0..rounds {
        let session = stage.session(&script);
        session.send();
        session.reaches("written");
        // Two answers: between them the controller has read all there is. Then the store gets its rows.
        for _ in 0..2 {
            session.stage.ostler.status(session.id).unwrap();
        }
        std::thread::sleep(Duration::from_millis(700));
        let [keeper, controller] = session.ours().map(weigh);
        let both = [keeper[0] + controller[0], keeper[1] + controller[1]];
        for (into, mib) in found.iter_mut().zip([both, keeper, controller].concat()) {
            into.push(mib);
        }
        session.opens("weighed");
        session.rests();
    }
    let names = [
        ("both-pss", "keeper + controller after 1 000 lines, Pss"),
        ("both-private", "keeper + controller, private dirty"),
        ("keeper-pss", "– keeper, Pss"),
        ("keeper-private", "– keeper, private dirty"),
        ("controller-pss", "– controller, Pss"),
        ("controller-private", "– controller, private dirty"),
    ];
    let figures =
        names.into_iter().zip(found).map(|((key, what), mib)| Figure::new(key, what, Unit::MiB, mib));
    figures.enumerate().map(|(n, figure)| if n == 0 { figure.target(4.0) } else { figure }).collect()
}

/// Pss and private dirty of a process, in MiB.
fn weigh(pid: u32) -> [f64; 2] {
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
        Figure::new("accept", "a delivery is accepted: row, fsync", Unit::Millis, accepting),
        Figure::new("wake", "from there to the exec of an idle session's child", Unit::Millis, waking)
            .target(10.0),
    ]
}

/// From a child's death to its `dead` row, as a follower sees it.
pub(crate) fn death(count: usize) -> Vec<Figure> {
    let stage = Stage::new();
    let mut took = Vec::new();
    for _ in 0..count {
        let session = stage.session("otherwise\n mark up\n until never\n");
        session.send();
        session.reaches("up");
        let child = PidFd::open(session.child()).unwrap().expect("it waits");
        let mut watcher = Watcher::new(stage.ostler.follow(session.id, Cursor::START).unwrap());
        watcher.skip();
        let begun = now();
        child.kill().unwrap();
        while !matches!(watcher.next(), Entry::Ctl { row, .. } if matches!(row.ev, Event::Dead { .. })) {}
        took.push(millis(begun, now()));
        drop(watcher);
        // What it had not answered is offered to another child.
        session.stage.ostler.stop(session.id).unwrap();
        session.rests();
    }
    vec![Figure::new("death", "a child is killed → its `dead` row is seen", Unit::Millis, took).target(20.0)]
}

fn millis(from: u64, to: u64) -> f64 {
    to.saturating_sub(from) as f64 / 1e6
}
