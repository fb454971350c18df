//! Clients of a server's streams.

use super::desk_sessions::PATIENCE;
use super::serve_http::Server;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

/// A stream of events.
pub(crate) fn stream(server: &Server, path: &str, last: Option<&str>) -> Events {
    connect(&server.address, &server.token, path, last).expect("the server answers")
}

/// A document, with its status.
pub(crate) fn document(server: &Server, path: &str) -> (u16, Value) {
    let answer = server.get(path);
    (answer.status, serde_json::from_slice(&answer.body).unwrap())
}

/// Asks for a path; None where nobody answers.
pub(crate) fn connect(address: &str, token: &str, path: &str, last: Option<&str>) -> Option<Events> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let last = last.map(|last| format!("Last-Event-ID: {last}\r\n")).unwrap_or_default();
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n{last}Connection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut stream = BufReader::with_capacity(256 << 10, stream);
    let (mut status, mut chunked) = (None, false);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        status = status.or_else(|| line.split(' ').nth(1)?.parse().ok());
        chunked |= line == "transfer-encoding: chunked";
    }
    Some(Events {
        status: status?,
        body: Body { stream, chunked, left: 0, over: false },
        id: String::new(),
        deadline: None,
    })
}

/// The body of an answer.
pub(crate) struct Body {
    stream: BufReader<TcpStream>,
    chunked: bool,
    left: u64,
    over: bool,
}

impl Read for Body {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        if !self.chunked {
            return self.stream.read(buf);
        }
        if self.left == 0 && !self.over {
            let mut size = String::new();
            self.stream.read_line(&mut size)?;
            let broken = || std::io::Error::other("cut off");
            self.left = u64::from_str_radix(size.trim_end(), 16).map_err(|_| broken())?;
            self.over = self.left == 0;
        }
        let most = buf.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let read = self.stream.read(&mut buf[..most])?;
        if read == 0 && most > 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= read as u64;
        if self.left == 0 && read > 0 {
            let mut end = [0; 2];
            self.stream.read_exact(&mut end)?;
        }
        Ok(read)
    }
}

/// A stream of events.
pub(crate) struct Events {
    pub(crate) status: u16,
    pub(crate) body: Body,
    /// The last id that was given.
    pub(crate) id: String,
    /// For the next event.
    deadline: Option<Instant>,
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) data: String,
}

impl Event {
    /// What claude wrote, if this is some of that.
    pub(crate) fn written(&self) -> Option<Vec<u8>> {
        let data = self.data.as_bytes();
        Some(match self.name.as_str() {
            "line" => [data, b"\n"].concat(),
            "line-base64" => [unbase64(data).as_slice(), b"\n"].concat(),
            "tail" => data.to_vec(),
            "tail-base64" => unbase64(data),
            _ => return None,
        })
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap()
    }
}

/// As any client would: nothing of ours.
fn unbase64(text: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |byte: &u8| DIGITS.iter().position(|d| d == byte).expect("a digit");
    let mut bytes = Vec::new();
    for four in text.chunks(4) {
        let digits: Vec<usize> = four.iter().filter(|b| **b != b'=').map(digit).collect();
        let all = digits.iter().fold(0, |sum, digit| sum << 6 | digit) << (6 * (4 - digits.len()));
        bytes.extend_from_slice(&u32::try_from(all).unwrap().to_be_bytes()[1..digits.len()]);
    }
    bytes
}

impl Iterator for Events {
    type Item = Event;

    /// The next event; None: the stream is over or was cut off. What was cut off is no event.
    fn next(&mut self) -> Option<Event> {
        let mut event = Event { id: String::new(), name: String::new(), data: String::new() };
        let mut some = false;
        loop {
            let line = self.line()?;
            if line.is_empty() {
                if some {
                    self.deadline = None;
                    return Some(Event { id: self.id.clone(), ..event });
                }
                continue;
            }
            let (field, value) = line.split_once(':').unwrap_or((&line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
            match field {
                "id" => self.id = value,
                "event" => event.name = value,
                "data" => (event.data, some) = (value, true),
                _ => {}
            }
        }
    }
}

impl Events {
    fn line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        // Signs of life are no events.
        let deadline = *self.deadline.get_or_insert_with(|| Instant::now() + PATIENCE);
        loop {
            assert!(Instant::now() < deadline, "no event comes behind {}", self.id);
            let mut byte = [0];
            match self.body.read(&mut byte) {
                Ok(1) if byte == *b"\n" => break,
                Ok(1) => line.push(byte[0]),
                // Told by the deadline of the test, not as an end.
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => panic!("nothing comes"),
                _ => return None,
            }
        }
        Some(String::from_utf8(line).expect("a stream of events is UTF-8"))
    }

    /// Everything up to the event of that name, which is the last.
    pub(crate) fn up_to(&mut self, name: &str) -> Vec<Event> {
        let mut events = Vec::new();
        loop {
            events.push(self.next().unwrap_or_else(|| panic!("the stream ended before {name}: {events:?}")));
            if events.last().is_some_and(|event| event.name == name) {
                return events;
            }
        }
    }
}
