//! Errors in the API's own shape.

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::http::{Response, StatusCode};
use serde_json::json;

/// An error answer.
pub(super) fn respond(code: u16, kind: Option<&str>, message: &str, request_id: &str) -> Response<Body> {
    let kind = kind.unwrap_or_else(|| kind_of(code));
    let body =
        json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": request_id});
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Ok(id) = HeaderValue::from_str(request_id) {
        headers.insert("request-id", id);
    }
    response
}

/// The error type that belongs to a status, by Anthropic's public list of API errors.
fn kind_of(code: u16) -> &'static str {
    match code {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        400..500 => "invalid_request_error",
        _ => "api_error",
    }
}

/// What a scripted error says when the script gives no text.
pub(super) fn default_message(code: u16) -> &'static str {
    match code {
        401 => "invalid x-api-key",
        429 => "This request would exceed your account's rate limit. Please try again later.",
        529 => "Overloaded",
        400..500 => "The lab's script refuses this request",
        _ => "Internal server error",
    }
}
