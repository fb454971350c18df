//! What the server costs: how late and how fast lines reach a client over HTTP, beside a bare relay from a pipe to a
//! socket; a client that does not read; a store of very many sessions; very many clients.

use crate::figure::{Figure, Unit, percentile};
use crate::follow::{append, ended, from_pipe, journal, writer};
use crate::lines::{self, now};
use crate::sessions::weigh;
use crate::stage::{Stage, beside};
use ostler_core::ids::{ConversationId, Millis, SessionId};
use ostler_core::record::Record;
use ostler_store::Durability;
use ostler_store::db::SessionRow;
use std::hash::{DefaultHasher, Hasher};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// The word that makes this program a relay from its stdin to the first who connects.
pub(crate) const RELAY: &str = "relay";
/// Lines of a burst.
const BURST: u64 = 20_000;

/// `ostler serve` on the home of a stage.
struct Server {
    child: Child,
    address: String,
    token: String,
    /// From its start until it has said where it listens.
    ready: Duration,
}

impl Server {
    fn start(stage: &Stage) -> Self {
        let begun = Instant::now();
        let mut command = stage.command(&beside("ostler"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--json", "--log-level", "error"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().expect("piped"));
        let mut document = String::new();
        while !document.ends_with("\n}\n") {
            assert!(said.read_line(&mut document).unwrap() > 0, "the server ended: {document}");
        }
        let ready = begun.elapsed();
        let document: serde_json::Value = serde_json::from_str(&document).unwrap();
        let text = |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
        let address = text(&document["addresses"][0]).trim_start_matches("http://").to_owned();
        let token = std::fs::read_to_string(text(&document["token_file"])).unwrap().trim().to_owned();
        Self { child, address, token, ready }
    }

    /// Asks, and gives what is behind the head.
    fn get(&self, path: &str) -> Body {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let (host, token) = (&self.address, &self.token);
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n")
            .unwrap();
        let mut stream = BufReader::with_capacity(64 << 10, stream);
        let (mut head, mut length) = (String::new(), None);
        while !head.ends_with("\r\n\r\n") {
            let from = head.len();
            assert!(stream.read_line(&mut head).unwrap() > 0, "the server hung up: {head}");
            let line = head[from..].to_ascii_lowercase();
            length = line.strip_prefix("content-length:").map_or(length, |n| n.trim().parse().ok());
        }
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        Body { stream, left: length.unwrap_or(0), chunked: length.is_none() }
    }

    /// The lines of a session's claude, from the beginning, as they come.
    fn lines(&self, session: SessionId) -> Lines {
        let body = self.get(&format!("/v1/sessions/{session}/events?raw=1"));
        Lines { body: BufReader::with_capacity(64 << 10, body), record: Vec::new() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It owns nothing, and nothing is owed to it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The body of an answer: of a known length, or in chunks (RFC 9112, 7.1).
struct Body {
    stream: BufReader<TcpStream>,
    left: u64,
    chunked: bool,
}

impl Read for Body {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        while self.left == 0 && self.chunked {
            let mut size = String::new();
            if self.stream.read_line(&mut size)? == 0 {
                return Ok(0);
            }
            // The end of the chunk before is an empty line.
            if let Some(size) = Some(size.trim()).filter(|size| !size.is_empty()) {
                self.left = u64::from_str_radix(size, 16).expect("the size of a chunk");
                self.chunked = self.left > 0;
            }
        }
        if self.left == 0 {
            return Ok(0);
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buf.len());
        let read = self.stream.read(&mut buf[..most])?;
        self.left -= read as u64;
        Ok(read)
    }
}

/// Lines out of server-sent events.
struct Lines {
    body: BufReader<Body>,
    record: Vec<u8>,
}

impl Lines {
    /// The next line, without its newline.
    fn next(&mut self) -> &[u8] {
        loop {
            self.record.clear();
            assert!(self.body.read_until(b'\n', &mut self.record).unwrap() > 0, "the stream ended");
            if self.record.starts_with(b"data: ") {
                return self.record[6..].strip_suffix(b"\n").expect("read until there");
            }
        }
    }

    /// So many lines: their hash, newlines included.
    fn hash(&mut self, count: u64) -> u64 {
        let mut hasher = DefaultHasher::new();
        for _ in 0..count {
            hasher.write(self.next());
            hasher.write(b"\n");
        }
        hasher.finish()
    }
}

fn hash_of(path: &Path, line: usize) -> u64 {
    let bytes = std::fs::read(path).unwrap();
    let mut hasher = DefaultHasher::new();
    for line in bytes.chunks(line) {
        hasher.write(&line[..line.len() - 1]);
        hasher.write(b"\n");
    }
    hasher.finish()
}

/// One line a millisecond: how many microseconds after its writing a client has it.
pub(crate) fn latency(rounds: usize, count: u64, long: u64) -> Vec<Figure> {
    let stage = Stage::new();
    let server = Server::start(&stage);
    let mut found = [(Vec::new(), Vec::new()), (Vec::new(), Vec::new())];
    for _ in 0..rounds {
        let readers = [by_stream(&stage, &server, count), by_relay(count)];
        for (waits, (p50, p99)) in readers.iter().zip(&mut found) {
            let waits = &waits[waits.len() / 10..];
            p50.push(percentile(waits, 50.0));
            p99.push(percentile(waits, 99.0));
        }
    }
    let [(p50, p99), (relay50, relay99)] = found;
    let times = p50.iter().zip(&relay50).map(|(a, b)| a / b).collect();
    let all = by_stream(&stage, &server, long);
    let micros = |key, what, samples| Figure::new(key, what, Unit::Micros, samples);
    vec![
        micros("stream-p50", "a child's line → client of server-sent events, p50", p50).target(100.0),
        micros("stream-p99", "– p99", p99).target(1_000.0).beside(),
        micros("stream-long-p99", &format!("– p99 of {long} lines in one go"), vec![percentile(&all, 99.0)])
            .target(1_000.0)
            .beside(),
        micros("relay-p50", "beside: a bare relay from a pipe to a socket, p50", relay50).beside(),
        micros("relay-p99", "– p99", relay99).beside(),
        Figure::new("stream-to-relay", "stream to bare relay, p50", Unit::Times, times).target(2.0),
    ]
}

const PAUSE: Duration = Duration::from_millis(1);

fn by_stream(stage: &Stage, server: &Server, count: u64) -> Vec<f64> {
    let (id, dir) = journal(stage);
    let mut lines = server.lines(id);
    let child = writer(count, PAUSE, append(&dir.generation(1).out()));
    let waits = (0..count).map(|expected| {
        let (number, written) = lines::read(lines.next());
        assert_eq!(number, expected, "a line is lost or doubled");
        now().saturating_sub(written) as f64 / 1e3
    });
    let waits = waits.collect();
    ended(child);
    waits
}

fn by_relay(count: u64) -> Vec<f64> {
    let mut command = Command::new(std::env::current_exe().expect("we run"));
    let command = command.arg(RELAY).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut relay = command.spawn().unwrap();
    let mut port = String::new();
    BufReader::new(relay.stdout.take().expect("piped")).read_line(&mut port).unwrap();
    let stream = TcpStream::connect(("127.0.0.1", port.trim().parse().expect("a port"))).unwrap();
    let child = writer(count, PAUSE, relay.stdin.take().expect("piped").into());
    let waits = from_pipe(count, stream);
    ended(child);
    ended(relay);
    waits
}

/// What [`RELAY`] does; `say` tells the port.
pub(crate) fn relay(say: impl Fn(&str)) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    say(&format!("{}\n", listener.local_addr().unwrap().port()));
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_nodelay(true).unwrap();
    let (mut stdin, mut chunk) = (std::io::stdin().lock(), vec![0; 64 << 10]);
    while let Ok(read @ 1..) = stdin.read(&mut chunk) {
        stream.write_all(&chunk[..read]).unwrap();
    }
}

/// Lines a second to a client that counts and hashes, as fast as they are written; and what one that does not read costs.
pub(crate) fn throughput(rounds: usize) -> Vec<Figure> {
    let stage = Stage::new();
    let server = Server::start(&stage);
    let (mut rates, mut warm, mut grown) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let (id, dir) = journal(&stage);
        let out = dir.generation(1).out();
        let mut lines = server.lines(id);
        let begun = Instant::now();
        let child = writer(BURST, Duration::ZERO, append(&out));
        let hash = lines.hash(BURST);
        rates.push(BURST as f64 / begun.elapsed().as_secs_f64());
        ended(child);
        assert_eq!(hash, hash_of(&out, lines::LENGTH), "the stream is not the file");
        warm.push(from_file(&server, id, &out));
        grown.push(stalled(&stage, &server));
    }
    vec![
        Figure::new("stream-warm", "server-sent events, lines out of a warm file", Unit::PerSecond, warm)
            .target(300_000.0),
        Figure::new(
            "stream-burst",
            "– 20 000 lines as they are written, their start included",
            Unit::PerSecond,
            rates,
        ),
        Figure::new("stalled", "the server's memory for a client that does not read them", Unit::MiB, grown)
            .target(1.0)
            .beside(),
    ]
}

/// The same lines twenty times over, so that the connection does not count.
fn from_file(server: &Server, id: SessionId, out: &Path) -> f64 {
    const TIMES: u64 = 20;
    let bytes = std::fs::read(out).unwrap();
    let mut file = std::fs::File::options().append(true).open(out).unwrap();
    (1..TIMES).for_each(|_| file.write_all(&bytes).unwrap());
    let begun = Instant::now();
    let hash = server.lines(id).hash(BURST * TIMES);
    let rate = (BURST * TIMES) as f64 / begun.elapsed().as_secs_f64();
    assert_eq!(hash, hash_of(out, lines::LENGTH), "the stream is not the file");
    rate
}

/// By how many MiB the server's own memory grows; the client gets every line afterwards.
fn stalled(stage: &Stage, server: &Server) -> f64 {
    let (id, dir) = journal(stage);
    let out = dir.generation(1).out();
    let mut lines = server.lines(id);
    let before = weigh(server.child.id())[1];
    ended(writer(BURST, Duration::ZERO, append(&out)));
    std::thread::sleep(Duration::from_millis(300));
    let grown = weigh(server.child.id())[1] - before;
    assert_eq!(lines.hash(BURST), hash_of(&out, lines::LENGTH), "the stream is not the file");
    grown.max(0.0)
}

/// A store of so many sessions: how soon a server is ready, its first page, its memory.
pub(crate) fn store(sessions: u64, rounds: usize, pages: usize) -> Vec<Figure> {
    let stage = Stage::new();
    let db = stage.ostler.home().db(Durability::Normal).unwrap();
    for n in 0..sessions {
        let id = SessionId(Uuid::new_v4());
        let row = SessionRow {
            id,
            conversation: ConversationId(id.0),
            host: "bench".to_owned(),
            created_at: Millis(1_796_000_000_000 + i64::try_from(n).unwrap_or(i64::MAX)),
            label: None,
            cwd: "/work".to_owned(),
            record: Record::default(),
            revision: 0,
        };
        db.insert_session(&row).unwrap();
    }
    let (mut ready, mut first, mut memory) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let server = Server::start(&stage);
        ready.push(server.ready.as_secs_f64() * 1e3);
        for _ in 0..pages {
            let begun = Instant::now();
            let mut page = Vec::new();
            server.get("/v1/sessions").read_to_end(&mut page).unwrap();
            first.push(begun.elapsed().as_secs_f64() * 1e3);
            let page: serde_json::Value = serde_json::from_slice(&page).unwrap();
            assert_eq!(page["items"].as_array().map(Vec::len), Some(50));
        }
        memory.push(weigh(server.child.id())[0]);
    }
    let millis = |key, what: &str, samples| Figure::new(key, what, Unit::Millis, samples);
    vec![
        millis("serve-ready", &format!("a server on {sessions} sessions is ready"), ready).target(100.0),
        millis("first-page", "– its first page of sessions", first).target(30.0),
        Figure::new("serve-pss", "– its memory then, Pss", Unit::MiB, memory).target(30.0),
    ]
}

/// Processor time that all threads of a process have had, in milliseconds.
fn busy(pid: u32) -> f64 {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let nanos = tasks.filter_map(|task| {
        let stat = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        stat.split(' ').next()?.parse::<f64>().ok()
    });
    nanos.sum::<f64>() / 1e6
}

/// So many clients of so many sessions whose children write ten lines a second: all get every line.
pub(crate) fn clients(sessions: usize, clients: usize, seconds: u64) -> Vec<Figure> {
    let stage = Stage::new();
    let server = Server::start(&stage);
    let count = seconds * 10;
    let all: Vec<_> = (0..sessions).map(|_| journal(&stage)).collect();
    let readers = (0..clients).map(|n| {
        let mut lines = server.lines(all[n % sessions].0);
        let reader = std::thread::Builder::new().stack_size(256 << 10);
        (n % sessions, reader.spawn(move || lines.hash(count)).unwrap())
    });
    let readers: Vec<_> = readers.collect();
    let before = busy(server.child.id());
    let begun = Instant::now();
    let pause = Duration::from_millis(100);
    let writers: Vec<_> =
        all.iter().map(|(_, dir)| writer(count, pause, append(&dir.generation(1).out()))).collect();
    writers.into_iter().for_each(ended);
    let hashes: Vec<_> =
        all.iter().map(|(_, dir)| hash_of(&dir.generation(1).out(), lines::LENGTH)).collect();
    for (session, reader) in readers {
        assert_eq!(reader.join().expect("a reader"), hashes[session], "a stream is not its file");
    }
    let spent = (busy(server.child.id()) - before) / begun.elapsed().as_secs_f64();
    let what = format!(
        "{clients} clients of {sessions} sessions at 10 lines/s for {seconds} s, every byte the file's: the server's processor time in a second"
    );
    let memory = weigh(server.child.id())[0];
    vec![
        Figure::new("clients-busy", &what, Unit::Millis, vec![spent]).beside(),
        Figure::new("clients-pss", "– its memory, Pss", Unit::MiB, vec![memory]).beside(),
    ]
}
