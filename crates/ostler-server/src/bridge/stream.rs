//! A task as it comes: `connected`, then what is said, then one end, and the stream closes.
//!
//! Whoever listens first hears everything, for a task may be faster than its client; whoever comes later hears what is said
//! from then on, so that a client that connects again reads nothing twice.
//!
//! What waits for a decision is told as soon as a decision would be taken, to whoever connects later too; so is the end.

use super::mapping::Piece;
use super::reader::Reader;
use super::record::Record;
use super::{Bridge, answer, pulse, tasks};
use crate::problem::Problem;
use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use bytes::Bytes;
use claude_wire::{Message, Request};
use futures_core::Stream;
use ostler_controller::client::{ClientError, Ostler};
use ostler_core::ids::GenerationNo;
use ostler_store::db::{PermissionRow, TaskRow, TaskState};
use ostler_store::journal::read_range;
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;
use tokio::time::Instant;

/// How much waits for a client that reads slowly: the rest stays in the journal.
const AHEAD: usize = 4;

/// Opens a stream. `open` false: it closes behind its first record. `replay`: what was said before comes too.
pub(super) fn open(bridge: &Bridge, id: String, open: bool, replay: bool) -> Response<Body> {
    let (send, receive) = mpsc::channel(AHEAD);
    let teller = Teller { bridge: bridge.clone(), id, send };
    tokio::spawn(async move { teller.tell(open, replay).await });
    let mut response = answer::bare(StatusCode::OK, Body::from_stream(Records(receive)));
    for (name, value) in [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache"),
        (header::CONNECTION, "keep-alive"),
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// The receiving end as a stream of bytes.
struct Records(mpsc::Receiver<Bytes>);

impl Stream for Records {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|bytes| bytes.map(Ok))
    }
}

/// Whoever tells one client of one task.
struct Teller {
    bridge: Bridge,
    id: String,
    send: mpsc::Sender<Bytes>,
}

/// What was told already.
#[derive(Default)]
struct Told {
    reader: Option<Reader>,
    questions: HashSet<(GenerationNo, String)>,
}

/// A question, ready to be told.
struct Question {
    key: (GenerationNo, String),
    tool: String,
    call: String,
    input: Box<RawValue>,
}

impl Teller {
    /// False: the client is gone, or the server is to leave.
    async fn say(&self, record: &Record<'_>) -> bool {
        tokio::select! {
            sent = self.send.send(record.to_wire()) => sent.is_ok(),
            () = self.bridge.app().leaving() => false,
        }
    }

    async fn tell(&self, open: bool, replay: bool) {
        let connected = Record::Connected { task_id: &self.id };
        if !open {
            self.say(&connected).await;
            return;
        }
        let place = self.place(replay).await;
        // Whoever reads this hears everything that comes behind it.
        if !self.say(&connected).await {
            return;
        }
        let told = match place {
            Ok((Some(row), told)) => self.tell_from(row, told).await,
            Ok((None, _)) => {
                let reason = "not_found";
                self.say(&Record::Error { reason, task_id: &self.id, status: reason }).await;
                Ok(())
            }
            Err(problem) => Err(problem),
        };
        // What can't be read now breaks the stream off: its client asks again.
        if let Err(problem) = told {
            tracing::warn!(task = self.id, detail = problem.detail(), "a stream breaks off");
        }
    }

    /// Where a client begins to listen.
    async fn place(&self, replay: bool) -> Result<(Option<TaskRow>, Told), Problem> {
        let mut told = Told::default();
        let row = self.bridge.look(&self.id).await?;
        if let Some(row) = &row
            && !replay
            && !self.is_first().await?
        {
            // What was said before was told to somebody.
            while row.ran && self.read(row, &mut told).await?.is_some() {}
        }
        Ok((row, told))
    }

