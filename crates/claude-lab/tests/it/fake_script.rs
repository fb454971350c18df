//! Every word of a fake child's script does what the page says.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use claude_lab::fake::Flood;
use serde_json::{Value, json};

use super::fake_child::{Place, transcript, uuid};

const SESSION: &str = "5e551011-0000-4000-8000-000000000009";

fn lifecycle(line: &Value, number: u8, state: &str) -> bool {
    line["type"] == "command_lifecycle"
        && line["command_uuid"] == uuid(number).as_str()
        && line["state"] == state
}

#[test]
fn bytes_come_out_as_they_are_written() {
    let place = Place::new();
    let script = "start\n bytes a\\x00\\xff\\u{85}\n raw {\"a\":\"\\\\ud99c\"}\n bytes partial\n exit 5";
    let (bytes, status, _) = place.start(script, &[]).rest();
    assert_eq!(bytes, b"a\0\xff\xc2\x85{\"a\":\"\\ud99c\"}\npartial");
    assert_eq!(status.code(), Some(5));
}

#[test]
fn a_flood_and_a_huge_line_are_the_known_bytes() {
    let place = Place::new();
    let (bytes, _, _) = place.start("start\n flood 2m seed 3\n huge 300k seed 4\n exit 0", &[]).rest();
    let mut known: Vec<u8> = Flood::new(2 << 20, 3).flatten().collect();
    known.extend(Flood::line(300 << 10, 4));
    assert!(bytes == known, "{} and {} bytes", bytes.len(), known.len());
}

#[test]
fn stderr_takes_what_it_is_given() {
    let place = Place::new();
    let (_, status, stderr) = place.start("start\n stderr oh no\n stderr-flood 200k\n exit 1", &[]).rest();
    assert!(stderr.starts_with("oh no\n!!!"));
    assert_eq!(stderr.len(), "oh no\n".len() + (200 << 10));
    assert_eq!(status.code(), Some(1));
}

#[test]
fn every_line_that_was_read_is_logged_with_its_number() {
    let place = Place::new();
    let mut child = place.start("", &[]);
    child.write(b"\n{\"type\":\"keep_alive\"}\n");
    child.say(1, "hello");
    child.idle();
    assert_eq!(child.end(), Some(0));
    let log = place.wait_for_file("log");
    let rows: Vec<&str> = log.lines().collect();
    assert_eq!(rows[..2], ["1\t", "2\t{\"type\":\"keep_alive\"}"]);
    assert!(rows[2].starts_with("3\t{") && rows[2].contains("hello"));
    assert!(rows[3].starts_with("4\t{") && rows[3].contains("end_session"));
}

#[test]
fn a_turn_is_chosen_by_its_prompt_then_by_order() {
    let place = Place::new();
    let script = "turn\n say first\nwhen special\n say chosen\nturn\n say second\notherwise\n say any $text";
    let mut child = place.start(script, &[]);
    for (number, prompt, answer) in [
        (1, "a", "first"),
        (2, "so special", "chosen"),
        (3, "b", "second"),
        (4, "c", "any c"),
        (5, "d", "any d"),
    ] {
        child.say(number, prompt);
        assert_eq!(child.result()["result"], answer);
    }
    assert_eq!(child.end(), Some(0));
}

#[test]
fn what_is_ignored_is_ignored() {
    let place = Place::new();
    let script = "ignore end_session interrupt initialize eof sigterm\nstart\n mark up";
    let mut child = place.start(script, &[]);
    // From here on it has its signal handlers.
    place.wait_for_file("up");
    child.control("a", json!({"subtype": "end_session"}));
    child.control("b", json!({"subtype": "interrupt"}));
    child.control("c", json!({"subtype": "initialize"}));
    child.signal("TERM");
    child.say(1, "still there?");
    let first: Value = serde_json::from_slice(&child.line()).expect("JSON");
    assert_eq!(first["state"], "running", "no answer came before: {first}");
    child.idle();
    child.close();
    // The end of stdin is ignored; a signal that is not ignored shows that it had stayed.
    child.signal("INT");
    assert_eq!(child.rest().1.code(), Some(0));
}

