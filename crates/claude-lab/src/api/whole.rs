//! An answer as one JSON body, for clients that don't stream. Pauses come before the body, a cut breaks it off.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use serde_json::Value;

use super::Shared;
use super::answer::{Answer, Part};

/// Waits out the pauses and gives the body.
pub(super) async fn body(shared: &Shared, answer: &Answer, seq: u64) -> Body {
    let mut content: Vec<Value> = Vec::new();
    for part in &answer.parts {
        match part {
            Part::Pause(hold) => shared.hold(hold).await,
            Part::Garble(text) => return Body::from(text.clone()),
            Part::Cut => return cut(answer.message(content, None, 1)),
            Part::Event { .. } => {}
            Part::Text(_) | Part::Thinking { .. } | Part::Tool { .. } => content.extend(part.content()),
        }
    }
    let output = answer.tokens.output;
    shared.charges.complete(seq, output);
    Body::from(answer.message(content, Some(&answer.stop_reason), output).to_string())
}

/// The first half of the message, then a broken connection.
fn cut(message: Value) -> Body {
    let text = message.to_string();
    let half = Bytes::copy_from_slice(&text.as_bytes()[..text.len() / 2]);
    Body::from_stream(Halves { half: Some(half), waited: false })
}

struct Halves {
    half: Option<Bytes>,
    waited: bool,
}

impl futures_core::Stream for Halves {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(half) = self.half.take() {
            return Poll::Ready(Some(Ok(half)));
        }
        if !self.waited {
            // Gives the server one round to flush the half.
            self.waited = true;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Some(Err(io::ErrorKind::ConnectionReset.into())))
    }
}
