//! Every kind of error, produced once; and who gets nothing at all.

use super::desk::repository;
use super::desk_sessions::{Office, until};
use super::serve_http::{Answer, Server};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The words of the page's table.
fn words() -> BTreeSet<String> {
    let page = std::fs::read_to_string(repository().join("docs/http.md")).unwrap();
    let table = page.split("| status | words |").nth(1).unwrap().split("\n\n").next().unwrap();
    table.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// What was produced, so that nothing is forgotten.
struct Seen(BTreeSet<String>);

impl Seen {
    #[track_caller]
    fn is(&mut self, answer: Answer, status: u16, word: &str) -> Value {
        self.0.insert(word.to_owned());
        answer.problem(status, word)
    }
}

/// Those that need a disk, a store or a program that fails, or a race; each has its own test.
const ELSEWHERE: [&str; 11] = [
    "busy",
    "claude",
    "controller-unreachable",
    "defect",
    "disk-full",
    "inside",
    "leaving",
    "no-cursor",
    "slow",
    "store",
    "too-many-rules",
];

#[test]
fn every_kind_of_error_over_http() {
    let office = Office::new(
        "when ask\n ask Bash {\"command\":\"make\"}\n then\n say Made.\notherwise\n say Hello.\n",
    );
    let server = Server::start(&office.desk);
    let mut seen = Seen(BTreeSet::new());
    let spec = office.http_spec();
    let new = |more: Value| {
        let mut body = json!({"prompt": "hi", "spec": spec});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        server.ask_with("POST", "/v1/sessions", Some(&body), &[("Prefer", "wait=30")])
    };
    let first = new(json!({"label": "twin"})).is(201).json();
    let id = first["session"]["id"].as_str().unwrap().to_owned();
    new(json!({"label": "twin"})).is(201);
    let several = seen.is(server.get("/v1/sessions/twin"), 409, "ambiguous");
    assert_eq!(several["with"]["candidates"].as_array().unwrap().len(), 2);
    seen.is(new(json!({"id": id})), 409, "exists");
    seen.is(new(json!({"worktree": true})), 409, "worktree");
    seen.is(new(json!({"spec": {"cwd": "/nowhere/at/all"}})), 400, "bad-request");

    let unknown = server.post("/v1/sessions", &json!({"promt": "hi"}));
    let unknown = seen.is(unknown, 400, "bad-request");
    assert!(unknown["detail"].as_str().unwrap().contains("unknown field `promt`"), "{unknown}");
    let broken =
        server.raw("POST", "/v1/sessions", Some(b"{\n\"prompt\": }"), &[("Authorization", &bearer(&server))]);
    let broken = seen.is(broken, 400, "bad-request");
    assert_eq!((&broken["with"]["line"], &broken["with"]["column"]), (&2.into(), &11.into()));
    seen.is(server.post("/v1/gc", &json!([true])), 400, "bad-request");
    seen.is(server.post("/v1/sessions", &json!({"prompt": "hi", "spec": []})), 400, "bad-request");
    seen.is(server.get("/v1/sessions?limit=0"), 400, "bad-request");
    seen.is(server.get("/v1/sessions?colour=red"), 400, "bad-request");
    seen.is(server.get("/v1/sessions?after=nonsense"), 400, "bad-request");
    for prompt in ["", "/clear", "/exit now"] {
        let sent = server.post(&format!("/v1/sessions/{id}/deliveries"), &json!({"prompt": prompt}));
        seen.is(sent, 400, "bad-request");
    }

    let path = format!("/v1/sessions/{id}/deliveries");
    let sent =
        server.ask_with("POST", &path, Some(&json!({"prompt": "one", "key": "k"})), &[("Prefer", "wait=30")]);
    let sent = sent.headers["location"].clone();
    seen.is(server.post(&path, &json!({"prompt": "two", "key": "k"})), 422, "other-body");
    server.ask_with("GET", &sent, None, &[("Prefer", "wait=30")]).is(200);
    seen.is(server.ask("DELETE", &sent, None), 409, "too-late");
    seen.is(server.get(&format!("{path}/ffffffff")), 404, "no-delivery");
    seen.is(server.get("/v1/sessions/nobody"), 404, "no-session");
    seen.is(server.get("/v1/nothing"), 404, "no-route");
    seen.is(server.ask("PUT", "/v1/sessions", Some(&json!({}))), 405, "no-method");
    let big = seen.is(server.post(&path, &json!({"prompt": "x".repeat((8 << 20) + 1)})), 413, "too-large");
    assert_eq!(big["with"]["limit"], 8 << 20, "{big}");
    seen.is(server.post("/v1/gc", &json!({"x": "x".repeat(1 << 20)})), 413, "too-large");

    server.post(&format!("/v1/sessions/{id}/stop"), &json!({})).is(200);
    seen.is(server.post(&path, &json!({"prompt": "x"})), 409, "stopped");
    server.post(&format!("/v1/sessions/{id}/close"), &json!({})).is(200);
    seen.is(server.post(&path, &json!({"prompt": "x"})), 409, "closed");

    let auth = bearer(&server);
    seen.is(server.raw("GET", "/v1/sessions", None, &[]), 401, "unauthorized");
    seen.is(
        server.raw("GET", "/v1/sessions", None, &[("Authorization", &auth), ("Host", "evil.example")]),
        403,
        "foreign",
    );
    let form = [("Authorization", auth.as_str()), ("Content-Type", "text/plain")];
    seen.is(server.raw("POST", "/v1/gc", Some(b"{}"), &form), 415, "content-type");
    questions(&server, &mut seen, &new);

    let broken = new(json!({"spec": {"claude": office.desk.path("work").join("no-claude")}}));
    seen.is(broken, 400, "bad-request");
    let missing: BTreeSet<_> = words().into_iter().filter(|word| !seen.0.contains(word)).collect();
    assert_eq!(missing, ELSEWHERE.iter().map(|word| (*word).to_owned()).collect());
    for session in server.get("/v1/sessions?closed=false").json()["items"].as_array().unwrap() {
        server.post(&format!("/v1/sessions/{}/close", session["id"].as_str().unwrap()), &json!({})).is(200);
    }
    drop(server);
    office.close();
}

fn bearer(server: &Server) -> String {
    format!("Bearer {}", server.token)
}

/// What can be wrong with a decision.
fn questions(server: &Server, seen: &mut Seen, new: &dyn Fn(Value) -> Answer) {
    let session = new(json!({"prompt": "ask", "label": "asker"})).is(201).json();
    let id = session["session"]["id"].as_str().unwrap();
    let question = until("a question", || {
        let all = server.get(&format!("/v1/permissions?session={id}")).is(200).json();
        all["items"].get(0).cloned()
    });
    assert_eq!((&question["tool"], &question["input"]["command"]), (&"Bash".into(), &"make".into()));
    let request = question["request"].as_str().unwrap();
    let path = format!("/v1/permissions/{id}/1/{request}");
    for bad in [
        json!({"decision": "perhaps"}),
        json!({"decision": "allow", "message": "no"}),
        json!({"decision": "answer"}),
        json!({"decision": "answer", "answers": {"1": ["x"]}}),
        json!({"decision": "allow", "input": [1]}),
    ] {
        seen.is(server.post(&path, &bad), 400, "bad-request");
    }
    seen.is(
        server.post(&format!("/v1/permissions/{id}/2/{request}"), &json!({"decision": "allow"})),
        404,
        "no-question",
    );
    server.post(&path, &json!({"decision": "allow", "input": {"command": "make -n"}})).is(200);
    let lost = seen.is(server.post(&path, &json!({"decision": "deny"})), 409, "lost");
    assert_eq!(lost["with"]["winner"], json!({"decision": "allow", "by": "http"}));
    let end = server.get(&path).is(200).json();
    assert_eq!((&end["decision"], &end["by"]), (&"allow".into(), &"http".into()));

    let more = json!({"prompt": "ask"});
    let path = format!("/v1/sessions/{id}/deliveries");
    server.ask_with("POST", &path, Some(&more), &[("Prefer", "wait=30")]).is(201);
    let question = until("another question", || {
        let all = server.get(&format!("/v1/permissions?session={id}")).is(200).json();
        all["items"].get(0).cloned()
    });
    server.post(&format!("/v1/sessions/{id}/interrupt"), &json!({})).is(200);
    let path =
        format!("/v1/permissions/{id}/{}/{}", question["generation"], question["request"].as_str().unwrap());
    until("it to be withdrawn", || (server.get(&path).json()["state"] == "withdrawn").then_some(()));
    seen.is(server.post(&path, &json!({"decision": "allow"})), 409, "withdrawn");
    seen.is(server.ask("DELETE", "/v1/rules/0", None), 404, "no-rule");
}
