//! Who may ask, and from where.
//!
//! A page in a browser can reach loopback too. It can't choose its `Origin`, and can't send a token that it doesn't know; a
//! name that it has made to point here shows in `Host`. So each request is checked for all three before anything of it is
//! looked at, reads and streams alike.

mod host;

use crate::connection::Client;
use crate::listen::Wider;
use crate::problem::Problem;
use crate::token::Token;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Method, Request, Response, StatusCode, header};
use axum::middleware::Next;
use axum::response::IntoResponse;
use std::sync::Arc;

/// What the guard knows.
#[derive(Debug)]
pub(crate) struct Guard {
    token: Token,
    /// The user whose home it is.
    owner: u32,
    /// Names beside those of loopback.
    names: Vec<String>,
}

/// The largest root user id there is.
const ROOT: u32 = 0;

impl Guard {
    pub(crate) fn new(token: Token, owner: u32, wider: Option<&Wider>) -> Self {
        let names = wider.map(|w| w.hosts.iter().map(|h| h.to_ascii_lowercase()).collect());
        Self { token, owner, names: names.unwrap_or_default() }
    }

    /// May this request be looked at at all? Said of every path, with or without a token.
    fn place(&self, client: Client, headers: &HeaderMap) -> Result<(), Problem> {
        host::check_host(client, headers, &self.names)?;
        host::check_origin(headers, &self.names)
    }

    /// May whoever asks use the API?
    fn token(&self, client: Client, headers: &HeaderMap) -> Result<(), Problem> {
        if let Client::Local(peer) = client
            && (peer.uid == self.owner || peer.uid == ROOT)
        {
            return Ok(());
        }
        let given = headers.get(header::AUTHORIZATION).map(header::HeaderValue::as_bytes);
        let bearer = given.and_then(|value| {
            let (scheme, rest) = value.split_at_checked(7)?;
            scheme.eq_ignore_ascii_case(b"bearer ").then(|| rest.trim_ascii())
        });
        match bearer {
            Some(offered) if self.token.is(offered) => Ok(()),
            offered => Err(unauthorized(offered.is_some())),
        }
    }
}

fn unauthorized(offered: bool) -> Problem {
    let detail = match offered {
        true => "this is not the token of this home",
        false => "a token is needed: `Authorization: Bearer …`",
    };
    Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", "Unauthorized", detail)
        .hint("it stands in the file `token` of the home; over the local socket none is needed")
}

/// Host and Origin: around every route.
pub(crate) async fn place(
    State(guard): State<Arc<Guard>>,
    request: Request<Body>,
    next: Next,
) -> Response<Body> {
    match guard.place(client(&request), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

/// Token and content type: around the native API.
pub(crate) async fn native(
    State(guard): State<Arc<Guard>>,
    request: Request<Body>,
    next: Next,
) -> Response<Body> {
    let checked = guard
        .token(client(&request), request.headers())
        .and_then(|()| content_type(request.method(), request.headers()));
    match checked {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

/// What a form of a page could send is no JSON, even without a body.
fn content_type(method: &Method, headers: &HeaderMap) -> Result<(), Problem> {
    if !matches!(*method, Method::POST | Method::PUT | Method::PATCH) {
        return Ok(());
    }
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = given.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let detail = "the content type of a request that changes something must be application/json";
    Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "content-type", "Unsupported media type", detail))
}

/// Every connection of ours carries it; without it nobody is trusted.
fn client(request: &Request<Body>) -> Client {
    let nobody = ([0, 0, 0, 0], 0).into();
    request.extensions().get().copied().unwrap_or(Client::Tcp { from: nobody, to: nobody })
}
