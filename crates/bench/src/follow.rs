//! How late and how fast lines are seen: by ostler's follower, and by the barest readers there are, in one run.

use crate::figure::{Figure, Unit, percentile};
use crate::lines::{self, LENGTH, now};
use crate::stage::{Stage, beside};
use ostler_core::ids::SessionId;
use ostler_os::watch::{Backend, FileWatch};
use ostler_store::{Cursor, Entry, Follower, Journal, SessionDir};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// A follower that waits for more, as `ostler watch` does.
pub(crate) struct Watcher {
    follower: Follower,
    watch: FileWatch,
}

impl Watcher {
    pub(crate) fn new(follower: Follower) -> Self {
        Self { follower, watch: FileWatch::new(Backend::Auto, Duration::from_millis(20)) }
    }

    /// Everything that is there now; then waiting is for what comes.
    pub(crate) fn skip(&mut self) {
        while self.follower.next().unwrap().is_some() || self.watch.set(self.follower.watch_paths()) {}
    }

    /// The next entry.
    pub(crate) fn next(&mut self) -> Entry {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            if let Some(entry) = self.follower.next().unwrap() {
                return entry;
            }
            assert!(Instant::now() < deadline, "nothing came");
            if !self.watch.set(self.follower.watch_paths()) {
                self.watch.wait(Some(Instant::now() + Duration::from_millis(100)), &[]).unwrap();
            }
        }
    }

    /// The number and time of the next line.
    pub(crate) fn line(&mut self) -> (u64, u64) {
        loop {
            if let Entry::Out { bytes, .. } = self.next() {
                return lines::read(&bytes);
            }
        }
    }
}

/// A generation that nobody works on, in a session of its own: `out` and `ctl` are there and empty.
pub(crate) fn journal(stage: &Stage) -> (SessionId, SessionDir) {
    let session = stage.session("");
    let generation = session.dir.generation(1);
    fs::create_dir_all(&generation.path).unwrap();
    File::create(generation.out()).unwrap();
    File::create(generation.ctl()).unwrap();
    (session.id, session.dir)
}

pub(crate) fn writer(count: u64, pause: Duration, out: Stdio) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("we run"));
    command.args(["lines", &count.to_string(), &pause.as_micros().to_string()]);
    command.stdout(out).spawn().unwrap()
}

pub(crate) fn append(path: &Path) -> Stdio {
    File::options().append(true).open(path).unwrap().into()
}

pub(crate) fn ended(mut child: Child) {
    assert!(child.wait().unwrap().success(), "a child of the benchmark failed");
}

/// One line a millisecond: how many microseconds after its writing each reader has it.
pub(crate) fn latency(rounds: usize, count: u64) -> Vec<Figure> {
    type Reader = fn(&Stage, u64) -> Vec<f64>;
    let readers: [Reader; 4] = [by_follower, by_watch, by_pipe, by_inotify];
    let mut found = vec![(Vec::new(), Vec::new()); readers.len()];
    let stage = Stage::new();
    for _ in 0..rounds {
        for (reader, (p50, p99)) in readers.iter().zip(&mut found) {
            let waits = reader(&stage, count);
            assert_eq!(waits.len() as u64, count, "lines are missing");
            // The first ones come while everything starts.
            let waits = &waits[waits.len() / 10..];
            p50.push(percentile(waits, 50.0));
            p99.push(percentile(waits, 99.0));
        }
    }
    let [follower, watch, pipe, inotify] = found.try_into().expect("as many as readers");
    let ratio = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a / b).collect();
    let to_pipe = ratio(&follower.0, &pipe.0);
    let to_inotify = ratio(&follower.0, &inotify.0);
    let micros = |key, what, samples| Figure::new(key, what, Unit::Micros, samples);
    vec![
        micros("line-p50", "a child's line → follower, p50", follower.0).target(100.0),
        micros("line-p99", "– p99", follower.1).target(1_000.0).beside(),
        micros("watch-p50", "– through `ostler watch --raw` and a pipe, p50", watch.0),
        micros("watch-p99", "– p99", watch.1).beside(),
        micros("pipe-p50", "beside: a bare pipe, p50", pipe.0).beside(),
        micros("pipe-p99", "– p99", pipe.1).beside(),
        micros("inotify-p50", "beside: a bare file and inotify, p50", inotify.0).beside(),
        micros("inotify-p99", "– p99", inotify.1).beside(),
        Figure::new("line-to-pipe", "follower to bare pipe, p50", Unit::Times, to_pipe),
        Figure::new("line-to-inotify", "follower to bare inotify, p50", Unit::Times, to_inotify),
    ]
}

const PAUSE: Duration = Duration::from_millis(1);

/// Lines as they come, until there are `count`; each must be the next one.
fn waits(count: u64, mut next: impl FnMut() -> (u64, u64)) -> Vec<f64> {
    let wait = |expected| {
        let (number, written) = next();
        assert_eq!(number, expected, "a line is lost or doubled");
        now().saturating_sub(written) as f64 / 1e3
    };
    (0..count).map(wait).collect()
}

