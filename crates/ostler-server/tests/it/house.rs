//! A server in this process, with limits and surroundings of the test's own.

use ostler_controller::client::{NewSession, Ostler, Starter};
use ostler_core::env::{Choice, capture};
use ostler_core::ids::{Millis, SessionId};
use ostler_core::spec::{LaunchSpec, Launcher, PinnedFile, Resolved};
use ostler_server::launch::{Launch, NewSpec, Refused};
use ostler_server::{HandedDown, Limits, Options, Ready, serve};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::oneshot;
use uuid::Uuid;

/// For anything that is waited for.
const PATIENCE: Duration = Duration::from_secs(40);

type Make = fn(&NewSpec) -> Result<LaunchSpec, Refused>;

/// Makes launch specs as the test says.
struct Maker(Make);

impl Launch for Maker {
    fn spec(&self, asked: &NewSpec) -> Result<LaunchSpec, Refused> {
        (self.0)(asked)
    }
}

/// A server and its home.
pub(crate) struct House {
    folder: TempDir,
    address: SocketAddr,
    token: String,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl House {
    /// No keeper can be started in it.
    pub(crate) fn new(limits: Limits, make: Make) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        let starter = Starter { exe: folder.path().join("no-such-program").into(), env: Vec::new() };
        let ostler = Ostler::open(&home).unwrap().with_starter(starter);
        let owner = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(&home).unwrap());
        let listen = vec!["127.0.0.1:0".parse().unwrap()];
        let options = Options {
            listen,
            handed_down: HandedDown::default(),
            local: false,
            wider: None,
            owner,
            now: || Millis(1_000),
            limits,
            webhook: None,
            bridge: None,
        };
        let (told, ready) = mpsc::channel::<Ready>();
        let (end, ended) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let tell = move |ready| told.send(ready).unwrap();
                let end = async { drop(ended.await) };
                serve(ostler, options, Box::new(Maker(make)), tell, end).await.unwrap();
            });
        });
        let ready = ready.recv_timeout(PATIENCE).unwrap();
        let token = std::fs::read_to_string(ready.token_file).unwrap().trim().to_owned();
        Self { folder, address: ready.addresses[0], token, end: Some(end), thread: Some(thread) }
    }

    /// Another face of the same home.
    pub(crate) fn ostler(&self) -> Ostler {
        Ostler::open(&self.folder.path().join("home")).unwrap()
    }

    /// A session that nothing was said to yet.
    pub(crate) fn session(&self) -> SessionId {
        let id = SessionId(Uuid::new_v4());
        let cwd = self.folder.path().to_str().unwrap();
        self.ostler().create(&NewSession { id, label: None, spec: spec(cwd), at: Millis(1) }).unwrap();
        id
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// The head of a request with the token, without the empty line at its end.
    pub(crate) fn head(&self, method: &str, path: &str, more: &str) -> String {
        format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\n{more}",
            self.address, self.token
        )
    }

    /// A whole request, and its answer.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let head = self.head(method, path, &format!("Content-Length: {}\r\n", body.len()));
        let mut stream = self.connect();
        // A server that refuses early doesn't read all of it.
        let _ = stream.write_all(format!("{head}\r\n{body}").as_bytes());
        answer(stream)
    }
}

impl Drop for House {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the server broke down");
        }
    }
}

/// Everything up to the end of the connection, as text.
pub(crate) fn rest(mut stream: TcpStream) -> String {
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all);
    String::from_utf8_lossy(&all).into_owned()
}

/// The status of an answer and its body.
#[track_caller]
pub(crate) fn answer(stream: TcpStream) -> (u16, Value) {
    let all = rest(stream);
    let (head, body) = all.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {all:?}"));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap();
    (status, serde_json::from_str(body).unwrap_or_else(|e| panic!("{e}: {body}")))
}

fn spec(cwd: &str) -> LaunchSpec {
    let platform = ostler_core::argv::Platform::of(std::env::consts::OS);
    let environment = capture(&[], &Choice::default(), platform).unwrap();
    let program = PinnedFile { path: "/claude".to_owned(), sha256: String::new(), size: 0, mtime_ns: 0 };
    let resolved = Resolved {
        env: Vec::new(),
        program,
        args: Vec::new(),
        scripts: Vec::new(),
        version: "2.1.332".to_owned(),
        agents_by_file: true,
    };
    let launcher = Launcher { command: vec!["/claude".to_owned()], resolved };
    LaunchSpec::new(launcher, "claude-sonnet-4-5", cwd, environment)
}
