//! Questions are told to somebody outside: signed, at least once, and no longer than they wait.

use super::desk_sessions::{Office, PATIENCE, until};
use super::serve_http::Server;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ostler_core::ids::Millis;
use ostler_store::{Db, Durability};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

const ASKS: &str = "otherwise\n ask Bash {\"command\":\"make all\"}\n then\n say Made.\n";
const SECRET: &str = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3";
const KEY: &[u8] = b"0123456789abcdef01234567";

/// What a receiver was told.
#[derive(Clone, Debug)]
struct Told {
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

/// Somebody who is told. It answers as it is bidden, and 200 when it is not; 0 is no answer at all.
struct Receiver {
    address: SocketAddr,
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    told: Mutex<Vec<Told>>,
    answers: Mutex<VecDeque<u16>>,
    /// Connections that get no answer stay open.
    held: Mutex<Vec<TcpStream>>,
    ends: AtomicBool,
}

impl Receiver {
    fn new(answers: &[u16]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State { answers: Mutex::new(answers.to_vec().into()), ..State::default() });
        let shared = Arc::clone(&state);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().map(Result::unwrap) {
                if shared.ends.load(Ordering::SeqCst) {
                    return;
                }
                shared.take(stream);
            }
        });
        Self { address, state, thread: Some(thread) }
    }

    fn told(&self) -> Vec<Told> {
        self.state.told.lock().unwrap().clone()
    }

    /// Waits until it was told so often.
    #[track_caller]
    fn is_told(&self, times: usize) -> Vec<Told> {
        until("the receiver to be told", || Some(self.told()).filter(|told| told.len() >= times))
    }
}

