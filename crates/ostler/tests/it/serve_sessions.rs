//! Sessions over HTTP and over the command line are the same sessions.

use super::desk_sessions::{Office, until};
use super::serve_http::Server;
use serde_json::{Value, json};

const BUSY: &str = "when go\n mark talking\n until enough\n say Enough.\nwhen ask\n ask Bash {\"command\":\"make\"}\n then\n say Made.\notherwise\n say Hello.\n";

fn start(office: &Office, server: &Server, prompt: &str) -> (String, String) {
    let body = json!({"prompt": prompt, "spec": office.http_spec()});
    let answer = server.ask_with("POST", "/v1/sessions", Some(&body), &[("Prefer", "wait=30")]).is(201);
    let started = answer.json();
    let id = started["session"]["id"].as_str().unwrap().to_owned();
    assert_eq!(answer.headers["location"], format!("/v1/sessions/{id}"));
    (id, started["delivery"]["id"].as_str().unwrap().to_owned())
}

#[test]
fn a_session_of_http_is_one_of_the_command_line() {
    let office = Office::new(BUSY);
    let server = Server::start(&office.desk);
    let (id, delivery) = start(&office, &server, "go");
    office.reaches("talking");
    let shown = office.desk.run(&["show", &id, "--json"]).exits(0).document();
    assert_eq!(
        (&shown["session"]["state"], &shown["deliveries"][0]["id"]),
        (&"active".into(), &delivery.as_str().into())
    );
    office.desk.run(&["send", &id, "more"]).exits(0);
    office.open("enough");
    let path = format!("/v1/sessions/{id}/deliveries/{delivery}");
    let detail = server.ask_with("GET", &path, None, &[("Prefer", "wait=30")]).is(200);
    assert_eq!(detail.headers["preference-applied"], "wait=30");
    let detail = detail.json();
    assert_eq!((&detail["outcome"], &detail["answer"]), (&"completed".into(), &"Enough.".into()));
    assert_eq!(detail["delivery"]["route"], "wake");
    office.desk.run(&["close", &id]).exits(0);
    let gone = server.post(&format!("/v1/sessions/{id}/deliveries"), &json!({"prompt": "x"}));
    gone.problem(409, "closed");
    drop(server);
    office.close();
}

#[test]
fn a_session_of_the_command_line_is_one_of_http() {
    let office = Office::new(BUSY);
    let server = Server::start(&office.desk);
    let id = office.started(&["--label", "one", "go"]);
    office.reaches("talking");
    // A label or the beginning of an id means it.
    let shown = server.get("/v1/sessions/one").is(200).json();
    assert_eq!(
        (&shown["session"]["id"], &shown["session"]["state"]),
        (&id.as_str().into(), &"active".into())
    );
    let listed = server.get("/v1/sessions?label=one&state=active").is(200).json();
    assert_eq!(
        (&listed["items"][0]["id"], &listed["items"][0]["process"]),
        (&id.as_str().into(), &"resident".into())
    );
    // Into the running turn.
    let sent = server.ask_with(
        "POST",
        &format!("/v1/sessions/{}/deliveries", &id[..8]),
        Some(&json!({"prompt": "and this", "key": "k"})),
        &[("Prefer", "wait=30")],
    );
    let sent = sent.is(201).json();
    assert_eq!(sent["delivery"]["route"], "steer");
    // Under the same key it is the same message; another one under it is refused.
    let again = server.post("/v1/sessions/one/deliveries", &json!({"prompt": "and this", "key": "k"})).json();
    assert_eq!(again["delivery"]["id"], sent["delivery"]["id"]);
    let other = server.ask_with(
        "POST",
        "/v1/sessions/one/deliveries",
        Some(&json!({"prompt": "x"})),
        &[("Idempotency-Key", "k")],
    );
    other.problem(422, "other-body");
    let done = server.post("/v1/sessions/one/interrupt", &json!({"cancel_queued": true})).is(200).json();
    assert_eq!(done["result"], "confirmed");
    let stopped = server.post("/v1/sessions/one/stop", &json!({})).is(200).json();
    assert_eq!(stopped["session"], id);
    assert_ne!(stopped["proven"], false);
    // Over the local socket the system says who asks.
    let local = server.local("GET", "/v1/sessions?stopped=true", None, &[]).is(200).json();
    assert_eq!(local["items"][0]["id"], id);
    office.desk.run(&["send", "one", "x"]).exits(8);
    server.post("/v1/sessions/one/deliveries", &json!({"prompt": "x"})).problem(409, "stopped");
    let resumed = server.post("/v1/sessions/one/resume", &json!({})).is(200).json();
    assert_eq!(resumed["was_stopped"], true);
    let closed = server.post("/v1/sessions/one/close", &json!({"purge": true})).is(200).json();
    assert_eq!(closed["purged"], true);
    office.desk.run(&["show", &id]).exits(7);
    server.get(&format!("/v1/sessions/{id}")).problem(404, "no-session");
    drop(server);
    office.close();
}

