//! JSON bodies.

use crate::app::App;
use crate::problem::Problem;
use axum::body::Body;
use axum::extract::FromRequest;
use axum::http::{Request, StatusCode};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use tokio::sync::OwnedSemaphorePermit;

/// A body that carries a message, and may be large.
#[derive(Debug)]
pub(crate) struct Message<T>(pub(crate) T);

/// A small body of choices; none at all is the same as `{}`.
#[derive(Debug)]
pub(crate) struct Choices<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<App> for Message<T> {
    type Rejection = Problem;

    async fn from_request(request: Request<Body>, app: &App) -> Result<Self, Problem> {
        let read = read(request.into_body(), app, app.limits().message_body).await?;
        parse(&read.bytes).map(Self)
    }
}

impl<T: DeserializeOwned> FromRequest<App> for Choices<T> {
    type Rejection = Problem;

    async fn from_request(request: Request<Body>, app: &App) -> Result<Self, Problem> {
        let read = read(request.into_body(), app, app.limits().body).await?;
        let bytes: &[u8] = if read.bytes.is_empty() { b"{}" } else { &read.bytes };
        parse(bytes).map(Self)
    }
}

/// A body, and the place that it takes up while it is a large one.
#[derive(Debug)]
pub(crate) struct Read {
    /// What it says.
    pub(crate) bytes: Bytes,
    _place: Option<OwnedSemaphorePermit>,
}

/// The whole body of a request, bounded in size and time.
pub(crate) async fn read(body: Body, app: &App, limit: usize) -> Result<Read, Problem> {
    let within = app.limits().body_within;
    let all = collect(body, app, limit);
    tokio::time::timeout(within, all).await.unwrap_or_else(|_| {
        let detail = format!("the body did not arrive within {} s", within.as_secs_f64());
        Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "slow", "Too slow", detail))
    })
}

/// What is announced or comes beyond the limit is refused there, not read.
async fn collect(body: Body, app: &App, limit: usize) -> Result<Read, Problem> {
    let announced = http_body::Body::size_hint(&body).lower();
    if announced > u64::try_from(limit).unwrap_or(u64::MAX) {
        return Err(too_large(limit));
    }
    let (mut body, mut bytes, mut place) = (body, BytesMut::new(), None);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Problem::bad_request("the body broke off"))?;
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > limit {
            return Err(too_large(limit));
        }
        if place.is_none() && bytes.len() + data.len() > app.limits().body {
            place = Some(app.large_body().await?);
        }
        bytes.extend_from_slice(&data);
    }
    Ok(Read { bytes: bytes.freeze(), _place: place })
}

fn too_large(limit: usize) -> Problem {
    let detail = format!("the body has more than {limit} bytes");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", "Too large", detail).with("limit", limit)
}

/// The error says the place.
fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    // A list would be taken for the fields in their order.
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        return Err(Problem::bad_request("the body is a list; an object is needed"));
    }
    serde_json::from_slice(bytes).map_err(|error| {
        let what =
            if error.is_data() { "the body is not what this path takes" } else { "the body is no JSON" };
        Problem::bad_request(format!("{what}: {error}"))
            .with("line", error.line())
            .with("column", error.column())
    })
}

/// For a field that is an object: a list would be taken for its fields in their order.
pub(crate) fn object<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    if raw.get().starts_with('[') {
        return Err(D::Error::custom("a list; an object is needed"));
    }
    serde_json::from_str(raw.get()).map_err(D::Error::custom)
}
