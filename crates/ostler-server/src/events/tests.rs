//! Streams against the files that they are made of: any bytes, any growth, any place to go on from.

mod sse;

use super::{Begin, Filter, Hub, LONGEST_HELD, Stream};
use http_body::Body;
use http_body_util::BodyExt;
use ostler_core::ctl::{Event, Exit, Row};
use ostler_core::ids::{Millis, SessionId};
use ostler_os::watch::Backend;
use ostler_store::{Cursor, Journal, SessionDir};
use proptest::prelude::*;
use sse::{Reader, Record, written};
use std::fs::OpenOptions;
use std::future::Future;
use std::io::Write;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tempfile::TempDir;

/// For anything that is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// A session of files, and a hub.
struct Stage {
    dir: SessionDir,
    hub: Arc<Hub>,
    _folder: TempDir,
}

impl Stage {
    fn new(backend: Backend) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let dir = SessionDir { id: SessionId(uuid::Uuid::new_v4()), path: folder.path().join("session") };
        std::fs::create_dir(&dir.path).unwrap();
        let hub = Hub::new(backend).unwrap();
        tokio::spawn(Arc::clone(&hub).run());
        Self { dir, hub, _folder: folder }
    }

    fn out(&self, no: u32, bytes: &[u8]) {
        std::fs::create_dir_all(self.dir.generation(no).path).unwrap();
        append(&self.dir.generation(no).out(), bytes);
    }

    fn ctl(&self, no: u32, off: u64, ev: Event) {
        std::fs::create_dir_all(self.dir.generation(no).path).unwrap();
        let mut line = serde_json::to_vec(&Row { at: Millis(1), off, ev }).unwrap();
        line.push(b'\n');
        append(&self.dir.generation(no).ctl(), &line);
    }

    fn stream(&self, after: Cursor, filter: Filter) -> Client {
        let journal = Journal::open(&self.dir).with_max_line(LONGEST_HELD);
        let begin = Begin {
            follower: journal.read_from(after).unwrap(),
            reset: None,
            ends: false,
            heartbeat: Duration::from_secs(60),
        };
        Client { stream: Stream::new(&self.hub, begin, filter), reader: Reader::default() }
    }
}

fn append(path: &Path, bytes: &[u8]) {
    OpenOptions::new().create(true).append(true).open(path).unwrap().write_all(bytes).unwrap();
}

fn dead() -> Event {
    Event::Dead { exit: Exit::Code(0), proven: true, killed: 0, said: None }
}

fn note(text: &str) -> Event {
    Event::Note { text: text.to_owned() }
}

/// One who reads a stream.
struct Client {
    stream: Stream,
    reader: Reader,
}

impl Client {
    /// Reads until `enough` says so of all records so far.
    async fn until(&mut self, what: &str, mut enough: impl FnMut(&[Record]) -> bool) {
        let reading = async {
            while !enough(&self.reader.records) {
                let frame = self.stream.frame().await.expect("the stream goes on").unwrap();
                let bytes = frame.into_data().unwrap();
                assert!(bytes.len() < 4 * LONGEST_HELD, "a frame of {} bytes", bytes.len());
                self.reader.push(&bytes);
            }
        };
        tokio::time::timeout(PATIENCE, reading).await.unwrap_or_else(|_| panic!("waited in vain for {what}"));
    }

    async fn reads(&mut self, bytes: &[u8]) {
        let mut so_far = 0;
        let what = format!("{} bytes", bytes.len());
        self.until(&what, |records| {
            so_far = written(records).len();
            so_far >= bytes.len()
        })
        .await;
        assert_eq!(so_far, bytes.len());
        assert!(written(&self.reader.records) == bytes, "other bytes came than were written");
    }

    /// Reads until it waits.
    async fn rests(&mut self) {
        let mut pending = 0;
        std::future::poll_fn(|cx| {
            // Once to let others go first, once to wait.
            while pending < 2 {
                match Pin::new(&mut self.stream).poll_frame(cx) {
                    Poll::Ready(Some(Ok(frame))) => {
                        pending = 0;
                        self.reader.push(frame.data_ref().unwrap());
                    }
                    Poll::Ready(_) => panic!("the stream goes on"),
                    Poll::Pending => pending += 1,
                }
            }
            Poll::Ready(())
        })
        .await;
    }

    fn cursor(&self) -> Cursor {
        self.reader.records.last().map_or(Cursor::START, |record| record.id.parse().unwrap())
    }

    fn names(&self) -> Vec<&str> {
        self.reader.records.iter().map(|record| record.event.as_str()).collect()
    }
}

fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(test)
}