#[test]
fn accepted_and_running_are_told_apart() {
    let office = Office::new(BUSY);
    let server = Server::start(&office.desk);
    // Nobody waits: accepted, whatever has happened by now.
    let body = json!({"prompt": "go", "spec": office.http_spec(), "label": "one"});
    let answer = server.post("/v1/sessions", &body);
    assert!(matches!(answer.status, 201 | 202), "{answer:?}");
    let started = answer.json();
    assert_eq!(answer.status == 201, started["delivery"]["state"] != "accepted", "{started:#}");
    office.reaches("talking");
    // Behind a turn that runs nothing is given to claude.
    let body = json!({"prompt": "later", "mode": "queue"});
    let queued = server.post("/v1/sessions/one/deliveries", &body).is(202);
    let (path, queued) = (queued.headers["location"].clone(), queued.json());
    assert_eq!(
        (&queued["delivery"]["state"], &queued["delivery"]["route"]),
        (&"accepted".into(), &Value::Null)
    );
    let waited = server.ask_with("GET", &path, None, &[("Prefer", "wait=0")]).is(202).json();
    assert_eq!(waited["state"], "running");
    let cancelled = server.ask("DELETE", &path, None).is(200).json();
    assert_eq!(cancelled["state"], "cancelled");
    // Twice is once.
    server.ask("DELETE", &path, None).is(200);
    let first = started["delivery"]["id"].as_str().unwrap();
    let late = server.ask("DELETE", &format!("/v1/sessions/one/deliveries/{first}"), None);
    assert_eq!(late.problem(409, "too-late")["with"]["state"], "started");
    let pages = server.get("/v1/sessions/one/deliveries?limit=1").is(200).json();
    assert_eq!(pages["items"][0]["id"], first);
    let next = format!("/v1/sessions/one/deliveries?limit=1&after={}", pages["next"].as_str().unwrap());
    let pages = server.get(&next).is(200).json();
    assert_eq!((&pages["items"][0]["id"], &pages["next"]), (&queued["delivery"]["id"], &Value::Null));
    server.post("/v1/sessions/one/close", &json!({})).is(200);
    drop(server);
    office.close();
}

#[test]
fn a_server_that_is_killed_between_any_two_requests_changes_nothing() {
    let office = Office::new(BUSY);
    let server = Server::start(&office.desk);
    let body = json!({"prompt": "go", "spec": office.http_spec(), "key": "once"});
    let first = server.post("/v1/sessions", &body).json();
    server.kill();
    office.reaches("talking");
    // Whoever is not sure sends it again, and it is the same session.
    let server = Server::start(&office.desk);
    let again = server.ask_with("POST", "/v1/sessions", Some(&body), &[("Prefer", "wait=30")]).is(201).json();
    assert_eq!(again["session"]["id"], first["session"]["id"]);
    assert_eq!(again["delivery"]["id"], first["delivery"]["id"]);
    let id = first["session"]["id"].as_str().unwrap();
    let sent =
        server.post(&format!("/v1/sessions/{id}/deliveries"), &json!({"prompt": "hi", "mode": "queue"}));
    let path = sent.headers["location"].clone();
    server.kill();
    office.open("enough");
    until("the turn to be over without a server", || {
        let shown = office.desk.run(&["show", id, "--json"]).document();
        (shown["deliveries"][1]["state"] == "completed").then_some(())
    });
    let server = Server::start(&office.desk);
    let detail = server.ask_with("GET", &path, None, &[("Prefer", "wait=30")]).is(200).json();
    assert_eq!(detail["answer"], "Hello.");
    assert_eq!(office.told().iter().filter(|line| line["type"] == "user").count(), 2);
    assert_eq!(server.leave(), Some(0));
    office.close();
}
