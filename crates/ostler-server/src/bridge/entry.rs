//! The order of checks: Host and Origin (around everything), OPTIONS, `/health`, the key, then the path.

use super::{Bridge, answer, auth, path, tasks};
use crate::connection::Client;
use crate::problem::Problem;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Method, Request, Response, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::IntoResponse;

/// Takes the bridge's requests out of all that come; the others go on. Stands around every route, inside the check of
/// Host and Origin.
pub(crate) async fn entry(
    State(bridge): State<Option<Bridge>>,
    request: Request<Body>,
    next: Next,
) -> Response<Body> {
    let Some(bridge) = bridge else { return next.run(request).await };
    let own = client(&request).is_some_and(|client| bridge.is_own(client));
    let task = path::is_task(request.uri().path());
    if request.method() == Method::OPTIONS && (own || task) {
        return answer::bare(StatusCode::NO_CONTENT, Body::empty());
    }
    if is_health(request.uri()) {
        return answer::json(StatusCode::OK, &Health { status: "ok" });
    }
    if !task {
        return next.run(request).await;
    }
    match bridge.refuses(&request) {
        Some(refusal) => refusal,
        None => tasks::answer(&bridge, request).await,
    }
}

/// Where no route is: on the bridge's own socket its clients' words.
pub(crate) async fn fallback(State(bridge): State<Option<Bridge>>, request: Request<Body>) -> Response<Body> {
    let own = bridge.filter(|bridge| client(&request).is_some_and(|client| bridge.is_own(client)));
    match own {
        None => Problem::no_route(request.uri().path()).into_response(),
        Some(bridge) => {
            bridge.refuses(&request).unwrap_or_else(|| answer::error(StatusCode::NOT_FOUND, "not_found"))
        }
    }
}

/// What `/health` says.
#[derive(Debug, serde::Serialize)]
struct Health {
    status: &'static str,
}

/// `/health` and nothing behind it.
fn is_health(uri: &Uri) -> bool {
    uri.path() == "/health" && uri.query().is_none()
}

fn client(request: &Request<Body>) -> Option<Client> {
    request.extensions().get().copied()
}

impl Bridge {
    /// The answer to somebody who doesn't have the key.
    fn refuses(&self, request: &Request<Body>) -> Option<Response<Body>> {
        let options = self.options();
        let has_key = || auth::offered(request.headers()).is_some_and(|key| options.key.is(&key));
        let may = options.home_mode || has_key();
        (!may).then(|| answer::bare(StatusCode::UNAUTHORIZED, "Unauthorized"))
    }
}
