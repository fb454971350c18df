//! One line and one count a request, when its answer is over: which route, not which path, and nothing of what was said.

use crate::app::App;
use crate::connection::Client;
use axum::body::Body;
use axum::extract::{MatchedPath, State};
use axum::http::{Method, Request, Response, StatusCode};
use axum::middleware::Next;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

/// Around every route, outside of everything else.
pub(crate) async fn observe(State(app): State<App>, request: Request<Body>, next: Next) -> Response<Body> {
    let mut line = Line::begin(app, &request);
    let response = next.run(request).await;
    line.status = Some(response.status());
    response.map(|body| Body::new(Observed { body, line }))
}

/// A request under way. Its end, whatever it is, is the end of this.
struct Line {
    app: App,
    begun: Instant,
    method: &'static str,
    route: String,
    peer: &'static str,
    status: Option<StatusCode>,
    bytes: u64,
    /// Everything was given to the connection.
    whole: bool,
}

impl Line {
    fn begin(app: App, request: &Request<Body>) -> Self {
        let matched = request.extensions().get::<MatchedPath>();
        let peer = match request.extensions().get::<Client>() {
            Some(Client::Local(_)) => "local",
            _ => "tcp",
        };
        Self {
            app,
            begun: Instant::now(),
            method: method(request.method()),
            // A path that is none of ours is somebody's text.
            route: matched.map_or("none", MatchedPath::as_str).to_owned(),
            peer,
            status: None,
            bytes: 0,
            whole: false,
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let Self { method, route, peer, bytes, whole, .. } = self;
        // Nobody waited for the answer.
        let status = self.status.map_or(0, |status| status.as_u16());
        let ms = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        tracing::info!(method, route, status, ms, bytes, peer, whole, "request");
        self.app.metrics().answered(method, route, status);
    }
}

/// Any other word would be the client's own.
fn method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

/// An answer that is counted as it is taken.
struct Observed {
    body: Body,
    line: Line,
}

impl HttpBody for Observed {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        match &polled {
            Poll::Ready(Some(Ok(frame))) => {
                self.line.bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
                self.line.whole = self.body.is_end_stream();
            }
            Poll::Ready(None) => self.line.whole = true,
            _ => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
