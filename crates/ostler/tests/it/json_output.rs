//! Every verb's `--json` is what docs/json.md says.

use super::desk::Desk;
use super::desk_sessions::Office;
use super::json_fields::Schema;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

#[test]
fn documents_and_events_of_sessions() {
    let schema = Schema::load();
    let script = "when go\n raw noise\n ask Bash {\"command\":\"make\"}\n gives built\n then\n say Done.\n\
                  otherwise\n say more\n";
    let office = Office::new(script);
    let run = |args: &[&str]| office.desk.run(args);

    let started = office.desk.run(&office.creating("start", &["--json", "--label", "one", "go"])).exits(0);
    schema.holds("start", &started.document());
    office.asks();
    let pending = run(&["pending", "--json"]).exits(0).document();
    schema.holds("pending", &pending);
    assert_eq!(pending["permissions"][0]["input"]["command"], "make");
    schema.holds("approve", &run(&["approve", "one", "--json"]).exits(0).document());
    schema.holds("wait", &run(&["wait", "one", "--json"]).exits(0).document());
    schema.holds("send", &run(&["send", "one", "more", "--json"]).exits(0).document());
    let events = run(&["send", "one", "--watch", "again", "--json"]).exits(0).events();
    assert_eq!(events.last().unwrap()["event"], "result");
    schema.holds_events(&events);

    schema.holds("ls", &run(&["ls", "--json"]).exits(0).document());
    let shown = run(&["show", "one", "--json"]).exits(0).document();
    schema.holds("show", &shown);
    for part in ["generations", "turns", "deliveries", "permissions", "spend"] {
        assert!(!shown[part].as_array().unwrap().is_empty(), "{part} was not checked");
    }
    let events = run(&["watch", "one", "--json"]).exits(0).events();
    let names = schema.holds_events(&events);
    for name in ["generation", "line", "garbled", "control"] {
        assert!(names.contains(&name.to_owned()), "{name} was not checked");
    }
    schema.holds("doctor rebuild", &run(&["doctor", "rebuild", "--json"]).exits(0).document());
    schema.holds("interrupt", &run(&["interrupt", "one", "--json"]).exits(0).document());
    schema.holds("stop", &run(&["stop", "one", "--json"]).exits(0).document());
    schema.holds("gc", &run(&["gc", "--dry-run", "--json"]).exits(0).document());
    schema.holds("resume", &run(&["resume", "one", "--json"]).exits(0).document());
    office.close();
}

#[test]
fn events_of_a_run_begin_with_the_session_and_end_with_the_result() {
    let schema = Schema::load();
    let office = Office::new("turn\n ask Bash {\"command\":\"make\"}\n then\n say Done.\n");
    let ran = office.run(&["--json", "go"]).exits(5);
    let events = ran.events();
    schema.holds_events(&events);
    assert_eq!(events[0]["event"], "session");
    let last = &events[events.len() - 1];
    assert_eq!((&last["event"], &last["result"]["exit"]), (&"result".into(), &5.into()));
    assert!(ran.err.starts_with("denied: "), "people still read it on standard error");
    office.close();
}

#[test]
fn documents_that_need_no_session() {
    let schema = Schema::load();
    let desk = Desk::new();
    schema.holds("ls", &desk.run(&["ls", "--json"]).exits(0).document());
    schema.holds("pending", &desk.run(&["pending", "--json"]).exits(0).document());
    let rule = |args: &[&str]| desk.run(&[&["rule"], args, &["--json"]].concat()).exits(0).document();
    let added = rule(&["add", "deny", "Bash(rm *)", "--everywhere", "--expires", "1h"]);
    schema.holds("rule ls", &added);
    schema.holds("rule ls", &rule(&["ls"]));
    let tried = rule(&["test", "Bash", "true && rm x"]);
    schema.holds("rule test", &tried);
    assert_eq!(tried["effect"], "deny");
    assert_eq!(rule(&["test", "Bash", "true"])["effect"], serde_json::Value::Null);
    schema.holds("rule ls", &rule(&["rm", added["rules"][0]["rule"].as_str().unwrap()]));
    assert_eq!(rule(&["ls"])["rules"], serde_json::json!([]));
    schema.holds("completions", &desk.run(&["completions", "bash", "--json"]).exits(0).document());
    schema.holds("man", &desk.run(&["man", "pages", "--json"]).exits(0).document());
    schema.holds("error", &desk.run(&["wait", "nobody", "--json"]).exits(7).document());
    schema.holds("error", &desk.run(&["--json", "nonsense"]).exits(2).document());
    let doctor = desk.run(&["doctor", "--json"]);
    schema.holds("doctor", &doctor.document());
}

#[test]
fn the_lab_says_where_it_listens() {
    let desk = Desk::new();
    let mut command = desk.command(&["lab", "--json"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut text = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    // The document ends where its brace is closed; the lab goes on.
    while !text.ends_with("\n}\n") {
        assert_ne!(out.read_line(&mut text).unwrap(), 0, "the lab ended: {text}");
    }
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    Schema::load().holds("lab", &document);
    assert!(document["environment"]["ANTHROPIC_BASE_URL"].as_str().unwrap().starts_with("http://127.0.0.1:"));
    child.kill().unwrap();
    child.wait().unwrap();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "", "one document and nothing else");
}
