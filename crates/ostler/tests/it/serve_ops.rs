//! What the server does by itself, and what it tells of it: sweeps, log lines, figures, and its end.

use super::desk_sessions::{Office, PATIENCE, until};
use super::serve_http::{Answer, Server, request};
use ostler_os::lockfile;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

const TALK: &str = "when go\n mark talking\n until enough\n say Enough.\nwhen ask\n ask Bash {\"command\":\"make\"}\n then\n say Made.\notherwise\n say Hello.\n";

fn start(office: &Office, server: &Server, prompt: &str) -> String {
    let body = json!({"prompt": prompt, "spec": office.http_spec()});
    let started = server.ask_with("POST", "/v1/sessions", Some(&body), &[("Prefer", "wait=30")]).is(201);
    started.json()["session"]["id"].as_str().unwrap().to_owned()
}

/// Who holds a lock, by what is noted in it.
fn holder(path: &Path) -> Option<String> {
    let held = path.exists() && lockfile::try_lock_shared(path).unwrap().is_none();
    let note = lockfile::note(path).unwrap_or_default();
    let pid = String::from_utf8_lossy(&note).trim().to_owned();
    (held && !pid.is_empty()).then_some(pid)
}

fn signal(name: &str, pid: &str) {
    assert!(Command::new("kill").args([name, pid]).status().unwrap().success(), "{name} {pid}");
}

#[test]
fn a_session_whose_keeper_and_controller_were_killed_is_adopted_without_any_command() {
    let office = Office::new(TALK);
    let server = Server::start(&office.desk);
    let id = start(&office, &server, "go");
    office.reaches("talking");
    let folder = office.desk.home().join("sessions").join(&id);
    let keeper = until("a keeper", || holder(&folder.join("keeper.lock")));
    let controller = until("a controller", || holder(&folder.join("lock")));
    // Or it would start another keeper.
    signal("-STOP", &controller);
    signal("-KILL", &keeper);
    signal("-KILL", &controller);
    let next = until("the sweep", || holder(&folder.join("lock")).filter(|pid| *pid != controller));
    assert_ne!(next, keeper);
    until("a line about it", || {
        let lines = lines(&office);
        lines.iter().any(|line| line["started"] == 1 && line["level"] == "INFO").then_some(())
    });
    office.open("enough");
    until("the turn's end, by nothing but the server", || {
        let shown = server.get(&format!("/v1/sessions/{id}")).is(200).json();
        (shown["deliveries"][0]["state"] == "completed").then_some(())
    });
    assert_eq!(office.told().iter().filter(|line| line["type"] == "user").count(), 1);
    drop(server);
    office.close();
}

#[test]
fn a_session_that_can_not_be_looked_at_keeps_no_other_one_from_being_adopted() {
    let office = Office::new(TALK);
    let server = Server::start(&office.desk);
    // The older one comes first in a sweep.
    let broken = start(&office, &server, "go");
    office.reaches("talking");
    let id = start(&office, &server, "go");
    let folder = |id: &str| office.desk.home().join("sessions").join(id);
    let mut locks = Vec::new();
    for session in [&broken, &id] {
        let keeper = until("a keeper", || holder(&folder(session).join("keeper.lock")));
        let controller = until("a controller", || holder(&folder(session).join("lock")));
        signal("-STOP", &controller);
        signal("-KILL", &keeper);
        signal("-KILL", &controller);
        let lock = folder(session).join("lock");
        if session == &broken {
            // A directory can't be locked.
            std::fs::rename(&lock, office.desk.path("lock")).unwrap();
            std::fs::create_dir(&lock).unwrap();
        }
        locks.push((lock, controller));
    }
    let (lock, killed) = locks.pop().unwrap();
    until("the sweep", || holder(&lock).filter(|pid| *pid != killed));
    until("a line about the other one", || {
        lines(&office).iter().any(|line| line["message"] == "the sweep failed").then_some(())
    });
    // And that one is adopted as soon as it can be.
    let (lock, killed) = locks.pop().unwrap();
    std::fs::remove_dir(&lock).unwrap();
    std::fs::rename(office.desk.path("lock"), &lock).unwrap();
    until("the next sweep", || holder(&lock).filter(|pid| *pid != killed));
    office.open("enough");
    for session in [&broken, &id] {
        office.desk.run(&["wait", session, "--timeout", "40s"]).exits(0);
    }
    drop(server);
    office.close();
}

