//! One session's stream: a body that is made while it is sent.
//!
//! Each time that the connection can take more, some of the journal is read and becomes records; when there is no more,
//! the stream waits for its bell. What is read comes from the page cache, in pieces that take some ten microseconds, so
//! that is done where the connection is served.

use super::LONGEST_HELD;
use super::control::ControlBody;
use super::filter::Filter;
use super::hub::Hub;
use super::long::Long;
use super::record::{self, Kind};
use super::tail::Tail;
use bytes::Bytes;
use http_body::{Body, Frame};
use ostler_store::{Cursor, Entry, Follower, Found, JournalError};
use serde::Serialize;
use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep_until};

/// How much is read of a journal at once.
const READ: usize = LONGEST_HELD;
/// How long a piece of the body is, about.
const FRAME: usize = 64 << 10;
/// Room that a record takes beside its line, about.
const RECORD: usize = 64;

/// How a stream begins.
#[derive(Debug)]
pub(crate) struct Begin {
    /// From where.
    pub(crate) follower: Follower,
    /// What was asked for is no place in this journal: the cursor, and why not.
    pub(crate) reset: Option<Reset>,
    /// Ends when everything that is there was given.
    pub(crate) ends: bool,
    /// After so long without anything there is a sign of life.
    pub(crate) heartbeat: Duration,
}

/// A place that isn't one.
#[derive(Debug, Serialize)]
pub(crate) struct Reset {
    /// What was asked for.
    pub(crate) asked: String,
    /// Why it is refused.
    pub(crate) reason: String,
}

/// Why a stream ends.
#[derive(Debug, Serialize)]
struct End {
    /// `caught-up`, `leaving`, `gone`.
    reason: &'static str,
}

/// What `generation` says.
#[derive(Debug, Serialize)]
struct GenerationBody {
    generation: u32,
}

/// What `garbled` says.
#[derive(Debug, Serialize)]
struct GarbledBody {
    generation: u32,
    file: &'static str,
    start: u64,
    end: u64,
}

/// The stream.
#[derive(Debug)]
pub(crate) struct Stream {
    tail: Tail,
    filter: Filter,
    ends: bool,
    /// To be sent before anything else is looked for.
    ready: Vec<u8>,
    long: Option<Long>,
    /// The place that the client knows of.
    told: Cursor,
    /// Everything there was has been given: what was made is to go out before the next look.
    rest: bool,
    over: bool,
    heartbeat: Duration,
    sent_at: Instant,
    alarm: Pin<Box<Sleep>>,
}

