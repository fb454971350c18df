//! A server of a desk's own, and a client that speaks just enough HTTP to be told everything.

use super::desk::Desk;
use super::desk_sessions::PATIENCE;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A running `ostler serve`.
pub(crate) struct Server {
    child: Child,
    /// Where it listens, `127.0.0.1:PORT`.
    pub(crate) address: String,
    pub(crate) socket: PathBuf,
    pub(crate) token: String,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Names in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Server {
    /// Starts one on the desk's home.
    #[track_caller]
    pub(crate) fn start(desk: &Desk) -> Self {
        Self::start_with(desk, |_| {})
    }

    /// The same; `shape` changes the command.
    #[track_caller]
    pub(crate) fn start_with(desk: &Desk, shape: impl FnOnce(&mut Command)) -> Self {
        let mut command = desk.command(&["serve", "--listen", "127.0.0.1:0", "--json"]);
        shape(&mut command);
        Self::told(desk, Self::spawned(desk, command))
    }

    /// A process that is, or becomes, a server.
    #[track_caller]
    pub(crate) fn spawned(desk: &Desk, mut command: Command) -> Child {
        let log = std::fs::File::options().create(true).append(true).open(desk.path("serve.log")).unwrap();
        command.stdout(Stdio::piped()).stderr(log).spawn().unwrap()
    }

    /// Waits until it says where it listens.
    #[track_caller]
    pub(crate) fn told(desk: &Desk, mut child: Child) -> Self {
        let mut said = serde_json::Deserializer::from_reader(child.stdout.take().unwrap()).into_iter();
        let said: Value = said.next().and_then(Result::ok).unwrap_or_else(|| {
            let log = std::fs::read_to_string(desk.path("serve.log")).unwrap_or_default();
            let _ = child.kill();
            let _ = child.wait();
            panic!("the server says nothing: {log}")
        });
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let token = std::fs::read_to_string(text(&said["token_file"])).unwrap().trim().to_owned();
        let address = text(&said["addresses"][0]).trim_start_matches("http://").to_owned();
        Self { child, address, socket: text(&said["socket"]).into(), token }
    }

    /// Kills it, as nothing else may matter.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to leave; its exit status.
    pub(crate) fn leave(mut self) -> Option<i32> {
        let pid = self.child.id().to_string();
        let done = Command::new("kill").args(["-TERM", &pid]).status().unwrap();
        assert!(done.success());
        self.child.wait().unwrap().code()
    }

    /// A request with the token.
    #[track_caller]
    pub(crate) fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        self.ask_with(method, path, body, &[])
    }

    /// The same with more headers.
    #[track_caller]
    pub(crate) fn ask_with(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
        more: &[(&str, &str)],
    ) -> Answer {
        let token = format!("Bearer {}", self.token);
        let mut headers = vec![("Authorization", token.as_str())];
        headers.extend_from_slice(more);
        self.raw(method, path, body.map(Value::to_string).as_deref().map(str::as_bytes), &headers)
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, None)
    }

    #[track_caller]
    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask("POST", path, Some(body))
    }

    /// Any request over TCP; `Host` and the content type are usual ones unless given.
    #[track_caller]
    pub(crate) fn raw(
        &self,
        method: &str,
        path: &str,
        body: Option<&[u8]>,
        headers: &[(&str, &str)],
    ) -> Answer {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        exchange(&mut stream, &request(&self.address, method, path, body, headers))
    }

    /// Any request over the local socket.
    #[track_caller]
    pub(crate) fn local(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
        headers: &[(&str, &str)],
    ) -> Answer {
        let mut stream = UnixStream::connect(&self.socket).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let body = body.map(Value::to_string);
        let text = request("ostler", method, path, body.as_deref().map(str::as_bytes), headers);
        exchange(&mut stream, &text)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The bytes of a request.
pub(crate) fn request(
    host: &str,
    method: &str,
    path: &str,
    body: Option<&[u8]>,
    headers: &[(&str, &str)],
) -> Vec<u8> {
    let has = |name: &str| headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
    let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    if !has("host") {
        text.push_str(&format!("Host: {host}\r\n"));
    }
    if !has("content-type") && matches!(method, "POST" | "PUT" | "PATCH") {
        text.push_str("Content-Type: application/json\r\n");
    }
    if !has("content-length") && (body.is_some() || method == "POST") {
        text.push_str(&format!("Content-Length: {}\r\n", body.map_or(0, <[u8]>::len)));
    }
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    let mut bytes = format!("{text}\r\n").into_bytes();
    bytes.extend_from_slice(body.unwrap_or_default());
    bytes
}

/// Writes a request and reads the answer to its end.
#[track_caller]
pub(crate) fn exchange(stream: &mut (impl Read + Write), request: &[u8]) -> Answer {
    // A server that refuses early doesn't read all of it.
    let _ = stream.write_all(request);
    let mut all = Vec::new();
    match stream.read_to_end(&mut all) {
        Err(error) if all.is_empty() => panic!("no answer: {error}"),
        _ => {}
    }
    Answer::parse(&all)
}

impl Answer {
    #[track_caller]
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|w| w == b"\r\n\r\n").unwrap_or_else(|| {
            panic!("no answer: {:?}", String::from_utf8_lossy(bytes));
        });
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).unwrap();
        let headers = lines.filter_map(|line| line.split_once(':'));
        let headers =
            headers.map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned())).collect();
        Self { status, headers, body: bytes[end + 4..].to_vec() }
    }

    /// Asserts the status.
    #[track_caller]
    pub(crate) fn is(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        self
    }

    /// Asserts that it is a problem of a kind, with the status that it says itself; its body.
    #[track_caller]
    pub(crate) fn problem(self, status: u16, kind: &str) -> Value {
        let answer = self.is(status);
        assert_eq!(answer.headers["content-type"], "application/problem+json");
        let body = answer.json();
        assert_eq!(body["type"], format!("urn:ostler:problem:{kind}"), "{body:#}");
        assert_eq!(body["status"], status, "{body:#}");
        assert!(!body["title"].as_str().unwrap().is_empty() && !body["detail"].as_str().unwrap().is_empty());
        body
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&self.body)))
    }
}
