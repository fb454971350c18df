//! An answer as server-sent events, with its pauses and faults.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::Shared;
use super::answer::{Answer, Part};
use crate::script::Hold;

/// Bytes of a tool's input in one delta.
const INPUT_DELTA: usize = 40;

/// Starts writing the answer; the body gives out what was written.
pub(super) fn body(shared: Arc<Shared>, answer: Answer, seq: u64, pace: Duration) -> Body {
    // One chunk at a time: what stands before a cut is flushed before the cut comes.
    let (chunks, body) = mpsc::channel(1);
    tokio::spawn(async move {
        let writer = Writer { shared, chunks, pace };
        // An error says that the client is gone; there is nobody to tell.
        drop(writer.write(&answer, seq).await);
    });
    Body::from_stream(Chunks(body))
}

struct Chunks(mpsc::Receiver<io::Result<Bytes>>);

impl futures_core::Stream for Chunks {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context)
    }
}

/// The client went away, or the script cut the stream.
struct Ended;

struct Writer {
    shared: Arc<Shared>,
    chunks: mpsc::Sender<io::Result<Bytes>>,
    pace: Duration,
}

impl Writer {
    async fn write(&self, answer: &Answer, seq: u64) -> Result<(), Ended> {
        self.event(
            "message_start",
            &json!({"type": "message_start", "message": answer.message(vec![], None, 1)}),
        )
        .await?;
        let mut index = 0;
        for part in &answer.parts {
            match part {
                Part::Pause(hold) => self.pause(hold).await?,
                Part::Cut => {
                    drop(self.chunks.send(Err(io::Error::from(io::ErrorKind::ConnectionReset))).await);
                    return Err(Ended);
                }
                Part::Garble(text) => self.send(text.clone()).await?,
                Part::Event { name, data } => self.event(name, data).await?,
                Part::Text(_) | Part::Thinking { .. } | Part::Tool { .. } => {
                    self.block(index, part).await?;
                    index += 1;
                }
            }
        }
        let delta = json!({"stop_reason": answer.stop_reason, "stop_sequence": null});
        let usage = answer.usage(answer.tokens.output);
        // Counted before it is sent: who has read the end of the answer finds it on the bill.
        if !answer.is_broken() {
            self.shared.charges.complete(seq, answer.tokens.output);
        }
        self.event("message_delta", &json!({"type": "message_delta", "delta": delta, "usage": usage}))
            .await?;
        self.event("message_stop", &json!({"type": "message_stop"})).await
    }

    async fn block(&self, index: usize, part: &Part) -> Result<(), Ended> {
        let (start, deltas) = block_events(part);
        self.event(
            "content_block_start",
            &json!({"type": "content_block_start", "index": index, "content_block": start}),
        )
        .await?;
        for (nth, delta) in deltas.iter().enumerate() {
            if nth > 0 && !self.pace.is_zero() {
                self.pause(&Hold::For(self.pace)).await?;
            }
            self.event(
                "content_block_delta",
                &json!({"type": "content_block_delta", "index": index, "delta": delta}),
            )
            .await?;
        }
        self.event("content_block_stop", &json!({"type": "content_block_stop", "index": index})).await
    }

    async fn pause(&self, hold: &Hold) -> Result<(), Ended> {
        tokio::select! {
            () = self.shared.hold(hold) => Ok(()),
            () = self.chunks.closed() => Err(Ended),
        }
    }

    async fn event(&self, name: &str, data: &Value) -> Result<(), Ended> {
        self.send(format!("event: {name}\ndata: {data}\n\n")).await
    }

    async fn send(&self, text: String) -> Result<(), Ended> {
        self.chunks.send(Ok(Bytes::from(text))).await.map_err(|_| Ended)
    }
}

/// How a block begins, and what is added to it.
fn block_events(part: &Part) -> (Value, Vec<Value>) {
    match part {
        Part::Text(text) => {
            let deltas = text.split_inclusive(char::is_whitespace);
            let deltas = deltas.map(|word| json!({"type": "text_delta", "text": word})).collect();
            (json!({"type": "text", "text": ""}), deltas)
        }
        Part::Thinking { text, signature } => {
            let words = text.split_inclusive(char::is_whitespace);
            let mut deltas: Vec<Value> =
                words.map(|word| json!({"type": "thinking_delta", "thinking": word})).collect();
            deltas.push(json!({"type": "signature_delta", "signature": signature}));
            (json!({"type": "thinking", "thinking": "", "signature": ""}), deltas)
        }
        Part::Tool { id, name, input } => {
            let pieces = pieces(&input.to_string());
            let deltas = pieces
                .iter()
                .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}))
                .collect();
            (json!({"type": "tool_use", "id": id, "name": name, "input": {}}), deltas)
        }
        Part::Pause(_) | Part::Cut | Part::Garble(_) | Part::Event { .. } => (Value::Null, Vec::new()),
    }
}

fn pieces(text: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for c in text.chars() {
        match pieces.last_mut() {
            Some(last) if last.len() < INPUT_DELTA => last.push(c),
            _ => pieces.push(c.to_string()),
        }
    }
    pieces
}