thread_local! {
    /// Where journals are read to: one for each thread of the runtime, whatever the number of streams.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl Stream {
    /// A stream, which is in its session's room from now on.
    pub(crate) fn new(hub: &Arc<Hub>, begin: Begin, filter: Filter) -> Self {
        let mut ready = b"retry: 1000\n\n".to_vec();
        if let Some(reset) = &begin.reset {
            record::document(&mut ready, &begin.follower.cursor().to_string(), "reset", reset);
        }
        let now = Instant::now();
        Self {
            told: begin.follower.cursor(),
            tail: Tail::new(hub, begin.follower),
            filter,
            ends: begin.ends,
            ready,
            long: None,
            rest: false,
            over: false,
            heartbeat: begin.heartbeat,
            sent_at: now,
            alarm: Box::pin(sleep_until(now + begin.heartbeat)),
        }
    }

    /// Adds what there is, up to about a frame; false: there is nothing more now.
    fn fill(&mut self, out: &mut Vec<u8>) -> Result<bool, JournalError> {
        BUFFER.with_borrow_mut(|buf| {
            buf.resize(READ, 0);
            while out.len() < FRAME {
                if let Some(long) = &mut self.long {
                    let step = long.step(buf, out);
                    if step.map_err(|source| self.failed(source))? {
                        self.long = None;
                    }
                    if out.is_empty() {
                        // Nothing to send yet; others have their turn.
                        return Ok(true);
                    }
                    continue;
                }
                if !self.take_next(buf, out)? {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    /// Adds what comes next; false: there is nothing more now.
    fn take_next(&mut self, buf: &mut [u8], out: &mut Vec<u8>) -> Result<bool, JournalError> {
        let (before, written, given) = match self.tail.look(buf)? {
            None => return Ok(false),
            Some(Found::Entry(entry)) => {
                let was = out.len();
                self.entry(entry, buf, out).map_err(|source| self.failed(source))?;
                if out.len() > was || self.long.is_some() {
                    self.told = self.tail.cursor();
                }
                return Ok(true);
            }
            Some(Found::Lines { bytes, before, .. }) => {
                out.reserve((bytes.len() + RECORD * (bytes.len() / 200 + 1)).min(FRAME + FRAME / 4));
                let filter = &self.filter;
                let all = filter.is_open();
                let wanted = |line: &[u8]| all || filter.wants_line(line, true);
                let written = record::lines(out, bytes, before, FRAME, wanted);
                (before, written, bytes.len())
            }
        };
        if written.taken < given {
            self.tail.took(before, written.taken)?;
        }
        if let Some(out) = written.told {
            self.told = Cursor { out, ..before };
        }
        Ok(true)
    }

    fn failed(&self, source: io::Error) -> JournalError {
        let follower = self.tail.follower();
        let path = follower.dir().generation(follower.generation()).out();
        JournalError::Io { operation: "read", path, source }
    }

    fn entry(&mut self, entry: Entry, buf: &mut [u8], out: &mut Vec<u8>) -> io::Result<()> {
        if !self.filter.wants_entry(&entry) {
            return Ok(());
        }
        match entry {
            Entry::Generation { no: generation } => {
                let id = self.tail.cursor().to_string();
                record::document(out, &id, "generation", &GenerationBody { generation });
            }
            Entry::Out { bytes, cursor, .. } => {
                if self.filter.wants_line(&bytes, true) {
                    record::bytes(out, Kind::Line, cursor, &bytes);
                }
            }
            Entry::OutOversized { no, start, end, cursor } => {
                self.open_long(no, Kind::Line, start, end - 1, cursor, buf)?;
            }
            Entry::Tail { no, start, len, cursor } => {
                self.open_long(no, Kind::Tail, start, start + len, cursor, buf)?;
            }
            Entry::Ctl { no, row, cursor, .. } => {
                record::document(out, &cursor.to_string(), "control", &ControlBody::of(no, &row));
            }
            Entry::CtlGarbled { no, start, end, cursor } => {
                let body = GarbledBody { generation: no, file: "ctl", start, end };
                record::document(out, &cursor.to_string(), "garbled", &body);
            }
        }
        Ok(())
    }

    fn open_long(
        &mut self,
        no: u32,
        kind: Kind,
        start: u64,
        end: u64,
        cursor: Cursor,
        buf: &mut [u8],
    ) -> io::Result<()> {
        let dir = self.tail.follower().dir().generation(no);
        let mut long = Long::open(&dir, kind, start, end, cursor)?;
        let is_wanted = self.filter.is_open() || {
            let beginning = long.beginning(buf)?;
            self.filter.wants_line(beginning, beginning.len() as u64 == end - start)
        };
        if is_wanted {
            self.long = Some(long);
        }
        Ok(())
    }

    /// What is to be sent next; None: wait.
    fn next(&mut self, cx: &mut Context<'_>) -> Result<Option<Vec<u8>>, JournalError> {
        if mem::take(&mut self.rest) {
            // What was given goes out first.
            cx.waker().wake_by_ref();
            return Ok(None);
        }
        let mut out = mem::take(&mut self.ready);
        loop {
            if self.tail.is_leaving() && self.long.is_none() {
                return Ok(Some(self.end(out, "leaving")));
            }
            let more = self.fill(&mut out)?;
            if !out.is_empty() {
                self.rest = !more;
                return Ok(Some(out));
            }
            if more {
                cx.waker().wake_by_ref();
                return Ok(None);
            }
            if self.ends {
                return Ok(Some(self.end(out, "caught-up")));
            }
            if self.tail.poll_more(cx).is_pending() {
                return Ok(self.wait(cx));
            }
            if self.tail.is_gone() {
                return Ok(Some(self.end(out, "gone")));
            }
        }
    }

    fn end(&mut self, mut out: Vec<u8>, reason: &'static str) -> Vec<u8> {
        self.over = true;
        record::document(&mut out, &self.tail.cursor().to_string(), "end", &End { reason });
        out
    }

    /// Nothing now: what the client doesn't know of its place, or a sign of life when it is time for one.
    fn wait(&mut self, cx: &mut Context<'_>) -> Option<Vec<u8>> {
        loop {
            if self.alarm.as_mut().poll(cx).is_pending() {
                return None;
            }
            let due = self.sent_at + self.heartbeat;
            let now = Instant::now();
            let next = if due > now { due } else { now + self.heartbeat };
            self.alarm.as_mut().reset(next);
            if due <= now {
                let mut out = record::LIFE.to_vec();
                if self.told != self.tail.cursor() {
                    self.told = self.tail.cursor();
                    record::place(&mut out, self.told);
                }
                return Some(out);
            }
        }
    }
}

impl Body for Stream {
    type Data = Bytes;
    /// The stream breaks off, maybe inside a record, which readers then drop.
    type Error = JournalError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, JournalError>>> {
        if self.over {
            return Poll::Ready(None);
        }
        match self.next(cx) {
            Ok(None) => Poll::Pending,
            Ok(Some(out)) => {
                self.sent_at = Instant::now();
                Poll::Ready(Some(Ok(Frame::data(out.into()))))
            }
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "a journal can't be read");
                self.over = true;
                Poll::Ready(Some(Err(error)))
            }
        }
    }
}