#[test]
fn a_child_that_never_leaves_answers_and_stays() {
    let place = Place::new();
    let mut child = place.start("ignore leave", &["--session-id", SESSION]);
    child.say(1, "hello");
    child.idle();
    child.control("end", json!({"subtype": "end_session"}));
    child.until(|line| line["type"] == "control_response");
    child.signal("TERM");
    assert_eq!(child.rest().1.code(), Some(143));
    assert!(transcript(&place.path(""), SESSION).iter().any(|row| row["type"] == "cost-state"));
}

#[test]
fn it_ends_where_the_script_says() {
    let place = Place::new();
    let mut child = place.start("turn\n say one\n exit 7", &[]);
    child.say(1, "x");
    assert_eq!(child.rest().1.code(), Some(7));
    let mut child = place.start("turn\n say one\n kill KILL", &[]);
    child.say(1, "x");
    let (bytes, status, _) = child.rest();
    assert!(status.code().is_none() && !String::from_utf8_lossy(&bytes).contains("\"result\""));
    let child = place.start("leave\n raw last words\n exit 3", &[]);
    assert_eq!(child.end(), Some(3));
}

#[test]
fn receipts_can_be_late_missing_or_double() {
    let place = Place::new();
    let script = "turn\n receipts late g\nturn\n receipts never\n say a\nturn\n receipts twice\n say b";
    let mut child = place.start(script, &[]);
    child.say(1, "late");
    child.result();
    child.control("seen", json!({"subtype": "nothing"}));
    let next: Value = serde_json::from_slice(&child.line()).expect("JSON");
    assert_eq!(next["type"], "control_response", "no receipt came: {next}");
    place.open("g");
    child.until(|line| lifecycle(line, 1, "completed"));
    child.idle();
    child.say(2, "never");
    child.result();
    let next: Value = serde_json::from_slice(&child.line()).expect("JSON");
    assert_eq!(next["state"], "idle", "no receipt came: {next}");
    child.say(3, "twice");
    let (first, second) = (child.result(), child.result());
    assert_eq!(first, second);
    assert_eq!(child.end(), Some(0));
}

#[test]
fn a_turn_can_end_without_a_result_or_with_any() {
    let place = Place::new();
    let script = "turn\n say a\n no-result\nturn\n result max_turns\nturn\n result success with {\"is_error\":true,\"result\":null}\nturn\n result api 500 broken";
    let mut child = place.start(script, &[]);
    child.say(1, "x");
    child.until(|line| lifecycle(line, 1, "completed"));
    child.idle();
    child.say(2, "x");
    assert_eq!(child.result()["subtype"], "error_max_turns");
    child.say(3, "x");
    let result = child.result();
    assert!(result["is_error"] == true && result["result"].is_null() && result["subtype"] == "success");
    child.say(4, "x");
    let result = child.result();
    assert_eq!(
        (&result["result"], &result["terminal_reason"]),
        (&json!("API Error: 500 broken"), &json!("api_error"))
    );
    assert_eq!(child.end(), Some(1));
}

#[test]
fn silence_lasts_until_an_interrupt() {
    let place = Place::new();
    let mut child = place.start("turn\n tool Bash\n silence\n say never", &[]);
    child.say(1, "x");
    child.until(|line| line["type"] == "user");
    child.control("stop", json!({"subtype": "interrupt"}));
    assert_eq!(child.result()["terminal_reason"], "aborted_streaming");
    child.say(2, "y");
    assert_eq!(child.result()["result"], "You said: y");
    assert_eq!(child.end(), Some(0));
}

