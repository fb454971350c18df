//! Every request that came in, in memory and as NDJSON on disk.

mod file;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::ScriptRef;
use crate::price::bill::Lane;
use file::LogFile;

/// Requests held in memory.
const MAX_REQUESTS: usize = 100_000;

/// One request and what became of it.
#[derive(Debug, Clone)]
pub struct LoggedRequest {
    /// Counted from 1 over the lab's life.
    pub seq: u64,
    /// When it came, in milliseconds since the Unix epoch, by the lab's clock.
    pub at_ms: u64,
    /// Method.
    pub method: String,
    /// Path and query, without a script's prefix.
    pub path: String,
    /// The script that served it.
    pub script: Option<ScriptRef>,
    /// Headers, names in lower case; those that hold a key are left out.
    pub headers: Vec<(String, String)>,
    /// Claude's session id, from its header or from the metadata.
    pub session_id: Option<String>,
    /// The model asked for.
    pub model: Option<String>,
    /// Who asked.
    pub lane: Lane,
    /// The text that opened the turn: the last user text, or a background task's notice.
    pub text: String,
    /// Prompts in the conversation so far.
    pub turn: usize,
    /// The model's answers in this turn so far.
    pub round: usize,
    /// The line of the rule that answered; none for generic answers.
    pub rule_line: Option<usize>,
    /// The status it was answered with; 0 while none was sent.
    pub status: u16,
    pub(crate) body: Arc<[u8]>,
}

impl LoggedRequest {
    /// The body as it came; empty when the log had no room for it any more.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// The body as JSON; `Null` when it is none.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or(serde_json::Value::Null)
    }

    /// A header's value; the name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// The log of a running lab.
#[derive(Debug)]
pub(crate) struct Log {
    held: Mutex<Held>,
    changed: Condvar,
    body_bytes: usize,
}

#[derive(Debug)]
struct Held {
    requests: VecDeque<LoggedRequest>,
    next_seq: u64,
    bytes: usize,
    file: Option<LogFile>,
}

impl Log {
    /// A log that holds at most so many bytes of bodies, and writes to `file` (its path and its largest size).
    pub(crate) fn new(body_bytes: usize, file: Option<(&Path, u64)>) -> std::io::Result<Log> {
        let file = file.map(|(path, max)| LogFile::open(path, max)).transpose()?;
        let held = Held { requests: VecDeque::new(), next_seq: 1, bytes: 0, file };
        Ok(Log { held: Mutex::new(held), changed: Condvar::new(), body_bytes })
    }

    /// Takes a request in and gives it its number.
    pub(crate) fn add(&self, mut request: LoggedRequest) -> u64 {
        let mut held = self.lock();
        let seq = held.next_seq;
        held.next_seq += 1;
        request.seq = seq;
        held.bytes += request.body.len();
        if let Some(file) = &mut held.file {
            file.request(&request);
        }
        held.requests.push_back(request);
        held.bound(self.body_bytes);
        drop(held);
        self.changed.notify_all();
        seq
    }

    /// Notes how a request was answered.
    pub(crate) fn answered(&self, seq: u64, status: u16, rule_line: Option<usize>) {
        let mut held = self.lock();
        let found = held.requests.iter_mut().rev().find(|request| request.seq == seq);
        if let Some(request) = found {
            request.status = status;
            request.rule_line = rule_line;
        }
        if let Some(file) = &mut held.file {
            file.answer(seq, status, rule_line);
        }
        drop(held);
        self.changed.notify_all();
    }

    pub(crate) fn requests(&self) -> Vec<LoggedRequest> {
        self.lock().requests.iter().cloned().collect()
    }

    pub(crate) fn wait_for(
        &self,
        wanted: &dyn Fn(&LoggedRequest) -> bool,
        within: Duration,
    ) -> Option<LoggedRequest> {
        let deadline = Instant::now() + within;
        let mut held = self.lock();
        loop {
            if let Some(found) = held.requests.iter().find(|request| wanted(request)) {
                return Some(found.clone());
            }
            let left = deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?;
            held = self.changed.wait_timeout(held, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        // A panic while the lock was held left whole entries behind.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn bound(&mut self, body_bytes: usize) {
        if self.requests.len() > MAX_REQUESTS
            && let Some(oldest) = self.requests.pop_front()
        {
            self.bytes -= oldest.body.len();
        }
        let mut with_bodies = self.requests.iter_mut().filter(|request| !request.body.is_empty());
        while self.bytes > body_bytes
            && let Some(oldest) = with_bodies.next()
        {
            self.bytes -= oldest.body.len();
            oldest.body = Arc::from([]);
        }
    }
}

#[cfg(test)]
#[path = "log/tests.rs"]
mod tests;
