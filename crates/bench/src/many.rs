//! Many at once: sessions whose children all speak, and followers of which some find no inotify instance left.

use crate::figure::{Figure, Unit, percentile};
use crate::follow::{Watcher, append, ended, journal, writer};
use crate::lines::now;
use crate::sessions::busy;
use crate::stage::{Session, Stage, beside};
use ostler_store::{Cursor, Journal};
use serde_json::json;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Stdio};
use std::time::{Duration, Instant};

/// Sessions whose children speak at the same time.
const SESSIONS: usize = 200;
/// Between two lines of one child: twenty a second.
const PAUSE: Duration = Duration::from_millis(50);

/// How late a controller and a follower are while all speak, and what keepers and controllers take for it.
pub(crate) fn many(samples: usize) -> Vec<Figure> {
    let stage = Stage::new();
    let text = "some words of an answer that is being written, as long as such lines are";
    let delta =
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}});
    let line = json!({"type": "stream_event", "event": delta, "parent_tool_use_id": null});
    // More than the measuring takes; they are stopped then.
    let script = format!("turn\n mark up\n{}", format!(" line {line}\n pause 50ms\n").repeat(2_000));
    let sessions: Vec<Session<'_>> = (0..SESSIONS).map(|_| stage.session(&script)).collect();
    // Not all starts at once: they would be what is measured.
    for some in sessions.chunks(10) {
        some.iter().for_each(Session::send);
        some.iter().for_each(|session| session.reaches("up"));
    }
    let pids: Vec<u32> = sessions.iter().flat_map(Session::ours).collect();
    let all = || pids.iter().map(|pid| busy(*pid)).sum::<f64>();
    let (begun, before) = (Instant::now(), all());
    let (_, dir) = journal(&stage);
    let mut watcher = Watcher::new(Journal::open(&dir).read_from(Cursor::START).unwrap());
    let writing = writer(samples as u64, PAUSE, append(&dir.generation(1).out()));
    let (mut followed, mut answered) = (Vec::new(), Vec::new());
    for sample in 0..samples {
        // The line first: what is waited for must not count as early.
        let written = watcher.line().1;
        followed.push(now().saturating_sub(written) as f64 / 1e6);
        // A controller reads what there is before it answers.
        let asked = now();
        stage.ostler.status(sessions[sample * 7 % SESSIONS].id).unwrap();
        answered.push(now().saturating_sub(asked) as f64 / 1e6);
    }
    let spent = (all() - before) / begun.elapsed().as_secs_f64() / SESSIONS as f64;
    ended(writing);
    for session in &sessions {
        let _ = stage.ostler.stop(session.id).unwrap();
    }
    let late = percentile(&answered, 99.0);
    vec![
        Figure::new(
            "many-answer",
            "200 children at 20 lines/s: a controller has read all and answers",
            Unit::Millis,
            answered,
        ),
        Figure::new("many-answer-p99", "– p99", Unit::Millis, vec![late]).beside(),
        Figure::new("many-follow", "– a child's line → follower", Unit::Millis, followed),
        Figure::new(
            "many-busy",
            "– processor time of one's keeper and controller, in a second",
            Unit::Millis,
            vec![spent],
        ),
    ]
}

/// More `ostler watch` at a time than a user has inotify instances by default (128).
const FOLLOWERS: usize = 140;

/// How late the last of many followers has a line.
pub(crate) fn followers(samples: usize) -> Vec<Figure> {
    let stage = Stage::new();
    let mut watched: Vec<(Child, BufReader<ChildStdout>, std::fs::File)> = Vec::new();
    for _ in 0..FOLLOWERS {
        let (id, dir) = journal(&stage);
        let mut command = stage.command(&beside("ostler"));
        command.args(["watch", "--raw", "--follow"]).arg(id.to_string()).stdout(Stdio::piped());
        let mut watch = command.spawn().unwrap();
        let out = BufReader::new(watch.stdout.take().expect("piped"));
        let file = std::fs::File::options().append(true).open(dir.generation(1).out()).unwrap();
        watched.push((watch, out, file));
    }
    let mut took = Vec::new();
    let mut line = Vec::new();
    for sample in 0..=samples as u64 {
        let begun = now();
        for (_, _, file) in &mut watched {
            file.write_all(&crate::lines::line(sample, begun)).unwrap();
        }
        for (_, out, _) in &mut watched {
            line.clear();
            out.read_until(b'\n', &mut line).unwrap();
            assert_eq!(crate::lines::read(&line), (sample, begun), "a line is lost or doubled");
        }
        // The first one comes while they start.
        if sample > 0 {
            took.push(now().saturating_sub(begun) as f64 / 1e6);
        }
    }
    for (mut watch, ..) in watched {
        watch.kill().unwrap();
        watch.wait().unwrap();
    }
    vec![Figure::new(
        "followers",
        "a line to each of 140 sessions → the last of 140 `ostler watch --raw`",
        Unit::Millis,
        took,
    )]
}
