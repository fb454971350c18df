//! Paths, queries and headers.

use crate::app::App;
use crate::problem::Problem;
use axum::extract::{FromRequestParts, Path as AxumPath, Query as AxumQuery};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use serde::de::DeserializeOwned;
use std::time::Duration;

/// The variable parts of a path.
#[derive(Debug)]
pub(crate) struct Path<T>(pub(crate) T);

/// What stands behind the `?`.
#[derive(Debug)]
pub(crate) struct Query<T>(pub(crate) T);

/// How long the client would rather wait for more than that something was accepted (`Prefer: wait=N`, RFC 7240), within
/// our limit; None: it did not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait(pub(crate) Option<Duration>);

/// The sender's name for what it sends (`Idempotency-Key`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key(Option<String>);

impl<T: DeserializeOwned + Send> FromRequestParts<App> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let read = AxumPath::<T>::from_request_parts(parts, app).await;
        // A path that can't be read names nothing that there is.
        read.map(|AxumPath(value)| Self(value)).map_err(|error| {
            Problem::new(StatusCode::NOT_FOUND, "no-route", "No such path", error.body_text())
        })
    }
}

impl<T: DeserializeOwned> FromRequestParts<App> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let read = AxumQuery::<T>::from_request_parts(parts, app).await;
        read.map(|AxumQuery(value)| Self(value)).map_err(|error| Problem::bad_request(error.body_text()))
    }
}

impl FromRequestParts<App> for Wait {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let given = parts.headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
        Ok(Self(wait_of(given).map(|wait| wait.min(app.limits().wait))))
    }
}

impl Wait {
    /// The header that says what was made of the wish.
    pub(crate) fn applied(self) -> Option<(&'static str, HeaderValue)> {
        let value = format!("wait={}", self.0?.as_secs());
        Some(("preference-applied", HeaderValue::from_str(&value).ok()?))
    }
}

/// The first `wait`; what is not understood is ignored, as RFC 7240 has it.
fn wait_of<'h>(headers: impl Iterator<Item = &'h str>) -> Option<Duration> {
    let all = headers.flat_map(|value| value.split(','));
    let waits = all.filter_map(|one| {
        let (name, value) = one.split(';').next()?.split_once('=')?;
        name.trim().eq_ignore_ascii_case("wait").then(|| value.trim().trim_matches('"').parse().ok())
    });
    waits.into_iter().next().flatten().map(Duration::from_secs)
}

impl FromRequestParts<App> for Key {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _app: &App) -> Result<Self, Problem> {
        let mut all = parts.headers.get_all("idempotency-key").iter();
        let Some(value) = all.next() else { return Ok(Self(None)) };
        match (value.to_str(), all.next()) {
            (Ok(text), None) => Ok(Self(Some(text.to_owned()))),
            _ => Err(Problem::bad_request("one `Idempotency-Key` of printable ASCII is taken")),
        }
    }
}

impl Key {
    /// The key of header or body; both may be given if they are the same.
    pub(crate) fn or(self, field: Option<String>) -> Result<Option<String>, Problem> {
        match (self.0, field) {
            (Some(header), Some(field)) if header != field => {
                Err(Problem::bad_request("`Idempotency-Key` and `key` are two different names"))
            }
            (header, field) => Ok(header.or(field)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_to_wait_is_read_as_the_rfc_has_it() {
        let wait = |headers: &[&str]| wait_of(headers.iter().copied()).map(|w| w.as_secs());
        assert_eq!(wait(&["wait=5"]), Some(5));
        assert_eq!(wait(&["respond-async, Wait = \"7\"; foo"]), Some(7));
        assert_eq!(wait(&["respond-async", "wait=3", "wait=4"]), Some(3));
        assert_eq!(
            (wait(&["wait"]), wait(&["wait=-1"]), wait(&["wait=soon"]), wait(&[])),
            (None, None, None, None)
        );
    }

    #[test]
    fn two_names_must_be_the_same() {
        let key = |header: Option<&str>, field: Option<&str>| {
            Key(header.map(str::to_owned)).or(field.map(str::to_owned)).ok()
        };
        assert_eq!(key(Some("a"), Some("a")), Some(Some("a".to_owned())));
        assert_eq!(key(None, Some("a")), Some(Some("a".to_owned())));
        assert_eq!(key(None, None), Some(None));
        assert_eq!(key(Some("a"), Some("b")), None);
    }
}