fn all() -> Filter {
    Filter::default()
}

/// A line of every kind that is awkward for somebody.
fn awkward() -> impl Strategy<Value = Vec<u8>> {
    let text = |text: &str| Just(text.as_bytes().to_vec());
    prop_oneof![
        4 => "[ -~]{0,40}".prop_map(String::into_bytes),
        1 => text(r#"{"type":"assistant","text":"\ud99c"}"#),
        1 => text("nel\u{85}ls\u{2028}ps\u{2029}"),
        1 => text("é 漢字 🦀"),
        1 => text(""),
        1 => text(": comment"),
        1 => text("data: x"),
        1 => text(" leading"),
        1 => text("\r"),
        1 => text("cr\rcr\r"),
        1 => Just(b"\xff\xfe\x80".to_vec()),
        1 => Just(b"\xed\xa0\x80".to_vec()),
        1 => prop::collection::vec(any::<u8>().prop_filter("no newline", |b| *b != b'\n'), 0..60),
        1 => (0..4usize).prop_map(|n| "0123456789é".repeat(n * 9_000).into_bytes()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_growth_read_from_anywhere_is_the_file(
        lines in prop::collection::vec(awkward(), 1..30),
        cuts in prop::collection::vec(1..5_000usize, 1..12),
        rows in prop::collection::vec(any::<bool>(), 1..12),
        tail in awkward(),
        restarts in prop::collection::vec(any::<bool>(), 1..12),
    ) {
        run(async {
            let stage = Stage::new(Backend::Auto);
            let mut whole: Vec<u8> = lines.iter().flat_map(|line| [line.as_slice(), b"\n"].concat()).collect();
            let mut client = stage.stream(Cursor::START, all());
            let mut given = Vec::new();
            let (mut at, mut rows_written) = (0, 0);
            let mut plans = cuts.iter().cycle().zip(rows.iter().cycle()).zip(restarts.iter().cycle());
            while at < whole.len() {
                let ((cut, row), restart) = plans.next().unwrap();
                let end = whole.len().min(at + cut);
                stage.out(1, &whole[at..end]);
                at = end;
                let complete = whole[..at].iter().rposition(|b| *b == b'\n').map_or(0, |n| n + 1);
                if *row {
                    stage.ctl(1, complete as u64, note("seen"));
                    rows_written += 1;
                }
                client.reads(&whole[given.len()..complete]).await;
                if *restart {
                    let records = std::mem::take(&mut client.reader.records);
                    let cursor = records.last().map(|r| r.id.parse().unwrap());
                    given.extend(written(&records));
                    if let Some(cursor) = cursor {
                        client = stage.stream(cursor, all());
                    }
                }
            }
            stage.out(1, &tail);
            stage.ctl(1, (whole.len() + tail.len()) as u64, dead());
            stage.out(2, b"next\n");
            whole.extend_from_slice(&tail);
            whole.extend_from_slice(b"next\n");
            client.reads(&whole[given.len()..]).await;
            // Whoever comes later gets the same, with every row, from every place.
            let mut later = stage.stream(Cursor::START, all());
            later.reads(&whole).await;
            let controls = later.names().iter().filter(|name| **name == "control").count();
            assert_eq!(controls, rows_written + 1);
            let records = &later.reader.records;
            for (at, record) in records.iter().enumerate().step_by(7) {
                let mut again = stage.stream(record.id.parse().unwrap(), all());
                again.until("the rest", |found| found.len() >= records.len() - at - 1).await;
                assert_eq!(&again.reader.records, &records[at + 1..], "from {}", record.id);
            }
        });
    }
}

#[test]
fn a_line_of_forty_megabytes_goes_in_pieces_and_its_neighbours_are_whole() {
    run(async {
        let stage = Stage::new(Backend::Auto);
        let long = |fill: &str, last: &[u8]| {
            let line = fill.repeat((40 << 20) / fill.len());
            [b"{\"type\":\"user\",\"text\":\"", line.as_bytes(), last, b"\"}\n"].concat()
        };
        let whole = [
            b"before\n".to_vec(),
            long("0123456789abcdef", b""),
            long("é漢🦀", b""),
            b"between\n".to_vec(),
            long("plain and long ", b"\xff"),
            b"after\n".to_vec(),
        ]
        .concat();
        stage.out(1, &whole);
        let mut client = stage.stream(Cursor::START, all());
        client
            .until("all of it", |records| records.last().is_some_and(|record| record.data == "after"))
            .await;
        assert!(written(&client.reader.records) == whole);
        assert_eq!(
            client.names(),
            ["generation", "line", "line", "line", "line", "line-base64", "line"],
            "only what is no text is encoded"
        );
    });
}

#[test]
fn filtered_lines_are_passed_and_the_place_is_told_behind_them() {
    run(async {
        let stage = Stage::new(Backend::Auto);
        let delta = format!("{}\n", r#"{"type":"stream_event","event":{"x":1}}"#);
        let init = format!("{}\n", r#"{"type":"system","subtype":"init"}"#);
        let long_delta = format!("{{\"type\":\"stream_event\",\"event\":\"{}\"}}\n", "x".repeat(200_000));
        stage.out(1, format!("{init}{delta}{delta}{long_delta}{delta}").as_bytes());
        stage.ctl(1, 0, note("n"));
        let filter = |types, deltas, raw| Filter::new(types, deltas, raw).unwrap();
        let mut plain = stage.stream(Cursor::START, filter(None, false, false));
        plain.until("the first", |records| records.len() >= 3).await;
        stage.out(1, init.as_bytes());
        plain.until("another", |records| records.len() >= 4).await;
        assert_eq!(plain.names(), ["generation", "control", "line", "line"]);
        let mut raw = stage.stream(Cursor::START, filter(None, false, true));
        raw.until("both", |records| records.len() >= 2).await;
        assert_eq!(raw.names(), ["line", "line"]);
        let mut few = stage.stream(Cursor::START, filter(Some("control/note,system/status"), true, false));
        few.until("one", |records| !records.is_empty()).await;
        assert_eq!(few.names(), ["control"]);
    });
}

#[test]
fn a_quiet_stream_gives_signs_of_life_and_its_place() {
    run(async {
        let stage = Stage::new(Backend::Auto);
        stage.out(1, b"{\"type\":\"stream_event\"}\n");
        let follower =
            Journal::open(&stage.dir).with_max_line(LONGEST_HELD).read_from(Cursor::START).unwrap();
        let begin = Begin { follower, reset: None, ends: false, heartbeat: Duration::from_millis(30) };
        let filter = Filter::new(Some("result"), true, false).unwrap();
        let stream = Stream::new(&stage.hub, begin, filter);
        let mut client = Client { stream, reader: Reader::default() };
        while client.reader.comments < 3 {
            let frame =
                tokio::time::timeout(PATIENCE, client.stream.frame()).await.unwrap().unwrap().unwrap();
            client.reader.push(&frame.into_data().unwrap());
        }
        assert!(client.reader.records.is_empty());
        assert_eq!(client.reader.last_id(), "1.24.0", "whoever comes back need not read it again");
    });
}

#[test]
fn a_stream_ends_properly_when_the_server_leaves_or_the_session_goes() {
    run(async {
        let stage = Stage::new(Backend::Auto);
        stage.out(1, b"one\n");
        let mut client = stage.stream(Cursor::START, all());
        client.until("a line", |records| written(records) == b"one\n").await;
        let mut other = stage.stream(Cursor::START, all());
        other.until("a line", |records| written(records) == b"one\n").await;
        std::fs::remove_dir_all(&stage.dir.path).unwrap();
        client.until("the end", |records| records.last().is_some_and(|r| r.event == "end")).await;
        assert_eq!(client.reader.records.last().unwrap().data, r#"{"reason":"gone"}"#);
        assert!(client.stream.frame().await.is_none());

        let stage = Stage { hub: Hub::new(Backend::Poll).unwrap(), ..stage };
        stage.out(1, b"two\n");
        let mut client = stage.stream(Cursor::START, all());
        client.until("a line", |records| written(records) == b"two\n").await;
        let cursor = client.cursor();
        stage.hub.leave();
        client.until("the end", |records| records.last().is_some_and(|r| r.event == "end")).await;
        assert_eq!(client.reader.records.last().unwrap().data, r#"{"reason":"leaving"}"#);
        assert_eq!(client.cursor(), cursor);
        assert!(client.stream.frame().await.is_none());
    });
}

#[test]
fn a_room_is_watched_while_somebody_is_in_it() {
    run(async {
        let stage = Stage::new(Backend::Poll);
        stage.out(1, b"one\n");
        let mut clients = [stage.stream(Cursor::START, all()), stage.stream(Cursor::START, all())];
        for client in &mut clients {
            client.rests().await;
        }
        stage.out(1, b"two\n");
        for client in &mut clients {
            client.until("another", |records| written(records) == b"one\ntwo\n").await;
            client.rests().await;
        }
        assert_eq!(stage.hub.visitors(), 2);
        assert!(stage.hub.is_watching());
        drop(clients);
        assert_eq!(stage.hub.visitors(), 0);
        assert!(!stage.hub.is_watching());
    });
}
