//! Answers, as the bridge's clients know them.

use super::ending::Usage;
use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use serde::Serialize;

/// `{"error": …}`.
#[derive(Debug, Serialize)]
struct ErrorBody<'a> {
    error: &'a str,
}

/// What `create`, `cancel` and `permission` answer.
#[derive(Debug, Serialize)]
pub(super) struct Created<'a> {
    pub(super) task_id: &'a str,
    pub(super) status: &'static str,
}

/// The same, the other way round.
#[derive(Debug, Serialize)]
pub(super) struct Told<'a> {
    pub(super) status: &'static str,
    pub(super) task_id: &'a str,
}

/// What `output` answers.
#[derive(Debug, Serialize)]
pub(super) struct Output<'a> {
    /// `pending` or `success`: whether more may come.
    pub(super) retrieval_status: &'static str,
    pub(super) task: OutputTask<'a>,
}

/// The task in it. The first five fields are the contract's.
#[derive(Debug, Serialize)]
pub(super) struct OutputTask<'a> {
    pub(super) id: &'a str,
    pub(super) status: &'static str,
    pub(super) result: &'a str,
    #[serde(rename = "exitCode")]
    pub(super) exit_code: Option<i64>,
    pub(super) usage: Option<Usage>,
    /// The session, to go on with; null before there is one.
    pub(super) session_id: Option<String>,
    /// What a task that failed had said by then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) partial_result: Option<&'a str>,
}

/// What a look at a task answers.
#[derive(Debug, Serialize)]
pub(super) struct Status<'a> {
    pub(super) id: &'a str,
    pub(super) status: &'static str,
    /// Milliseconds since 1970: when it began, and once it is over when it ended.
    pub(super) created: i64,
    pub(super) usage: Option<Usage>,
    pub(super) session_id: Option<String>,
}

/// JSON.
pub(super) fn json(status: StatusCode, body: &impl Serialize) -> Response<Body> {
    let mut response = bare(status, serde_json::to_vec(body).unwrap_or_default());
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// `{"error": …}` as JSON.
pub(super) fn error(status: StatusCode, text: &str) -> Response<Body> {
    json(status, &ErrorBody { error: text })
}

/// The same without a content type, as for a body that is no JSON.
pub(super) fn bare_error(text: &str) -> Response<Body> {
    bare(StatusCode::BAD_REQUEST, serde_json::to_vec(&ErrorBody { error: text }).unwrap_or_default())
}

/// There is no such task: an answer, not an error.
pub(super) fn not_found() -> Response<Body> {
    error(StatusCode::OK, "not_found")
}

/// Bytes and no content type.
pub(super) fn bare(status: StatusCode, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response
}
