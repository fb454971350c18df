//! `/v1/sessions/{id}/events`, `/v1/events`: what sessions say and what changes, as it comes.

use crate::app::App;
use crate::events::{Begin, Changes, EventPage, Filter, LONGEST_HELD, Reset, Stream, StreamEvent, page};
use crate::extract::{Path, Query};
use crate::found;
use crate::metrics::Reader;
use crate::problem::Problem;
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, header};
use axum::response::IntoResponse;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame};
use ostler_controller::client::Ostler;
use ostler_core::ids::SessionId;
use ostler_store::{Cursor, Follower, Journal, JournalError};
use serde::Deserialize;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// How many events a page has unless told otherwise.
const PAGE: u32 = 200;
/// The most that a page has.
const MAX_PAGE: u32 = 5000;
/// After how many seconds of silence there is a sign of life, unless told otherwise.
const HEARTBEAT: u32 = 15;
/// No change has this number.
const NEVER: u64 = i64::MAX as u64;
/// The longest silence that may be asked for.
const MAX_HEARTBEAT: u32 = 300;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(session)).routes(routes!(changes))
}

/// Which events, and how.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct Asked {
    /// Begin behind this cursor. `Last-Event-ID` counts instead where it is given.
    after: Option<String>,
    /// Only these, parted by commas: types of claude's lines (`assistant`, `system/init`; `noise` is what is no JSON object),
    /// `generation`, `control` or one kind of it (`control/settled`), `garbled`.
    types: Option<String>,
    /// 0: without `stream_event` lines.
    #[param(minimum = 0, maximum = 1)]
    deltas: Option<u8>,
    /// 1: what claude wrote and nothing else.
    #[param(minimum = 0, maximum = 1)]
    raw: Option<u8>,
    /// 0: end when everything that is there was given.
    #[param(minimum = 0, maximum = 1)]
    follow: Option<u8>,
    /// Seconds of silence before a sign of life, 1 to 300; 15 unless given.
    #[param(minimum = 1, maximum = 300)]
    heartbeat: Option<u32>,
    /// `sse` or `json`; else as `Accept` says, and `sse` where that says nothing.
    format: Option<String>,
    /// How many a page of JSON has, 1 to 5000; 200 unless given.
    #[param(minimum = 1, maximum = 5000)]
    limit: Option<u32>,
}

/// What one session says and what ostler does with it, from a place on.
///
/// A stream of server-sent events that goes on, or a page of JSON. Every line of claude's and every row of ostler's comes once;
/// the `id` of each event is the place behind it.
#[utoipa::path(
    get, path = "/v1/sessions/{session}/events", tag = "events", operation_id = "session_events",
    params(
        ("session" = String, Path, description = "The beginning of its id, or its label"),
        ("Last-Event-ID" = Option<String>, Header, description = "The `id` of the last event that was taken"),
        Asked
    ),
    responses(
        (
            status = 200, description = "The events",
            content((StreamEvent = "text/event-stream"), (EventPage = "application/json"))
        ),
        (status = 400, body = Problem, description = "The query can't be meant"),
        (status = 404, body = Problem, description = "There is no such session; for JSON also: no such place"),
        (status = 409, body = Problem, description = "There are several; `with.candidates` names them"),
    )
)]
async fn session(
    State(app): State<App>,
    Path(name): Path<String>,
    Query(asked): Query<Asked>,
    headers: HeaderMap,
) -> Result<Response<Body>, Problem> {
    let deltas = flag("deltas", asked.deltas)?.unwrap_or(true);
    let raw = flag("raw", asked.raw)?.unwrap_or(false);
    let filter = Filter::new(asked.types.as_deref(), deltas, raw).map_err(Problem::bad_request)?;
    let follow = flag("follow", asked.follow)?.unwrap_or(true);
    let heartbeat = heartbeat(asked.heartbeat)?;
    let limit = within("limit", asked.limit.unwrap_or(PAGE), MAX_PAGE)?;
    let after = last_event_id(&headers).or(asked.after);
    if wants_json(asked.format.as_deref(), &headers)? {
        let found = app.desk().quick(move |ostler| {
            let mut follower = open(ostler, find(ostler, &name)?, after.as_deref()).map_err(Problem::from)?;
            page(&mut follower, &filter, limit as usize).map_err(Problem::from)
        });
        return Ok(Json(found.await?).into_response());
    }
    let begin = app.desk().quick(move |ostler| {
        let session = find(ostler, &name)?;
        let (follower, reset) = match open(ostler, session, after.as_deref()) {
            Ok(follower) => (follower, None),
            Err(JournalError::Cursor(error)) => {
                let reset = Reset { asked: after.unwrap_or_default(), reason: error.to_string() };
                (open(ostler, session, None).map_err(Problem::from)?, Some(reset))
            }
            Err(error) => return Err(Problem::from(error)),
        };
        Ok::<_, Problem>(Begin { follower, reset, ends: !follow, heartbeat })
    });
    let begin = begin.await?;
    Ok(stream(&app, Stream::new(app.hub(), begin, filter)))
}