    async fn tell_from(&self, mut row: TaskRow, mut told: Told) -> Result<(), Problem> {
        let mut beats = self.bridge.shared.pulse.listen();
        loop {
            // The row first: what stands in the journal when it is over is all there is.
            let over = row.ended_at.is_some();
            if !self.say_more(&row, &mut told).await? {
                return Ok(());
            }
            if over {
                self.say_end(&row).await;
                return Ok(());
            }
            if !self.say_questions(&row, &mut told).await? {
                return Ok(());
            }
            let looked = Instant::now();
            loop {
                let beat = tokio::select! {
                    beat = pulse::next(&mut beats, pulse::LOOK) => beat,
                    () = self.send.closed() => return Ok(()),
                    () = self.bridge.app().leaving() => return Ok(()),
                };
                if beat || looked.elapsed() >= pulse::ROWS {
                    break;
                }
                if !self.say_more(&row, &mut told).await? {
                    return Ok(());
                }
            }
            match self.bridge.look(&self.id).await? {
                Some(new) => row = new,
                None => return Ok(()),
            }
        }
    }

    /// Nobody has listened to the task before.
    async fn is_first(&self) -> Result<bool, Problem> {
        let id = self.id.clone();
        let note = move |ostler: &Ostler| ostler.db().first_listens(&id).map_err(ClientError::from);
        self.bridge.app().desk().quick(note).await
    }

    async fn read(&self, row: &TaskRow, told: &mut Told) -> Result<Option<Vec<Piece>>, Problem> {
        let mut reader = told.reader.take().unwrap_or_else(|| Reader::new(row));
        let read = move |ostler: &Ostler| {
            let read = reader.read(ostler)?;
            Ok::<_, ClientError>((reader, read))
        };
        let (reader, read) = self.bridge.app().desk().quick(read).await?;
        told.reader = Some(reader);
        Ok(read)
    }

    /// Everything that stands in the journal. False: nobody listens any more.
    async fn say_more(&self, row: &TaskRow, told: &mut Told) -> Result<bool, Problem> {
        if !row.ran {
            return Ok(true);
        }
        while let Some(pieces) = self.read(row, told).await? {
            for piece in &pieces {
                let task_id = self.id.as_str();
                let said = match piece {
                    Piece::Said(text) | Piece::Markup(text) => {
                        self.say(&Record::Chunk { text, task_id, chunk: text }).await
                    }
                    Piece::Progress(tool_name, elapsed) => {
                        self.say(&Record::ToolProgress { tool_name, elapsed: *elapsed }).await
                    }
                    Piece::Break => true,
                };
                if !said {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// What waits for a decision and was not told yet.
    async fn say_questions(&self, row: &TaskRow, told: &mut Told) -> Result<bool, Problem> {
        let of = row.clone();
        let questions = self.bridge.app().desk().quick(move |ostler| questions(ostler, &of)).await?;
        for question in questions {
            if !told.questions.insert(question.key.clone()) {
                continue;
            }
            // What the model said before it asked comes before.
            let request = Record::PermissionRequest {
                request_id: &question.key.1,
                task_id: &self.id,
                tool_name: &question.tool,
                input: &question.input,
                tool_use_id: &question.call,
            };
            if !self.say_more(row, told).await? || !self.say(&request).await {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn say_end(&self, row: &TaskRow) {
        let (task_id, status) = (self.id.as_str(), row.state.word());
        let reason = row.reason.as_deref().unwrap_or("unknown");
        let record = match row.state {
            TaskState::Done => Record::Done { exit_code: row.exit_code.unwrap_or(0), task_id, status },
            _ => Record::Error { reason, task_id, status },
        };
        self.say(&record).await;
    }
}

fn questions(ostler: &Ostler, row: &TaskRow) -> Result<Vec<Question>, ClientError> {
    let open = tasks::open_questions(ostler, row)?;
    Ok(open.iter().map(|row| question(ostler, row)).collect())
}

/// A question as its own line says it.
fn question(ostler: &Ostler, row: &PermissionRow) -> Question {
    let journal = &row.journal;
    let files = ostler.home().session(row.session).generation(journal.generation);
    let bytes = read_range(&files, journal.line.0, journal.line.1).unwrap_or_default();
    let asked = match Message::parse(&bytes).0 {
        Message::ControlRequest(line) => Some(line.request),
        _ => None,
    };
    let (tool, input, call) = match asked {
        Some(Request::CanUseTool(ask)) => (ask.tool_name, ask.input, ask.tool_use_id),
        _ => {
            let nothing = RawValue::from_string("{}".to_owned()).unwrap_or_default();
            (
                journal.tool.clone().unwrap_or_default(),
                nothing,
                journal.tool_use_id.clone().unwrap_or_default(),
            )
        }
    };
    Question { key: (journal.generation, journal.request_id.clone()), tool, call, input }
}
