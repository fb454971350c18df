//! Who may ask, and what is written down of it.

use super::desk::{Desk, repository};
use super::desk_sessions::Office;
use super::serve_http::{Answer, Server};
use serde_json::{Value, json};
use std::fs;
use std::process::Command;

/// Every operation of the description: method, path with something in its places, whether it says that it wants a token.
fn operations() -> Vec<(String, String, bool)> {
    let text = fs::read_to_string(repository().join("docs/openapi.json")).unwrap();
    let description: Value = serde_json::from_str(&text).unwrap();
    let mut all = Vec::new();
    for (path, item) in description["paths"].as_object().unwrap() {
        let mut parts: Vec<&str> = path.split('/').collect();
        for part in parts.iter_mut().filter(|part| part.starts_with('{')) {
            *part = "1";
        }
        for (method, operation) in item.as_object().unwrap() {
            all.push((method.to_uppercase(), parts.join("/"), operation["security"].is_array()));
        }
    }
    all
}

#[test]
fn nothing_is_answered_without_token_and_place() {
    let desk = Desk::new();
    let server = Server::start(&desk);
    let auth = format!("Bearer {}", server.token);
    let mut native = 0;
    for (method, path, wants_token) in operations() {
        let body = (method == "POST").then_some(&b"{}"[..]);
        let ask = |headers: &[(&str, &str)]| server.raw(&method, &path, body, headers);
        let foreign = [("Authorization", auth.as_str()), ("Host", "rebound.example:7867")];
        ask(&foreign).problem(403, "foreign");
        for origin in ["null", "http://evil.example", "https://127.0.0.1"] {
            ask(&[("Authorization", &auth), ("Origin", origin)]).problem(403, "foreign");
        }
        if !wants_token {
            assert!(["/healthz", "/readyz"].contains(&path.as_str()), "{path} is open to everybody");
            continue;
        }
        native += 1;
        ask(&[]).problem(401, "unauthorized");
        ask(&[("Authorization", "Bearer ostler_00000000000000000000000000000000")])
            .problem(401, "unauthorized");
        ask(&[("Authorization", &format!("Basic {}", server.token))]).problem(401, "unauthorized");
        // A browser never gets it in a URL.
        let in_url = format!("{path}?token={}", server.token);
        server.raw(&method, &in_url, body, &[]).problem(401, "unauthorized");
        if method == "POST" {
            for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
            {
                ask(&[("Authorization", &auth), ("Content-Type", kind)]).problem(415, "content-type");
            }
        }
        // The one stream that would never end; of a session that is not there it has an end.
        let ends = if path == "/v1/events" { "/v1/events?session=nobody".to_owned() } else { path.clone() };
        let answer = server.raw(&method, &ends, body, &[("Authorization", &auth)]);
        assert!(!matches!(answer.status, 401 | 403 | 415), "{method} {path}: {answer:?}");
    }
    assert!(native > 15, "{native}");
    // Nothing of all that came to be.
    assert_eq!(server.get("/v1/sessions").json()["items"], json!([]));
    assert_eq!(server.get("/v1/rules").json()["items"], json!([]));
}

#[test]
fn what_is_said_and_what_opens_is_written_nowhere() {
    let office = Office::new("otherwise\n say Hello.\n");
    let server = Server::start_with(&office.desk, |command| {
        command.env("RUST_LOG", "trace").env("OSTLER_LOG", "trace");
    });
    let secret = "kept-between-us";
    let body = json!({"prompt": secret, "spec": office.http_spec(), "label": "one"});
    server.ask_with("POST", "/v1/sessions", Some(&body), &[("Prefer", "wait=30")]).is(201);
    server.post("/v1/sessions", &json!({"prompt": secret, "nonsense": secret}));
    server.post("/v1/sessions/one/deliveries", &json!({"prompt": format!("/clear {secret}")}));
    server.raw("GET", "/v1/sessions", None, &[("Authorization", &format!("Bearer {secret}"))]).is(401);
    let token = server.token.clone();
    server.post("/v1/sessions/one/close", &json!({})).is(200);
    assert_eq!(server.leave(), Some(0));
    let log = fs::read_to_string(office.desk.path("serve.log")).unwrap();
    assert!(!log.contains(secret) && !log.contains(&token), "{log}");
    office.close();
}

/// What claude starts is a process of its session: it must not decide for it.
#[test]
fn a_session_does_not_decide_for_itself() {
    let office = Office::new("when ask\n ask Bash {\"command\":\"make\"}\n then\n say Made.\n");
    let server = Server::start(&office.desk);
    let body = json!({"prompt": "ask", "spec": office.http_spec(), "label": "one"});
    let started =
        server.ask_with("POST", "/v1/sessions", Some(&body), &[("Prefer", "wait=30")]).is(201).json();
    let id = started["session"]["id"].as_str().unwrap();
    let request = office.asks();
    // A process that carries the session's marker, as everything does that claude starts.
    let inside = |method: &str, path: &str, body: &Value| {
        let mut command = Command::new("curl");
        command.args(["-s", "-i", "-X", method, "-H", "Content-Type: application/json", "-d"]);
        command.arg(body.to_string()).arg("--unix-socket").arg(&server.socket);
        let output = command.arg(format!("http://ostler{path}")).env("OSTLER_SESSION", id).output().unwrap();
        Answer::parse(&output.stdout)
    };
    let path = format!("/v1/permissions/one/1/{request}");
    inside("POST", &path, &json!({"decision": "allow"})).problem(403, "inside");
    let rule = json!({"effect": "allow", "pattern": "Bash", "scope": "everything"});
    inside("POST", "/v1/rules", &rule).problem(403, "inside");
    inside("POST", "/v1/sessions/one/close", &json!({"purge": true})).problem(403, "inside");
    assert_eq!(server.get(&path).json()["state"], "open");
    assert_eq!(server.get("/v1/rules").json()["items"], json!([]));
    // Somebody outside of it does.
    server.local("POST", &path, Some(&json!({"decision": "deny", "message": "no"})), &[]).is(200);
    server.post("/v1/sessions/one/close", &json!({})).is(200);
    drop(server);
    office.close();
}
