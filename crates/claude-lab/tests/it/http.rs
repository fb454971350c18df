//! A plain HTTP client: what a server sends, byte for byte, and whether it sent it to the end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

const DEADLINE: Duration = Duration::from_secs(10);

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    /// The body ended as it announced; false: the connection broke.
    pub(crate) complete: bool,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect(&self.body)
    }

    /// The data of each event that is JSON.
    pub(crate) fn events(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter_map(|data| serde_json::from_str(data).ok()).collect()
    }

    /// The text of all text deltas.
    pub(crate) fn text(&self) -> String {
        let events = self.events();
        events.iter().filter_map(|event| event["delta"]["text"].as_str()).collect()
    }
}

/// An answer whose head was read and whose body is read as it comes.
pub(crate) struct Open {
    reader: BufReader<TcpStream>,
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
}

impl Open {
    /// The next chunk of the body; none at its end; an error when the connection broke.
    pub(crate) fn chunk(&mut self) -> std::io::Result<Option<String>> {
        let mut size = String::new();
        if self.reader.read_line(&mut size)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let size = usize::from_str_radix(size.trim(), 16).expect("a chunk's size");
        let mut chunk = vec![0; size + 2];
        self.reader.read_exact(&mut chunk)?;
        chunk.truncate(size);
        Ok((size > 0).then(|| String::from_utf8(chunk).expect("UTF-8")))
    }

    /// Reads on until the text was seen; what was read.
    pub(crate) fn until(&mut self, text: &str) -> String {
        let mut seen = String::new();
        while !seen.contains(text) {
            seen.push_str(&self.chunk().expect("the stream goes on").expect("the stream goes on"));
        }
        seen
    }

    pub(crate) fn rest(mut self) -> Answer {
        let length = self.headers.iter().find(|(name, _)| name == "content-length");
        let mut body = String::new();
        let complete = match length {
            Some((_, length)) => {
                let length: u64 = length.parse().expect("a number");
                let read = self.reader.take(length).read_to_string(&mut body);
                read.is_ok() && body.len() as u64 == length
            }
            None => loop {
                match self.chunk() {
                    Ok(Some(chunk)) => body.push_str(&chunk),
                    Ok(None) => break true,
                    Err(_) => break false,
                }
            },
        };
        Answer { status: self.status, headers: self.headers, body, complete }
    }
}

/// Sends a request and reads the answer's head. `url` may have a path, which goes in front of `path`.
pub(crate) fn open(
    method: &str,
    url: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> std::io::Result<Open> {
    let rest = url.strip_prefix("http://").expect("an http address");
    let (host, prefix) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let stream = TcpStream::connect(host)?;
    stream.set_read_timeout(Some(DEADLINE))?;
    let mut head = format!("{method} {prefix}{path} HTTP/1.1\r\ncontent-length: {}\r\n", body.len());
    if !headers.iter().any(|(name, _)| *name == "host") {
        head.push_str(&format!("host: {host}\r\n"));
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    let mut writer = stream.try_clone()?;
    writer.write_all(head.as_bytes())?;
    // A server that refuses a long body may stop reading it.
    drop(writer.write_all(body));
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    let status = line.split(' ').nth(1).and_then(|code| code.parse().ok()).expect(&line);
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim().split_once(": ") else { break };
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    Ok(Open { reader, status, headers })
}

/// A request with one prompt, and a tool so that it looks like a turn.
pub(crate) fn prompt(text: &str) -> Value {
    json!({
        "model": "claude-haiku-4-5",
        "max_tokens": 1000,
        "stream": true,
        "tools": [{"name": "Bash", "input_schema": {"type": "object"}}],
        "messages": [{"role": "user", "content": text}],
    })
}

/// Posts a Messages request.
pub(crate) fn post(url: &str, body: &Value) -> Answer {
    post_with(url, &[], body)
}

pub(crate) fn post_with(url: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
    let open = open("POST", url, "/v1/messages?beta=true", headers, body.to_string().as_bytes());
    open.expect("an answer").rest()
}

pub(crate) fn get(url: &str, path: &str) -> Answer {
    open("GET", url, path, &[], b"").expect("an answer").rest()
}
