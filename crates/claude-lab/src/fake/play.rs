//! Plays back a recorded session folder (`…/gen/N`): its `out`, as far as each point at which its `ctl` says that a
//! line was written to the child; there it waits for that line.
//!
//! The ids that the recorded side chose (the conversation, uuids of prompts, ids of control requests) are replaced by
//! those that come now, so that receipts and answers fit.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use serde_json::Value;

use super::Refusal;
use super::args::Options;
use super::input::{Event, Input};
use super::output::{Output, complain};
use ostler_os::signals::Signal;

/// A line that the recorded child was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Written {
    /// How much of `out` came before it.
    off: u64,
    kind: Kind,
    /// The id in it: a prompt's uuid, or a request's.
    id: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    User,
    Request(String),
    Answer,
}

/// What `ctl` says.
#[derive(Debug, Default)]
struct Record {
    conversation: Option<String>,
    written: Vec<Written>,
}

struct Player {
    input: Input,
    out: Output,
    /// Lines that were read and not yet waited for.
    read: std::collections::VecDeque<Vec<u8>>,
    ended: bool,
    /// What stands in the recording, and what comes instead.
    ids: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Plays a generation; gives its exit status.
pub(super) fn play(folder: &Path, options: &Options) -> Result<i32, Refusal> {
    let record = parse_ctl(&read(&folder.join("ctl"))?);
    let path = folder.join("out");
    let out = File::open(&path).map_err(|error| unreadable(&path, &error))?;
    let mut player = Player {
        input: Input::start()?,
        out: Output::open()?,
        read: std::collections::VecDeque::new(),
        ended: false,
        ids: Vec::new(),
    };
    if let (Some(old), Some(new)) =
        (record.conversation, options.session_id.as_ref().or(options.resume.as_ref()))
    {
        player.ids.push((old.into_bytes(), new.clone().into_bytes()));
    }
    let status = player.run(&mut BufReader::new(out), &record.written);
    match status {
        Err(status) => Ok(status),
        // Without an `exit` it was never seen to end: it stays until its stdin does.
        Ok(()) => match std::fs::read_to_string(folder.join("exit")) {
            Ok(words) => Ok(exit_status(&words)),
            Err(_) => Ok(player.stay()),
        },
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Refusal> {
    std::fs::read(path).map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Refusal {
    Refusal::new(format!("fake-claude: cannot read {}: {error}", path.display()))
}

/// `code N` or `signal N`; a shell's number for the latter.
fn exit_status(words: &str) -> i32 {
    let number = |text: &str| text.trim().parse().unwrap_or(1);
    match words.trim().split_once(' ') {
        Some(("code", code)) => number(code),
        Some(("signal", signal)) => 128 + number(signal),
        _ => 1,
    }
}

/// The rows of `ctl` that matter here. A write that was begun again after a crash counts once, where it came last.
fn parse_ctl(bytes: &[u8]) -> Record {
    let mut record = Record::default();
    let mut open: Option<Written> = None;
    for row in bytes.split(|byte| *byte == b'\n').filter_map(|row| serde_json::from_slice::<Value>(row).ok())
    {
        let event = &row["ev"];
        match event["kind"].as_str() {
            Some("spawn") => record.conversation = event["conversation"].as_str().map(str::to_owned),
            Some("begin") => {
                let next = written(row["off"].as_u64().unwrap_or(0), &event["line"]);
                if let (Some(old), Some(new)) = (&open, &next)
                    && (&old.kind, &old.id) != (&new.kind, &new.id)
                {
                    record.written.extend(open.take());
                }
                open = next;
            }
            Some("done") => record.written.extend(open.take()),
            _ => {}
        }
    }
    record.written.extend(open);
    record
}

fn written(off: u64, line: &Value) -> Option<Written> {
    let text = |name: &str| line[name].as_str().map(str::to_owned);
    let (kind, id) = match line["is"].as_str()? {
        "user" => (Kind::User, text("delivery")?),
        "request" => (Kind::Request(text("subtype")?), text("request_id")?),
        "answer" => (Kind::Answer, text("request_id")?),
        _ => return None,
    };
    Some(Written { off, kind, id })
}

impl Player {
    /// Plays everything; the error is an exit status.
    fn run(&mut self, out: &mut BufReader<File>, written: &[Written]) -> Result<(), i32> {
        let mut at = 0;
        for line in written {
            self.copy(out, &mut at, line.off)?;
            let got = self.next_line()?;
            self.take(line, &got)?;
        }
        self.copy(out, &mut at, u64::MAX)
    }

    /// Writes the recorded lines up to that offset.
    fn copy(&mut self, out: &mut BufReader<File>, at: &mut u64, end: u64) -> Result<(), i32> {
        while *at < end {
            let mut line = Vec::new();
            let count = out.read_until(b'\n', &mut line).unwrap_or(0);
            if count == 0 {
                return Ok(());
            }
            *at += count as u64;
            for (old, new) in &self.ids {
                line = replace(&line, old, new);
            }
            self.out.bytes(&line);
            if self.out.broken {
                return Err(1);
            }
        }
        Ok(())
    }

    fn next_line(&mut self) -> Result<Vec<u8>, i32> {
        loop {
            if let Some(line) = self.read.pop_front() {
                return Ok(line);
            }
            if self.ended {
                complain("fake-claude: stdin ended where the recording was sent more");
                return Err(1);
            }
            self.hear()?;
        }
    }

    /// Takes in what comes next.
    fn hear(&mut self) -> Result<(), i32> {
        match self.input.next(None) {
            Some(Event::Lines(lines)) => {
                for line in lines {
                    self.out.log(&line);
                    self.read.push_back(line);
                }
                Ok(())
            }
            Some(Event::Signal(Signal::Terminate)) => Err(143),
            Some(Event::Signal(_)) => Err(0),
            Some(Event::End) | None => {
                self.ended = true;
                Ok(())
            }
        }
    }

    /// Compares a line with the recorded one, and learns its id.
    fn take(&mut self, wanted: &Written, line: &[u8]) -> Result<(), i32> {
        let line: Value = serde_json::from_slice(line).unwrap_or_default();
        let (fits, id) = match &wanted.kind {
            Kind::User => (line["type"] == "user", &line["uuid"]),
            Kind::Request(subtype) => (
                line["type"] == "control_request" && line["request"]["subtype"] == subtype.as_str(),
                &line["request_id"],
            ),
            Kind::Answer => (
                line["type"] == "control_response" && line["response"]["request_id"] == wanted.id.as_str(),
                &line["response"]["request_id"],
            ),
        };
        let Some(id) = id.as_str().filter(|_| fits) else {
            complain(&format!("fake-claude: the recording was sent {:?} here, this is {line}", wanted.kind));
            return Err(1);
        };
        self.ids.push((wanted.id.clone().into_bytes(), id.as_bytes().to_vec()));
        Ok(())
    }

    fn stay(&mut self) -> i32 {
        while !self.ended {
            if let Err(status) = self.hear() {
                return status;
            }
        }
        0
    }
}

/// `old` replaced by `new` wherever it stands.
fn replace(line: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    if old == new || old.is_empty() {
        return line.to_vec();
    }
    let mut out = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.windows(old.len()).position(|window| window == old) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(new);
        rest = &rest[at + old.len()..];
    }
    out.extend_from_slice(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_write_counts_once_and_where_it_came_last() {
        let user = |off: u64| {
            format!(
                r#"{{"at":1,"off":{off},"ev":{{"kind":"begin","write":1,"line":{{"is":"user","delivery":"u"}}}}}}"#
            )
        };
        let stop = r#"{"at":1,"off":9,"ev":{"kind":"begin","write":2,"line":{"is":"request","request_id":"r","subtype":"interrupt"}}}"#;
        let done = r#"{"at":1,"off":9,"ev":{"kind":"done","write":1}}"#;
        let rows = [user(0), user(5), done.to_owned(), stop.to_owned(), "torn".to_owned()].join("\n");
        let written = parse_ctl(rows.as_bytes()).written;
        assert_eq!(written.len(), 2);
        assert_eq!((written[0].off, &written[0].kind), (5, &Kind::User));
        assert_eq!(written[1].kind, Kind::Request("interrupt".into()));
    }

    #[test]
    fn exits_are_read() {
        assert_eq!([exit_status("code 3"), exit_status("signal 9\n"), exit_status("unknown")], [3, 137, 1]);
    }
}