/// The server's log, as JSON.
fn lines(office: &Office) -> Vec<Value> {
    let text = std::fs::read_to_string(office.desk.path("serve.log")).unwrap_or_default();
    // The last one may be under way.
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let json = |line: &str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
    // What it remarks before it serves is for people.
    whole.lines().filter(|line| line.starts_with('{')).map(json).collect()
}

/// The line of the last request of a route.
#[track_caller]
fn line_of(office: &Office, method: &str, route: &str) -> Value {
    until(route, || {
        let all = lines(office);
        all.into_iter().rfind(|line| line["route"] == route && line["method"] == method)
    })
}

#[test]
fn a_request_is_one_line_that_tells_nothing_of_what_was_said() {
    const SECRET: [&str; 6] = ["Zq-prompt", "Zq-label", "Zq-key", "Zq-path", "Zq-env", "Zq-method"];
    let office = Office::new(TALK);
    let server = Server::start_with(&office.desk, |command| {
        command.args(["--log-level", "trace", "--log-format", "json"]);
    });
    let mut spec = office.http_spec();
    spec["env"].as_array_mut().unwrap().push("ZQ_VALUE=Zq-env".into());
    let body = json!({"prompt": "ask Zq-prompt", "label": "Zq-label", "key": "Zq-key", "spec": spec});
    let started = server.ask_with("POST", "/v1/sessions", Some(&body), &[("Prefer", "wait=30")]).is(201);
    let id = started.json()["session"]["id"].as_str().unwrap().to_owned();
    office.asks();
    server.get("/v1/sessions?label=Zq-label&after=Zq-key").is(400);
    server.get("/v1/sessions/Zq-label").is(200);
    server.get("/Zq-path?x=Zq-key").is(404);
    server.ask("ZQ-METHOD", "/v1/sessions/Zq-label", None).is(405);
    server.raw("GET", "/v1/sessions", None, &[("Authorization", "Bearer Zq-key")]).is(401);
    server.local("POST", "/v1/sessions/Zq-label/deliveries", Some(&json!({"prompt": "Zq-prompt"})), &[]);
    server.post("/v1/sessions", &json!({"Zq-prompt": 1})).is(400);
    server.post(&format!("/v1/sessions/{id}/close"), &json!({"purge": true})).is(200);
    let line = line_of(&office, "POST", "/v1/sessions/{session}/close");
    assert_eq!((&line["status"], &line["peer"], &line["whole"]), (&json!(200), &json!("tcp"), &json!(true)));
    assert!(line["ms"].is_u64() && line["bytes"].as_u64() > Some(10), "{line}");
    assert!(line["timestamp"].is_string() && line["level"] == "INFO" && line["message"] == "request");
    assert_eq!(line_of(&office, "POST", "/v1/sessions/{session}/deliveries")["peer"], "local");
    assert_eq!(line_of(&office, "GET", "none")["status"], 404);
    assert_eq!(line_of(&office, "other", "/v1/sessions/{session}")["status"], 405);
    let token = server.token.clone();
    assert_eq!(server.leave(), Some(0));
    let statuses = lines(&office).into_iter().filter(|line| line["message"] == "request");
    let mut seen = BTreeMap::new();
    statuses.for_each(|line| *seen.entry(line["status"].to_string()).or_insert(0) += 1);
    assert_eq!((seen["401"], seen["405"]), (1, 1), "{seen:?}");
    let text = std::fs::read_to_string(office.desk.path("serve.log")).unwrap();
    for secret in SECRET.iter().copied().chain([token.as_str(), id.as_str(), "Bearer"]) {
        let found = text.lines().find(|line| line.to_lowercase().contains(&secret.to_lowercase()));
        assert_eq!(found, None, "{secret} is in the log");
    }
    office.close();
}

