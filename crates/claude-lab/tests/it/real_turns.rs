//! The real `claude` takes the lab for the API: its turns end, and what it counts is what the lab charges.

use std::collections::BTreeMap;
use std::time::Duration;

use claude_lab::price::bill::Lane;
use serde_json::{Value, json};

use super::answers::lab;
use super::child::{Surroundings, VERSIONS, model_tokens};

const MODEL: &str = "claude-haiku-4-5";
const SESSION: &str = "0f8fad5b-d9cb-469f-a165-70867728950e";

fn dollars(result: &Value) -> f64 {
    result["total_cost_usd"].as_f64().expect("dollars")
}

/// The result's totals are the bill's, from the `skip`th charge on.
fn assert_paid(result: &Value, lab: &claude_lab::blocking::LabThread, skip: usize) {
    let charges = lab.bill().per_request.split_off(skip);
    assert!(charges.iter().all(|charge| charge.complete && charge.session_id == SESSION), "{charges:?}");
    let total = claude_lab::Bill::of(charges).per_model[&(SESSION.to_owned(), MODEL.to_owned())];
    assert_eq!(model_tokens(result, MODEL), total.tokens);
    assert!((dollars(result) - total.usd).abs() < 1e-9, "{} and {}", dollars(result), total.usd);
}

#[test]
fn plain_text_and_the_next_turn_reads_the_cache() {
    for version in VERSIONS {
        let lab = lab("otherwise\n say Hello, you said $text\n");
        let home = Surroundings::new();
        let mut child = home.start(version, &lab.base_url(), &["--model", MODEL, "--session-id", SESSION]);
        assert_eq!(child.turn("one")["result"], "Hello, you said one", "{version}");
        let result = child.turn("two");
        assert_paid(&result, &lab, 0);
        let charges = lab.bill().per_request;
        assert_eq!(charges[1].tokens.cache_read, charges[0].tokens.cache_write_5m, "{version}");
        child.end();
    }
}

#[test]
fn parallel_tools_and_what_follows_them() {
    for version in VERSIONS {
        let lab = lab(
            "when \"go\"\n say Two at once.\n tool Bash {\"command\": \"echo a\", \"description\": \"a\"}\n tool Bash {\"command\": \"echo b\", \"description\": \"b\"}\nthen\n say The last one said $result.\n",
        );
        let home = Surroundings::new();
        let args = ["--model", MODEL, "--session-id", SESSION, "--allowedTools", "Bash"];
        let mut child = home.start(version, &lab.base_url(), &args);
        let result = child.turn("go");
        assert_eq!(result["result"], "The last one said b.", "{version}");
        assert_eq!(child.blocks("tool_use").len(), 2);
        assert_paid(&result, &lab, 0);
        let rounds: Vec<usize> = lab.requests().iter().filter(|r| r.turn > 0).map(|r| r.round).collect();
        assert_eq!(rounds, [0, 1], "{version}");
        child.end();
    }
}

#[test]
fn thinking_is_kept_and_sent_back() {
    for version in VERSIONS {
        let lab = lab("when \"go\"\n think Let me see.\n say Done thinking.\notherwise\n say x\n");
        let home = Surroundings::new();
        let mut child = home.start(version, &lab.base_url(), &["--model", MODEL, "--session-id", SESSION]);
        child.turn("go");
        assert_eq!(child.blocks("thinking")[0]["thinking"], "Let me see.", "{version}");
        let result = child.turn("more");
        assert_paid(&result, &lab, 0);
        let sent = lab.requests().last().unwrap().json()["messages"].to_string();
        assert!(sent.contains("Let me see."), "{version}");
        child.end();
    }
}

#[test]
fn a_resume_reads_the_cache() {
    for version in VERSIONS {
        let lab = lab("otherwise\n say You said $text\n");
        let home = Surroundings::new();
        let mut first = home.start(version, &lab.base_url(), &["--model", MODEL, "--session-id", SESSION]);
        first.turn("one");
        first.end();
        let before = lab.bill().per_request.len();
        let mut second = home.start(version, &lab.base_url(), &["--model", MODEL, "--resume", SESSION]);
        let result = second.turn("two");
        let charges = lab.bill().per_request;
        let whole = charges[0].tokens.whole_input();
        assert!(charges[before].tokens.cache_read >= whole, "{version}: {charges:?}");
        // The older one counts from 0 after a resume, the newer one goes on from what it kept.
        assert_paid(&result, &lab, if version == "2.1.200" { before } else { 0 });
        second.end();
    }
}