impl State {
    fn take(&self, mut stream: TcpStream) {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut headers = BTreeMap::new();
        let mut line = String::new();
        while reader.read_line(&mut line).unwrap() > 2 {
            let (name, value) = line.split_once(':').unwrap_or(("request", &line));
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
            line.clear();
        }
        let mut body = vec![0; headers["content-length"].parse().unwrap()];
        reader.read_exact(&mut body).unwrap();
        let answer = self.answers.lock().unwrap().pop_front().unwrap_or(200);
        if answer == 0 {
            self.held.lock().unwrap().push(stream);
        } else {
            let text = format!("HTTP/1.1 {answer} X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            let _ = stream.write_all(text.as_bytes());
        }
        // Last, so that whoever sees it knows that it was answered.
        self.told.lock().unwrap().push(Told { headers, body });
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.state.ends.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Told {
    fn id(&self) -> &str {
        &self.headers["webhook-id"]
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

fn start(office: &Office, receiver: &Receiver, more: &[&str]) -> Server {
    let secret = office.desk.file("secret", format!("{SECRET}\n"));
    Server::start_with(&office.desk, |command| {
        command.arg(format!("--webhook=http://{}/hook?who=me", receiver.address));
        command.arg("--webhook-secret").arg(secret).args(more);
    })
}

/// HMAC-SHA256 as RFC 2104 has it, so that this is not checked by what made it.
fn hmac(key: &[u8], text: &[u8]) -> Vec<u8> {
    let mut block = [0; 64];
    block[..key.len()].copy_from_slice(key);
    let padded = |with: u8| block.map(|byte| byte ^ with);
    let inner = Sha256::new().chain_update(padded(0x36)).chain_update(text).finalize();
    Sha256::new().chain_update(padded(0x5c)).chain_update(inner).finalize().to_vec()
}

/// Nothing waits to be told any more.
fn nothing_waits(office: &Office) -> bool {
    let db = Db::open(&office.desk.home(), Durability::Full).unwrap();
    db.webhook_due(Millis(i64::MAX)).unwrap() == Err(None)
}

#[test]
fn a_question_is_told_once_and_signed() {
    let office = Office::new(ASKS);
    let receiver = Receiver::new(&[]);
    let server = start(&office, &receiver, &[]);
    let id = office.started(&["--label", "nightly", "a secret prompt"]);
    let told = receiver.is_told(1).remove(0);
    assert_eq!(told.headers["request"], "POST /hook?who=me HTTP/1.1");
    assert_eq!(told.headers["content-type"], "application/json");
    let signed = format!("{}.{}.", told.id(), told.headers["webhook-timestamp"]);
    let signed = [signed.as_bytes(), &told.body].concat();
    assert_eq!(told.headers["webhook-signature"], format!("v1,{}", STANDARD.encode(hmac(KEY, &signed))));
    let request = office.asks();
    let body = told.json();
    assert_eq!(body["type"], "permission.requested");
    let expected = serde_json::json!({
        "session": id, "label": "nightly", "generation": 1, "request": request, "kind": "tool", "tool": "Bash",
        "argument": "make all", "url": format!("http://{}/v1/permissions/{id}/1/{request}", server.address),
    });
    assert_eq!(body["data"], expected);
    assert!(!String::from_utf8_lossy(&told.body).contains("secret prompt"));
    // What is told leads to the question itself.
    let url = body["data"]["url"].as_str().unwrap();
    let path = url.strip_prefix(&format!("http://{}", server.address)).unwrap();
    assert_eq!(server.get(path).is(200).json()["tool"], "Bash");
    // Told is told, also for the next server.
    until("the queue to be empty", || nothing_waits(&office).then_some(()));
    server.kill();
    let server = start(&office, &receiver, &[]);
    let second = office.started(&["other"]);
    let all = receiver.is_told(2);
    assert_eq!((all.len(), &all[1].json()["data"]["session"]), (2, &second.as_str().into()));
    assert_ne!(all[0].id(), all[1].id());
    for session in [&id, &second] {
        office.desk.run(&["close", session]).exits(0);
    }
    let text = std::fs::read_to_string(office.desk.path("serve.log")).unwrap();
    assert!(!text.contains("make all") && !text.contains(&SECRET[6..]) && !text.contains("who=me"), "{text}");
    drop(server);
    office.close();
}

#[test]
fn what_was_not_taken_is_told_again_under_the_same_id() {
    let office = Office::new(ASKS);
    let receiver = Receiver::new(&[500, 302]);
    let server = start(&office, &receiver, &[]);
    let id = office.started(&["go"]);
    let told = receiver.is_told(3);
    assert!(told.iter().all(|one| one.id() == told[0].id() && one.json()["data"] == told[0].json()["data"]));
    until("the queue to be empty", || nothing_waits(&office).then_some(()));
    let text = std::fs::read_to_string(office.desk.path("serve.log")).unwrap();
    assert!(text.contains("answered 500") && text.contains("answered 302"), "{text}");
    let text = String::from_utf8(server.get("/metrics").is(200).body).unwrap();
    for line in ["ostler_webhooks_total{result=\"failed\"} 2", "ostler_webhooks_total{result=\"sent\"} 1"] {
        assert!(text.lines().any(|have| have == line), "{text}");
    }
    office.desk.run(&["close", &id]).exits(0);
    drop(server);
    office.close();
}

#[test]
fn a_server_that_is_killed_while_it_tells_tells_again() {
    let office = Office::new(ASKS);
    let receiver = Receiver::new(&[0]);
    let server = start(&office, &receiver, &[]);
    let id = office.started(&["go"]);
    receiver.is_told(1);
    server.kill();
    let server = start(&office, &receiver, &[]);
    let told = receiver.is_told(2);
    assert_eq!(told[0].id(), told[1].id());
    until("the queue to be empty", || nothing_waits(&office).then_some(()));
    office.desk.run(&["close", &id]).exits(0);
    drop(server);
    office.close();
}

#[test]
fn it_is_given_up_after_the_last_attempt() {
    let office = Office::new(ASKS);
    let receiver = Receiver::new(&[500, 500]);
    let server = start(&office, &receiver, &["--webhook-attempts=2"]);
    let id = office.started(&["go"]);
    until("it to be given up", || {
        let text = std::fs::read_to_string(office.desk.path("serve.log")).unwrap();
        text.contains("a webhook is given up").then_some(())
    });
    assert_eq!(receiver.told().len(), 2);
    until("the queue to be empty", || nothing_waits(&office).then_some(()));
    // Nothing depends on it.
    let request = office.asks();
    office.desk.run(&["approve", &id, &request]).exits(0);
    office.desk.run(&["wait", &id, "--timeout", "40s"]).exits(0);
    drop(server);
    office.close();
}

#[test]
fn what_was_decided_in_time_is_told_no_more() {
    let office = Office::new(ASKS);
    let receiver = Receiver::new(&[503]);
    let server = start(&office, &receiver, &[]);
    let id = office.started(&["go"]);
    receiver.is_told(1);
    let request = office.asks();
    office.desk.run(&["approve", &id, &request]).exits(0);
    until("the queue to be empty", || nothing_waits(&office).then_some(()));
    office.desk.run(&["wait", &id, "--timeout", "40s"]).exits(0);
    assert_eq!(receiver.told().len(), 1);
    drop(server);
    office.close();
}

#[test]
fn a_receiver_that_others_could_listen_to_and_a_short_secret_are_refused() {
    let office = Office::new(ASKS);
    let secret = office.desk.file("secret", SECRET).display().to_string();
    let short = office.desk.file("short", "short").display().to_string();
    let run = |url: &str, secret: &str| {
        office.desk.run(&["serve", "--no-tcp", "--webhook", url, "--webhook-secret", secret]).exits(2).err
    };
    assert!(run("http://example.com/", &secret).contains("must begin with https://"));
    assert!(run("https://example.com/", &short).contains("holds no secret"));
    office.desk.run(&["serve", "--no-tcp", "--webhook", "https://example.com/"]).exits(2);
    office.close();
}