#[test]
fn a_deaf_child_fills_its_pipe() {
    let place = Place::new();
    let mut child = place.start("turn\n mark here\n deaf until hear\n say done", &[]);
    child.say(1, "x");
    place.wait_for_file("here");
    let written = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&written);
    let long = format!("{}\n", json!({"type": "keep_alive", "pad": "x".repeat(1 << 20)}));
    let writer = std::thread::spawn(move || {
        child.write(long.as_bytes());
        flag.store(true, Ordering::SeqCst);
        child
    });
    // The pipe and one read hold less than the line.
    assert!(!written.load(Ordering::SeqCst));
    place.open("hear");
    let child = writer.join().expect("the writer ends");
    assert_eq!(child.result()["result"], "done");
    assert_eq!(child.end(), Some(0));
}

#[test]
fn a_question_can_be_withdrawn_or_be_of_another_kind() {
    let place = Place::new();
    let script = "turn\n ask Bash {\"command\":\"x\"}\n  withdrawn g\n say gone\nturn\n ask Hook\n  request {\"subtype\":\"hook_callback\",\"callback_id\":\"h\"}\n say hooked";
    let mut child = place.start(script, &["--permission-prompt-tool", "stdio"]);
    child.say(1, "x");
    let asked = child.until(|line| line["type"] == "control_request");
    place.open("g");
    let withdrawn = child.until(|line| line["type"] == "control_cancel_request");
    assert_eq!(withdrawn["request_id"], asked["request_id"]);
    assert_eq!(child.result()["result"], "gone");
    child.say(2, "x");
    let asked = child.until(|line| line["type"] == "control_request");
    assert_eq!(asked["request"], json!({"subtype": "hook_callback", "callback_id": "h"}));
    child.control("again", json!({"subtype": "initialize"}));
    let listed = child.until(|line| line["type"] == "control_response");
    assert_eq!(listed["response"]["pending_permission_requests"], json!([]), "hooks are not listed again");
    child.send(&json!({"type": "control_response", "response":
        {"subtype": "success", "request_id": asked["request_id"], "response": {"behavior": "allow", "updatedInput": {}}}}));
    assert_eq!(child.result()["result"], "hooked");
    assert_eq!(child.end(), Some(0));
}

#[test]
fn a_background_task_wakes_a_turn_when_the_script_says() {
    let place = Place::new();
    let script = "turn\n shell build make\n  until built\n  lag until wake\n say started\nwake build\n say it is built";
    let mut child = place.start(script, &[]);
    child.say(1, "x");
    child.idle();
    place.open("built");
    child.until(|line| line["tasks"] == json!([]));
    child.control("seen", json!({"subtype": "nothing"}));
    let next: Value = serde_json::from_slice(&child.line()).expect("JSON");
    assert_eq!(next["type"], "control_response", "the turn has not begun: {next}");
    place.open("wake");
    child.until(|line| line["subtype"] == "init");
    assert_eq!(child.result()["result"], "it is built");
    assert_eq!(child.end(), Some(0));
}

#[test]
fn totals_go_on_after_a_clean_exit_where_the_version_restores_them() {
    for (version, restored) in [("2.1.332", 1.5), ("2.1.200", 0.5)] {
        let place = Place::new();
        let script = format!("version {version}\nturn\n cost 1\n say a\nwhen again\n cost 0.5\n say b");
        let mut child = place.start(&script, &["--session-id", SESSION]);
        child.say(1, "x");
        assert_eq!(child.result()["total_cost_usd"], 1.0);
        assert_eq!(child.end(), Some(0));
        for (number, args) in [(2, &["--resume", SESSION][..]), (3, &["--resume", SESSION, "--fork-session"])]
        {
            let mut child = place.start(&script, args);
            child.say(number, "again");
            assert_eq!(child.result()["total_cost_usd"], restored, "{version} {args:?}");
            child.signal("TERM");
            assert_eq!(child.rest().1.code(), Some(143));
        }
    }
}

