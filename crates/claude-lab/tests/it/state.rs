//! What a lab keeps for the next one, and how it is found.

use std::time::Duration;

use claude_lab::blocking::LabThread;
use claude_lab::{Clock, LabConfig, LabError, ManualClock, Script, ScriptRef};
use serde_json::json;

use super::http::{post, prompt};

fn config(dir: &std::path::Path, clock: &ManualClock) -> LabConfig {
    LabConfig {
        state_dir: Some(dir.to_owned()),
        clock: Clock::Manual(clock.clone()),
        scripts: vec![Script::parse("otherwise\n say default\n").expect("a script")],
        ..LabConfig::default()
    }
}

fn cached() -> serde_json::Value {
    let mut body = prompt("x");
    body["messages"] = json!([{"role": "user", "content":
        [{"type": "text", "text": "one", "cache_control": {"type": "ephemeral"}}]}]);
    body
}

fn reads(lab: &LabThread) -> u64 {
    post(&lab.base_url(), &cached());
    lab.bill().per_request.last().expect("a charge").tokens.cache_read
}

#[test]
fn the_cache_outlives_the_lab_and_not_its_time() {
    let dir = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(1_000_000);
    let lab = LabThread::start(config(dir.path(), &clock)).unwrap();
    assert_eq!(reads(&lab), 0);
    drop(lab);
    clock.advance(Duration::from_secs(299));
    let lab = LabThread::start(config(dir.path(), &clock)).unwrap();
    assert!(reads(&lab) > 0);
    drop(lab);
    clock.advance(Duration::from_secs(301));
    let lab = LabThread::start(config(dir.path(), &clock)).unwrap();
    assert_eq!(reads(&lab), 0);
}

#[test]
fn a_path_chooses_the_script_and_the_folder_keeps_it() {
    let dir = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(0);
    let lab = LabThread::start(config(dir.path(), &clock)).unwrap();
    let other = lab.add_script(Script::parse("otherwise\n say other\n").unwrap()).unwrap();
    assert_eq!(post(&lab.url_for(&other), &prompt("x")).text(), "other");
    assert_eq!(post(&lab.base_url(), &prompt("x")).text(), "default");
    assert_eq!(lab.requests()[0].script.as_ref(), Some(&other));
    assert_eq!(lab.requests()[0].path, "/v1/messages?beta=true");
    // Kept by another process while the lab runs.
    let third =
        claude_lab::keep_script(dir.path(), &Script::parse("otherwise\n say third\n").unwrap()).unwrap();
    assert_eq!(post(&lab.url_for(&third), &prompt("x")).text(), "third");
    let unknown = ScriptRef::parse("00000000000000000000000000000000").unwrap();
    assert_eq!(post(&lab.url_for(&unknown), &prompt("x")).status, 404);
    drop(lab);
    let next = LabThread::start(config(dir.path(), &clock)).unwrap();
    assert_eq!(post(&next.url_for(&other), &prompt("x")).text(), "other");
}

/// A script's file is only taken for what its name says.
#[test]
fn a_changed_script_file_is_not_served() {
    let dir = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(0);
    let script = Script::parse("otherwise\n say x\n").unwrap();
    let name = claude_lab::keep_script(dir.path(), &script).unwrap();
    std::fs::write(dir.path().join("scripts").join(name.as_str()), "otherwise\n say y\n").unwrap();
    let lab = LabThread::start(config(dir.path(), &clock)).unwrap();
    assert_eq!(post(&lab.url_for(&name), &prompt("x")).status, 404);
}

#[test]
fn one_lab_a_folder_and_others_find_it() {
    let dir = tempfile::tempdir().unwrap();
    let clock = ManualClock::at(0);
    assert_eq!(claude_lab::running(dir.path()).unwrap(), None);
    let lab = LabThread::start(config(dir.path(), &clock)).unwrap();
    let found = claude_lab::running(dir.path()).unwrap().expect("it runs");
    assert_eq!((found.base_url, found.pid), (lab.base_url(), std::process::id()));
    assert!(matches!(LabThread::start(config(dir.path(), &clock)), Err(LabError::StateInUse { .. })));
    drop(lab);
    assert_eq!(claude_lab::running(dir.path()).unwrap(), None);
}

#[test]
fn requests_are_logged_as_lines() {
    let dir = tempfile::tempdir().unwrap();
    let lab = LabThread::start(config(dir.path(), &ManualClock::at(77))).unwrap();
    post(&lab.base_url(), &prompt("hello"));
    let text = std::fs::read_to_string(dir.path().join("requests.ndjson")).unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["text"], &lines[0]["at_ms"]), (&json!("hello"), &json!(77)));
    assert_eq!((&lines[1]["answer"], &lines[1]["status"]), (&json!(1), &json!(200)));
}
