//! Answers that are more than a body.

use crate::extract::Wait;
use axum::Json;
use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use serde::Serialize;

/// A body with its status, where the thing is, and what was made of the wish to wait.
#[derive(Debug)]
pub(crate) struct Reply<T> {
    status: StatusCode,
    body: T,
    location: Option<String>,
    wait: Option<Wait>,
}

impl<T> Reply<T> {
    pub(crate) const fn new(status: StatusCode, body: T) -> Self {
        Self { status, body, location: None, wait: None }
    }

    /// With the path at which the thing is.
    pub(crate) fn at(mut self, path: String) -> Self {
        self.location = Some(path);
        self
    }

    /// With what was made of the wish to wait.
    pub(crate) fn waited(mut self, wait: Wait) -> Self {
        self.wait = Some(wait);
        self
    }
}

impl<T: Serialize> IntoResponse for Reply<T> {
    fn into_response(self) -> Response<Body> {
        let mut response = (self.status, Json(self.body)).into_response();
        let location = self.location.and_then(|path| HeaderValue::from_str(&path).ok());
        if let Some(location) = location {
            response.headers_mut().insert(header::LOCATION, location);
        }
        if let Some((name, value)) = self.wait.and_then(Wait::applied) {
            response.headers_mut().insert(name, value);
        }
        response
    }
}
