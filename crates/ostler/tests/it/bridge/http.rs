//! A client of a few lines: one request a connection, and streams record by record.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }
}

/// A request, not yet sent.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Request {
    pub(crate) fn new(method: &str, target: &str, body: &str) -> Self {
        let (method, target, body) = (method.to_owned(), target.to_owned(), body.to_owned());
        Self { method, target, headers: Vec::new(), body }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends it, and reads the head of the answer.
    fn send(&self, to: SocketAddr) -> (Answer, BufReader<TcpStream>) {
        let mut stream = TcpStream::connect(to).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(40))).unwrap();
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        if self.headers.iter().all(|(name, _)| !name.eq_ignore_ascii_case("host")) {
            head.push_str(&format!("Host: {to}\r\n"));
        }
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("Connection: close\r\nContent-Length: {}\r\n\r\n", self.body.len()));
        stream.write_all(head.as_bytes()).unwrap();
        // A server that refuses early may not read all of it.
        let _ = stream.write_all(self.body.as_bytes());
        let mut from = BufReader::new(stream);
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            assert_ne!(from.read_line(&mut line).unwrap(), 0, "no answer to {self:?}: {lines:?}");
            if line.trim_end().is_empty() {
                break;
            }
            lines.push(line.trim_end().to_owned());
        }
        let status = lines[0].split(' ').nth(1).unwrap().parse().unwrap();
        let headers = lines[1..].iter().filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(n, v)| (n.to_ascii_lowercase(), v.to_owned())).collect();
        (Answer { status, headers, body: String::new() }, from)
    }

    /// The whole answer.
    pub(crate) fn answer(&self, to: SocketAddr) -> Answer {
        let (mut answer, from) = self.send(to);
        let mut body = Vec::new();
        Body::of(&answer, from).read_to_end(&mut body).unwrap();
        answer.body = String::from_utf8(body).unwrap();
        answer
    }

    /// The answer's records as they come.
    pub(crate) fn records(&self, to: SocketAddr) -> (Answer, Records) {
        let (answer, from) = self.send(to);
        let body = Body::of(&answer, from);
        (answer, Records { from: BufReader::new(body) })
    }
}

/// A body, chunked or until the end.
#[derive(Debug)]
struct Body {
    from: BufReader<TcpStream>,
    chunked: bool,
    left: usize,
    over: bool,
}

impl Body {
    fn of(answer: &Answer, from: BufReader<TcpStream>) -> Self {
        Self { from, chunked: answer.header("transfer-encoding") == Some("chunked"), left: 0, over: false }
    }
}

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if !self.chunked {
            return self.from.read(buffer);
        }
        if self.over {
            return Ok(0);
        }
        if self.left == 0 {
            let mut line = String::new();
            self.from.read_line(&mut line)?;
            // A server that was killed ends its streams in the middle.
            let Ok(size) = usize::from_str_radix(line.trim(), 16) else {
                self.over = true;
                return Ok(0);
            };
            (self.left, self.over) = (size, size == 0);
            if self.over {
                return Ok(0);
            }
        }
        let most = self.left.min(buffer.len());
        let read = self.from.read(&mut buffer[..most])?;
        self.left -= read;
        self.over |= read == 0;
        if self.left == 0 && !self.over {
            let mut end = [0; 2];
            self.from.read_exact(&mut end)?;
        }
        Ok(read)
    }
}

/// Records of a stream.
#[derive(Debug)]
pub(crate) struct Records {
    from: BufReader<Body>,
}

impl Records {
    /// The next one; None: the stream has closed.
    #[track_caller]
    pub(crate) fn next(&mut self) -> Option<Value> {
        loop {
            let mut line = String::new();
            // An error: the server was killed.
            if self.from.read_line(&mut line).unwrap_or(0) == 0 {
                return None;
            }
            let line = line.trim_end_matches('\n');
            if line.is_empty() {
                continue;
            }
            let data = line.strip_prefix("data: ").unwrap_or_else(|| panic!("{line:?} is no record"));
            return Some(serde_json::from_str(data).unwrap());
        }
    }

    /// The next one of a type.
    #[track_caller]
    pub(crate) fn of_type(&mut self, name: &str) -> Value {
        loop {
            let record = self.next().unwrap_or_else(|| panic!("the stream closed without {name}"));
            if record["type"] == name {
                return record;
            }
        }
    }

    /// All until it closes.
    #[track_caller]
    pub(crate) fn all(mut self) -> Vec<Value> {
        std::iter::from_fn(|| self.next()).collect()
    }
}

/// The texts of chunks, one behind the other.
pub(crate) fn text_of(records: &[Value]) -> String {
    records.iter().filter(|r| r["type"] == "chunk").map(|r| r["text"].as_str().unwrap()).collect()
}
