//! `/openapi.json`: generated from the routes that there are.

use crate::app::App;
use axum::http::header;
use axum::routing::{MethodRouter, get};
use bytes::Bytes;
use utoipa::openapi::OpenApi;

/// Answers with the description, which never changes while a server runs.
pub(super) fn route(description: &OpenApi) -> MethodRouter<App> {
    let text = Bytes::from(description.to_json().unwrap_or_default());
    get(async move || ([(header::CONTENT_TYPE, "application/json")], text))
}