#[test]
fn the_environment_names_the_level_and_a_wrong_one_is_refused() {
    let office = Office::new(TALK);
    let server = Server::start_with(&office.desk, |command| {
        command.env("OSTLER_LOG", "warn");
    });
    server.get("/healthz").is(200);
    assert_eq!(server.leave(), Some(0));
    assert_eq!(lines(&office), Vec::<Value>::new());
    let mut command = office.desk.command(&["serve"]);
    let refused = command.env("OSTLER_LOG", "loud").output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("OSTLER_LOG is \"loud\""), "{refused:?}");
    office.close();
}

/// `/metrics`, as a server that was just started has it.
fn scrape(office: &Office) -> BTreeMap<String, f64> {
    let server = Server::start(&office.desk);
    let answer = server.get("/metrics").is(200);
    assert!(answer.headers["content-type"].starts_with("application/openmetrics-text"));
    let text = String::from_utf8(answer.body).unwrap();
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    samples
        .map(|line| line.rsplit_once(' ').unwrap())
        .map(|(k, v)| (k.to_owned(), v.parse().unwrap()))
        .collect()
}

#[test]
fn figures_follow_what_happens() {
    let office = Office::new(TALK);
    let empty = scrape(&office);
    assert_eq!(empty["ostler_permissions_open"], 0.0);
    let id = office.started(&["ask"]);
    let asked = office.asks();
    let open = scrape(&office);
    assert_eq!(open["ostler_permissions_open"], 1.0);
    assert!(open["ostler_permission_oldest_age_seconds"] > 0.0);
    assert_eq!(open["ostler_sessions{state=\"active\"}"], 1.0);
    assert_eq!(open["ostler_turns{outcome=\"running\"}"], 1.0);
    office.desk.run(&["approve", &id, &asked]).exits(0);
    office.desk.run(&["wait", &id, "--timeout", "40s"]).exits(0);
    office.becomes_cold(&id);
    let done = scrape(&office);
    assert_eq!(done["ostler_permissions_open"], 0.0);
    assert_eq!(done["ostler_permission_oldest_age_seconds"], 0.0);
    assert_eq!(done["ostler_sessions{state=\"idle\"}"], 1.0);
    assert_eq!(done["ostler_turns{outcome=\"completed\"}"], 1.0);
    assert_eq!(done["ostler_deliveries{state=\"completed\"}"], 1.0);
    assert_eq!(done["ostler_child_deaths{how=\"clean\"}"], 1.0);
    let server = Server::start(&office.desk);
    server.get("/healthz").is(200);
    server.raw("GET", "/metrics", None, &[]).problem(401, "unauthorized");
    let text = String::from_utf8(server.get("/metrics").is(200).body).unwrap();
    for (route, status) in [("/healthz", 200), ("/metrics", 401)] {
        let line =
            format!("ostler_http_requests_total{{method=\"GET\",route=\"{route}\",status=\"{status}\"}} 1\n");
        assert!(text.contains(&line), "{line}\n{text}");
    }
    drop(server);
    office.close();
}

#[test]
fn a_server_that_is_asked_to_leave_touches_no_session_and_says_that_it_is_not_ready() {
    let office = Office::new(TALK);
    let server = Server::start(&office.desk);
    let id = start(&office, &server, "go");
    office.reaches("talking");
    // A request that is under way when it is asked is answered; half a head is one.
    let mut waiting = TcpStream::connect(&server.address).unwrap();
    waiting.set_read_timeout(Some(PATIENCE)).unwrap();
    let ready = request(&server.address, "GET", "/readyz", None, &[]);
    waiting.write_all(&ready[..20]).unwrap();
    server.get("/readyz").is(200);
    let (address, leaving) = (server.address.clone(), std::thread::spawn(move || server.leave()));
    until("nobody to listen any more", || TcpStream::connect(&address).is_err().then_some(()));
    waiting.write_all(&ready[20..]).unwrap();
    let mut answer = Vec::new();
    waiting.read_to_end(&mut answer).unwrap();
    Answer::parse(&answer).problem(503, "leaving");
    assert_eq!(leaving.join().unwrap(), Some(0));
    let shown = office.desk.run(&["show", &id, "--json"]).exits(0).document();
    assert_eq!(
        (&shown["session"]["state"], &shown["process"]["state"]),
        (&"active".into(), &"resident".into())
    );
    office.open("enough");
    office.desk.run(&["wait", &id, "--timeout", "40s"]).exits(0);
    office.close();
}
