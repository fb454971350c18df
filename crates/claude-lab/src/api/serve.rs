//! Routes: who may ask, what a path means, what is logged.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, Method, Request as HttpRequest, Response, StatusCode, header};
use serde_json::json;

use super::request::Request;
use super::{Shared, messages, problem};
use crate::log::LoggedRequest;
use crate::price::bill::Lane;
use crate::{Script, ScriptRef};

/// Headers that hold a credential are not logged.
const SECRET_HEADERS: [&str; 3] = ["authorization", "x-api-key", "cookie"];

/// Answers one HTTP request.
pub(super) async fn serve(shared: Arc<Shared>, request: HttpRequest<Body>) -> Response<Body> {
    let (head, body) = request.into_parts();
    if !is_loopback_host(&head.headers) {
        return problem::respond(403, None, "the lab answers on loopback names only", "req_lab");
    }
    let path = head.uri.path().to_owned();
    if let Some(own) = path.strip_prefix("/lab/") {
        return own_route(&shared, &head.method, own);
    }
    let (reference, path) = match split_prefix(&path) {
        Some((reference, rest)) => (Some(reference), rest.to_owned()),
        None => (None, path),
    };
    let Ok(bytes) = axum::body::to_bytes(body, shared.limits.body).await else {
        let message = format!("the body could not be read, or is longer than {} bytes", shared.limits.body);
        return problem::respond(413, None, &message, "req_lab");
    };
    let query = head.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let mut logged = logged(&shared, &head.method, format!("{path}{query}"), &head.headers, &bytes);
    logged.script = Some(reference.clone().unwrap_or_else(|| shared.default_script.reference()));
    let refuse = |logged, code, message: &str| {
        let seq = shared.log.add(logged);
        shared.log.answered(seq, code, None);
        problem::respond(code, None, message, &format!("req_lab_{seq}"))
    };
    if (head.method, path.as_str()) != (Method::POST, "/v1/messages") {
        return refuse(logged, 404, "Not found");
    }
    let Some(script) = shared.script(reference.as_ref()) else {
        return refuse(logged, 404, "the lab has no such script; register it, or leave out /s/…");
    };
    match Request::read(&head.headers, &bytes) {
        Err(message) => refuse(logged, 400, &message),
        Ok(request) => {
            describe(&mut logged, &request);
            let seq = shared.log.add(logged);
            messages::answer(shared, &script, request, seq).await
        }
    }
}

/// `/s/<name>/rest` → name and `/rest`.
fn split_prefix(path: &str) -> Option<(ScriptRef, &str)> {
    let after = path.strip_prefix("/s/")?;
    let slash = after.find('/')?;
    Some((ScriptRef::parse(&after[..slash])?, &after[slash..]))
}

/// A page in a browser can't reach the lab through a name of its own.
fn is_loopback_host(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|host| host.to_str().ok()) else { return true };
    let name = match host.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    matches!(name, "127.0.0.1" | "localhost" | "::1")
}

fn logged(shared: &Shared, method: &Method, path: String, headers: &HeaderMap, body: &[u8]) -> LoggedRequest {
    let headers = headers.iter().filter(|(name, _)| !SECRET_HEADERS.contains(&name.as_str()));
    let headers = headers.map(|(name, value)| {
        (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    });
    LoggedRequest {
        seq: 0,
        at_ms: shared.clock.now_ms(),
        method: method.as_str().to_owned(),
        path,
        script: None,
        headers: headers.collect(),
        session_id: None,
        model: None,
        lane: Lane::Side,
        text: String::new(),
        turn: 0,
        round: 0,
        rule_line: None,
        status: 0,
        body: Arc::from(body),
    }
}

fn describe(logged: &mut LoggedRequest, request: &Request) {
    logged.session_id.clone_from(&request.session_id);
    logged.model = Some(request.model.clone());
    logged.lane = request.lane;
    logged.text.clone_from(&request.turn.text);
    logged.turn = request.turn.number;
    logged.round = request.turn.round;
}

/// The lab's own paths.
fn own_route(shared: &Shared, method: &Method, path: &str) -> Response<Body> {
    match (method, path.split_once('/')) {
        (&Method::GET, None) if path == "health" => {
            let health = json!({"ok": true, "version": env!("CARGO_PKG_VERSION"), "pid": std::process::id()});
            json_response(&health)
        }
        (&Method::GET, None) if path == "bill" => json_response(&shared.charges.bill().to_json()),
        (&Method::POST, Some(("release", gate))) => {
            shared.gates.open(gate);
            json_response(&json!({"released": gate}))
        }
        _ => problem::respond(404, None, "Not found", "req_lab"),
    }
}

fn json_response(value: &serde_json::Value) -> Response<Body> {
    let mut response = Response::new(Body::from(format!("{value}\n")));
    *response.status_mut() = StatusCode::OK;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    response
}

impl Shared {
    /// The script of a path: one that was registered, or one that lies in the state folder.
    fn script(&self, reference: Option<&ScriptRef>) -> Option<Arc<Script>> {
        let Some(reference) = reference else { return Some(Arc::clone(&self.default_script)) };
        if let Some(script) = self.scripts().get(reference) {
            return Some(Arc::clone(script));
        }
        let script = Arc::new(self.state.as_ref()?.script(reference)?);
        self.scripts().insert(reference.clone(), Arc::clone(&script));
        Some(script)
    }
}