/// The script answers a subagent by its prompt, and its requests are in a lane of their own.
#[test]
fn a_subagent_is_answered_by_its_prompt() {
    for version in VERSIONS {
        let lab = lab(
            "when sub and \"banana\"\n say The fruit is yellow.\nwhen \"go\"\n tool Agent {\"description\": \"ask\", \"prompt\": \"what about the banana\", \"subagent_type\": \"general-purpose\", \"run_in_background\": false}\nthen\n say The agent answered.\n",
        );
        let home = Surroundings::new();
        let args = ["--model", MODEL, "--session-id", SESSION, "--allowedTools", "Agent"];
        let mut child = home.start(version, &lab.base_url(), &args);
        let result = child.turn("go");
        assert_eq!(result["result"], "The agent answered.", "{version}");
        assert_paid(&result, &lab, 0);
        let mut lanes: BTreeMap<Lane, usize> = BTreeMap::new();
        for charge in lab.bill().per_request {
            *lanes.entry(charge.lane).or_default() += 1;
        }
        assert_eq!(lanes, BTreeMap::from([(Lane::Main, 2), (Lane::Sub, 1)]), "{version}");
        let after = lab.requests().into_iter().rfind(|request| request.lane == Lane::Main).unwrap().json();
        assert!(after["messages"].to_string().contains("The fruit is yellow."), "{version}");
        child.end();
    }
}

/// A background shell's end wakes a turn; its notice is no prompt.
#[test]
fn a_notice_wakes_a_turn_that_is_no_prompt() {
    for version in VERSIONS {
        let lab = lab(
            "when notice\n say I saw it end.\nwhen turn 1\n tool Bash {\"command\": \"true\", \"description\": \"d\", \"run_in_background\": true}\nthen\n say Started.\nwhen turn 2\n say Second.\n",
        );
        let home = Surroundings::new();
        let args = ["--model", MODEL, "--session-id", SESSION, "--allowedTools", "Bash"];
        let mut child = home.start(version, &lab.base_url(), &args);
        child.say("go");
        child.until(|line| line["type"] == "result" && line["result"] == "I saw it end.");
        let result = child.turn("and now");
        assert_eq!(result["result"], "Second.", "{version}");
        assert_paid(&result, &lab, 0);
        child.end();
    }
}

#[test]
fn compaction_spends_no_turn() {
    for version in VERSIONS {
        let lab = lab("when turn 1\n say One.\notherwise\n say More.\n");
        let home = Surroundings::new();
        let mut child = home.start(version, &lab.base_url(), &["--model", MODEL, "--session-id", SESSION]);
        for prompt in ["one", "two", "three"] {
            child.turn(prompt);
        }
        let result = child.turn("/compact");
        assert_paid(&result, &lab, 0);
        assert!(child.seen().iter().any(|line| line["subtype"] == "compact_boundary"), "{version}");
        let side: Vec<u16> =
            lab.requests().iter().filter(|r| r.lane == Lane::Side && r.turn > 0).map(|r| r.status).collect();
        assert_eq!(side, [200], "{version}: one summary is enough");
        child.end();
    }
}

#[test]
fn a_limit_in_the_headers_is_announced_and_retries_follow_the_script() {
    for version in VERSIONS {
        let lab = lab("otherwise\n status 429 retry-after 0\nretry\n status 529\nretry\n say At last.\n");
        let home = Surroundings::new();
        let mut child = home.start(version, &lab.base_url(), &["--model", MODEL, "--session-id", SESSION]);
        let result = child.turn("go");
        assert_eq!(result["result"], "At last.", "{version}");
        let retries: Vec<&Value> =
            child.seen().iter().filter(|l| l["subtype"] == "api_retry").map(|l| &l["error_status"]).collect();
        assert_eq!(retries, [&json!(429), &json!(529)], "{version}");
        assert_paid(&result, &lab, 0);
        child.end();
    }
}

/// The child waits for as long as the lab holds back the first byte.
#[test]
fn a_held_answer_holds_the_child() {
    let lab = lab("otherwise\n hold until go\n say Now.\n");
    let home = Surroundings::new();
    let mut child = home.start(VERSIONS[0], &lab.base_url(), &["--model", MODEL, "--session-id", SESSION]);
    child.say("x");
    lab.wait_for_request(|request| request.text == "x", Duration::from_secs(60)).expect("it asked");
    assert!(!child.seen().iter().any(|line| line["type"] == "result"));
    lab.release("go");
    assert_eq!(child.until(|line| line["type"] == "result")["result"], "Now.");
    child.end();
}