#[test]
fn the_transcript_knows_which_prompts_were_answered() {
    let place = Place::new();
    let mut child = place.start("turn\n mark here\n silence", &["--session-id", SESSION]);
    child.say(1, "cut before an answer");
    place.wait_for_file("here");
    child.control("seen", json!({"subtype": "nothing"}));
    child.until(|line| line["type"] == "control_response");
    child.signal("KILL");
    assert!(child.rest().1.code().is_none());
    let rows = transcript(&place.path(""), SESSION);
    assert_eq!(rows[0]["uuid"], uuid(1).as_str());

    let mut child = place.start("turn\n tool Bash\n  until never", &["--resume", SESSION]);
    child.say(1, "cut before an answer");
    child.until(|line| line["type"] == "assistant");
    child.signal("KILL");
    drop(child.rest());

    let mut child = place.start("", &["--resume", SESSION]);
    child.say(1, "cut before an answer");
    let line: Value = serde_json::from_slice(&child.line()).expect("JSON");
    assert!(lifecycle(&line, 1, "completed"), "answered in part, so it does not run: {line}");
    assert_eq!(child.end(), Some(0));
}

#[test]
fn the_surroundings_can_be_refused_and_init_be_changed() {
    let place = Place::new();
    let mut command = place.command("forbid-env CLAUDECODE", &[]);
    let child = super::fake_child::Fake::of(command.env("CLAUDECODE", "1").spawn().expect("it starts"));
    let (_, status, stderr) = child.rest();
    assert!(status.code() == Some(1) && stderr.contains("CLAUDECODE"), "{stderr}");

    let mut child = place.start("init {\"apiKeySource\":\"other\",\"session_id\":\"odd\"}", &[]);
    child.say(1, "x");
    let init = child.until(|line| line["subtype"] == "init");
    assert_eq!((&init["apiKeySource"], &init["session_id"]), (&json!("other"), &json!("odd")));
    child.idle();
    assert_eq!(child.end(), Some(0));
}

#[test]
fn what_it_spawns_has_the_ties_that_were_asked_for() {
    let ids = |pid: &str| {
        let output = Command::new("ps").args(["-o", "sid=,pgid=", "-p", pid]).output().expect("ps runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let place = Place::new();
    let mut script = "start\n".to_owned();
    for how in ["group", "own-group", "session", "orphan"] {
        let file = place.path(how);
        script += &format!(" spawn {how} echo $$ > {0}.new; mv {0}.new {0}; exec sleep 30\n", file.display());
    }
    let mut child = place.start(&script, &[]);
    child.say(1, "x");
    child.idle();
    let log = place.wait_for_file("log");
    assert!(log.starts_with("1\t"));
    let own = ids(&std::process::id().to_string());
    let mut pids = Vec::new();
    for (how, same_session, leads) in
        [("group", true, false), ("own-group", true, true), ("session", false, true), ("orphan", false, true)]
    {
        let pid = place.wait_for_file(how).trim().to_owned();
        let found = ids(&pid);
        // The child itself was started in this test's session and group.
        assert_eq!(found[0] == own[0], same_session, "{how}: {found:?}");
        assert_eq!(found[1] != own[1], leads, "{how}: {found:?}");
        pids.push(pid);
    }
    let status = Command::new("/bin/sh").arg("-c").arg(format!("kill {}", pids.join(" "))).status();
    assert!(status.expect("kill runs").success());
    assert_eq!(child.end(), Some(0));
}

#[test]
fn a_wrong_script_is_refused_with_its_line() {
    let place = Place::new();
    for (script, says) in [
        ("turn\n dance", "line 2: `dance`"),
        ("say early", "line 1: a step stands under"),
        ("habit nonsense on", "no habit `nonsense`"),
        ("ignore everything", "can't be ignored"),
        ("turn\n tool Bash {oops", "no JSON object"),
        ("turn\n until ../x", "is no name"),
    ] {
        let (_, status, stderr) = place.start(script, &[]).rest();
        assert!(status.code() == Some(1) && stderr.contains(says), "{script}: {stderr}");
    }
}