fn by_follower(stage: &Stage, count: u64) -> Vec<f64> {
    let (_, dir) = journal(stage);
    let mut watcher = Watcher::new(Journal::open(&dir).read_from(Cursor::START).unwrap());
    let child = writer(count, PAUSE, append(&dir.generation(1).out()));
    let waits = waits(count, || watcher.line());
    ended(child);
    waits
}

fn by_watch(stage: &Stage, count: u64) -> Vec<f64> {
    let (id, dir) = journal(stage);
    let mut command = stage.command(&beside("ostler"));
    command.args(["watch", "--raw", "--follow"]).arg(id.to_string()).stdout(Stdio::piped());
    let mut watch = command.spawn().unwrap();
    let out = append(&dir.generation(1).out());
    std::thread::sleep(Duration::from_millis(100));
    let child = writer(count, PAUSE, out);
    let waits = from_pipe(count, watch.stdout.take().expect("piped"));
    ended(child);
    watch.kill().unwrap();
    watch.wait().unwrap();
    waits
}

fn by_pipe(_: &Stage, count: u64) -> Vec<f64> {
    let mut child = writer(count, PAUSE, Stdio::piped());
    let waits = from_pipe(count, child.stdout.take().expect("piped"));
    ended(child);
    waits
}

pub(crate) fn from_pipe(count: u64, pipe: impl Read) -> Vec<f64> {
    let mut pipe = BufReader::with_capacity(64 << 10, pipe);
    let mut line = Vec::new();
    waits(count, || {
        line.clear();
        pipe.read_until(b'\n', &mut line).unwrap();
        lines::read(&line)
    })
}

fn by_inotify(stage: &Stage, count: u64) -> Vec<f64> {
    let path = journal(stage).1.generation(1).out();
    let mut command = Command::new(beside("examples").join("bare_follow"));
    let reader = command.arg(&path).arg(count.to_string()).stdout(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(50));
    ended(writer(count, PAUSE, append(&path)));
    let said = reader.wait_with_output().unwrap();
    assert!(said.status.success(), "the bare reader failed");
    let nanos = |line: &str| line.parse::<f64>().expect("a number") / 1e3;
    std::str::from_utf8(&said.stdout).expect("digits").lines().map(nanos).collect()
}

/// Lines a second: out of a file that is in memory, and as fast as a child can write them.
pub(crate) fn throughput(rounds: usize, count: u64) -> Vec<Figure> {
    let folder = tempfile::tempdir().unwrap();
    let home = ostler_store::Home::open(folder.path()).unwrap();
    let dir = home.session(SessionId(Uuid::new_v4()));
    fs::create_dir_all(dir.generation(1).path).unwrap();
    let mut out = std::io::BufWriter::new(File::create(dir.generation(1).out()).unwrap());
    (0..count).for_each(|n| out.write_all(&lines::line(n, 0)).unwrap());
    out.flush().unwrap();
    let rate = |count: u64, took: Duration| count as f64 / took.as_secs_f64();
    let warm = (0..rounds).map(|_| {
        let mut follower = Journal::open(&dir).read_from(Cursor::START).unwrap();
        let begun = Instant::now();
        let mut lines = 0;
        while let Some(entry) = follower.next().unwrap() {
            lines += u64::from(matches!(entry, Entry::Out { .. }));
        }
        assert_eq!(lines, count);
        rate(count, begun.elapsed())
    });
    let bare = (0..rounds).map(|_| {
        let begun = Instant::now();
        let mut file = File::open(dir.generation(1).out()).unwrap();
        let mut chunk = vec![0; 64 << 10];
        let mut bytes = 0;
        while let Ok(read @ 1..) = file.read(&mut chunk) {
            bytes += read;
        }
        assert_eq!(bytes, LENGTH * usize::try_from(count).expect("it was written"));
        rate(count, begun.elapsed())
    });
    let fast = |key, what, samples: Vec<f64>| Figure::new(key, what, Unit::PerSecond, samples);
    let stage = Stage::new();
    let (burst, alone) = (0..rounds).map(|_| burst(&stage)).unzip();
    vec![
        fast("follow-warm", "follower, lines of 250 bytes out of a warm file", warm.collect())
            .target(300_000.0),
        fast("read-warm", "beside: the same file in bare chunks", bare.collect()).beside(),
        fast("burst", "follower, 20 000 lines as fast as they are written", burst),
        fast("burst-writing", "beside: the writing of them", alone).beside(),
    ]
}

/// Lines a second: from the first line's writing to the last one's arrival, and to its writing.
fn burst(stage: &Stage) -> (f64, f64) {
    const COUNT: u64 = 20_000;
    let dir = journal(stage).1;
    let mut watcher = Watcher::new(Journal::open(&dir).read_from(Cursor::START).unwrap());
    let child = writer(COUNT, Duration::ZERO, append(&dir.generation(1).out()));
    let (mut first, mut last) = (0, 0);
    waits(COUNT, || {
        let line = watcher.line();
        first = if line.0 == 0 { line.1 } else { first };
        last = line.1;
        line
    });
    let rate = |until: u64| COUNT as f64 * 1e9 / until.saturating_sub(first) as f64;
    let rates = (rate(now()), rate(last));
    ended(child);
    rates
}