/// Which changes, and how.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct AskedChanges {
    /// Begin behind this change; 0 is the beginning. `Last-Event-ID` counts instead where it is given. Neither: from now on.
    after: Option<String>,
    /// Only of this session: the beginning of its id, or its label.
    session: Option<String>,
    /// Seconds of silence before a sign of life, 1 to 300; 15 unless given.
    #[param(minimum = 1, maximum = 300)]
    heartbeat: Option<u32>,
}

/// What changes in the records of all sessions, as it does.
///
/// A stream of server-sent events. It says that something changed, not to what: read it.
#[utoipa::path(
    get, path = "/v1/events", tag = "events", operation_id = "changes",
    params(
        ("Last-Event-ID" = Option<String>, Header, description = "The `id` of the last event that was taken"),
        AskedChanges
    ),
    responses(
        (status = 200, description = "The changes", content((StreamEvent = "text/event-stream"))),
        (status = 400, body = Problem, description = "The query can't be meant"),
        (status = 404, body = Problem, description = "There is no such session"),
        (status = 409, body = Problem, description = "There are several; `with.candidates` names them"),
    )
)]
async fn changes(
    State(app): State<App>,
    Query(asked): Query<AskedChanges>,
    headers: HeaderMap,
) -> Result<Response<Body>, Problem> {
    let heartbeat = heartbeat(asked.heartbeat)?;
    let after = last_event_id(&headers).or(asked.after);
    let (after, session) = app
        .desk()
        .quick(move |ostler| {
            let session = asked.session.map(|name| find(ostler, &name)).transpose()?;
            let after = match after {
                // What is no number was never given out: it is answered as what is no longer kept.
                Some(text) => text.parse().map_or(NEVER, |after: u64| after.min(NEVER)),
                None => ostler.db().last_change_seq()?,
            };
            Ok::<_, Problem>((after, session))
        })
        .await?;
    Ok(stream(&app, Changes::new(app.clone(), app.hub(), after, session, heartbeat)))
}

fn find(ostler: &Ostler, name: &str) -> Result<SessionId, Problem> {
    found::session(ostler, name).map(|row| row.id)
}

fn open(ostler: &Ostler, session: SessionId, after: Option<&str>) -> Result<Follower, JournalError> {
    let cursor = after.map_or(Ok(Cursor::START), str::parse)?;
    Journal::open(&ostler.home().session(session)).with_max_line(LONGEST_HELD).read_from(cursor)
}

fn stream<B>(app: &App, body: B) -> Response<Body>
where
    B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<axum::BoxError>,
{
    let mut response = Response::new(Body::new(Counted { body, _reader: app.metrics().reader() }));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Some proxies keep an answer until it is over otherwise.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

/// A stream that is counted for as long as it is open.
struct Counted<B> {
    body: B,
    _reader: Reader,
}

impl<B: HttpBody<Data = Bytes> + Unpin> HttpBody for Counted<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }
}

/// What a reconnecting client says; an empty one says nothing.
fn last_event_id(headers: &HeaderMap) -> Option<String> {
    let given = headers.get("last-event-id")?;
    let text = String::from_utf8_lossy(given.as_bytes()).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn wants_json(format: Option<&str>, headers: &HeaderMap) -> Result<bool, Problem> {
    match format {
        Some("json") => Ok(true),
        Some("sse") => Ok(false),
        Some(_) => Err(Problem::bad_request("`format` is `sse` or `json`")),
        None => {
            let accept =
                headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
            Ok(accept.contains("application/json") && !accept.contains("text/event-stream"))
        }
    }
}

fn flag(name: &str, given: Option<u8>) -> Result<Option<bool>, Problem> {
    match given {
        None => Ok(None),
        Some(0) => Ok(Some(false)),
        Some(1) => Ok(Some(true)),
        Some(_) => Err(Problem::bad_request(format!("`{name}` is 0 or 1"))),
    }
}

fn heartbeat(given: Option<u32>) -> Result<Duration, Problem> {
    within("heartbeat", given.unwrap_or(HEARTBEAT), MAX_HEARTBEAT).map(|s| Duration::from_secs(s.into()))
}

fn within(name: &str, given: u32, most: u32) -> Result<u32, Problem> {
    if (1..=most).contains(&given) {
        return Ok(given);
    }
    Err(Problem::bad_request(format!("`{name}` is {given}; it must be 1 to {most}")))
}
