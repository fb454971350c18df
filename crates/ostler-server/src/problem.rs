//! Errors as HTTP shows them: problem details (RFC 9457).
//!
//! `type` is `urn:ostler:problem:` and a word that never changes; programs go by that word, people by `title`, `detail` and
//! `hints`.

mod table;

pub(crate) use table::chain;

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// One error.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Problem {
    /// `urn:ostler:problem:` and the kind.
    #[serde(rename = "type")]
    kind: String,
    /// The kind in words.
    title: &'static str,
    /// The HTTP status.
    status: u16,
    /// What happened this time, and why.
    detail: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hints: Vec<String>,
    /// What belongs to the kind: `session`, `delivery`, `candidates`, `winner`, …
    #[serde(skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    with: Map<String, Value>,
}

impl Problem {
    /// A problem of a kind; `kind` is the word that never changes.
    pub(crate) fn new(
        status: StatusCode,
        kind: &'static str,
        title: &'static str,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            kind: format!("urn:ostler:problem:{kind}"),
            title,
            status: status.as_u16(),
            detail: detail.into(),
            hints: Vec::new(),
            with: Map::new(),
        }
    }

    /// The same, with something to do about it.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The same, with something that a program can read.
    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.with.insert(name.to_owned(), value.into());
        self
    }

    /// The HTTP status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// What happened this time, and why.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// Too many requests wait already.
    pub(crate) fn busy() -> Self {
        let detail = "too many requests wait for the store; nothing was done";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "Busy", detail).hint("try again in a second")
    }

    /// The server was asked to leave.
    pub(crate) fn leaving() -> Self {
        let detail = "this server was asked to leave; sessions go on without it";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "leaving", "Leaving", detail)
    }

    /// A defect of ours in this one request.
    pub(crate) fn panicked() -> Self {
        let detail = "this request ran into a defect of ostler; others are not touched by it";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "defect", "Defect", detail)
    }

    /// The request can't be meant.
    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad-request", "Bad request", detail)
    }

    /// There is no such path.
    pub(crate) fn no_route(path: &str) -> Self {
        let detail = format!("there is nothing at {path}");
        Self::new(StatusCode::NOT_FOUND, "no-route", "No such path", detail)
            .hint("GET /openapi.json describes what there is")
    }

    /// The path does not take this method.
    pub(crate) fn no_method() -> Self {
        let detail = "this path does not take that method";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "no-method", "Method not allowed", detail)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response<Body> {
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = self.status();
        let json = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        if self.status == StatusCode::UNAUTHORIZED.as_u16() {
            let scheme = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        }
        response
    }
}
