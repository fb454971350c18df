//! The bridge with the real `claude`, behind a lab of the test's own: what a client reads is what the model said, and a
//! tool runs when somebody has allowed it.

use super::bridge::http::text_of;
use super::bridge::shop::Shop;
use super::real_stage::{MODEL, claude, on_both_versions};
use claude_lab::blocking::LabThread;
use claude_lab::{LabConfig, Script};
use serde_json::{Value, json};
use std::fs;

const SCRIPT: &str = "when \"make it\"\n  say Let me make it.\n  tool Bash {\"command\": \"touch made\", \"description\": \"Makes it\"}\n\
                      then\n  say It is made.\n\
                      when \"wait\"\n  say One\n  pause until never\n\
                      otherwise\n  say You said: $text\n";

/// A lab, and a bridge whose tasks are real.
fn open(version: &str) -> (LabThread, Shop) {
    let scripts = vec![Script::parse(SCRIPT).unwrap()];
    let lab = LabThread::start(LabConfig { scripts, ..LabConfig::default() }).unwrap();
    let mut shop = Shop::closed("", &[], &[("ANTHROPIC_API_KEY", "lab")]);
    let path = |name: &str| shop.office.desk.path(name).display().to_string();
    fs::create_dir(path("user/config")).unwrap();
    let env: Vec<String> = [
        ("ANTHROPIC_BASE_URL", lab.base_url()),
        ("CLAUDE_CONFIG_DIR", path("user/config")),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
        ("DISABLE_TELEMETRY", "1".to_owned()),
        ("DISABLE_ERROR_REPORTING", "1".to_owned()),
        ("TMPDIR", path("tmp")),
        ("TEST_DESK", path("")),
    ]
    .map(|(name, value)| format!("{name}={value}"))
    .to_vec();
    let claude = claude(version).display().to_string();
    shop.starts(&json!({"claude": claude, "model": MODEL, "env": env}));
    shop.opens();
    (lab, shop)
}

on_both_versions! {
    create_stream_permit_and_go_on
    a_cancel_keeps_what_was_said
}

fn create_stream_permit_and_go_on(version: &str) {
    let (_lab, shop) = open(version);
    let id = shop.says("make it");
    let mut records = shop.streams(&id);
    let mut all = Vec::new();
    let asked = loop {
        let record = records.next().expect("it asks before it ends");
        if record["type"] == "permission_request" {
            break record;
        }
        all.push(record);
    };
    assert_eq!((&asked["tool_name"], &asked["input"]["command"]), (&json!("Bash"), &json!("touch made")));
    let made = shop.office.desk.path("work/made");
    assert!(!made.exists(), "nobody has allowed it");
    let answer =
        shop.decides(&json!({"task_id": id, "behavior": "allow", "request_id": asked["request_id"]}));
    assert_eq!(answer["status"], "responded");
    all.extend(records.all());
    assert!(made.exists());
    let text = text_of(&all);
    assert_eq!(text.matches("Let me make it.").count(), 1, "no chunk twice: {text}");
    assert_eq!(text.matches("It is made.").count(), 1, "no chunk twice: {text}");
    assert!(text.contains("<tool_use name=\"Bash\"") && text.contains("<tool_result id="), "{text}");
    assert_eq!(all.last().unwrap()["exitCode"], 0, "{all:?}");
    let task = shop.over(&id);
    assert_eq!((&task["status"], &task["result"]), (&json!("done"), &json!("It is made.")));
    assert!(task["usage"]["total_cost_usd"].as_f64().unwrap() > 0.0, "{task}");
    assert!(task["usage"]["output_tokens"].as_u64().unwrap() > 0, "{task}");
    let id = shop.creates(&json!({"prompt": "hello", "sessionId": task["session_id"]}));
    let second = shop.over(&id);
    assert_eq!((&second["result"], &second["session_id"]), (&json!("You said: hello"), &task["session_id"]));
    shop.close();
}

fn a_cancel_keeps_what_was_said(version: &str) {
    let (_lab, shop) = open(version);
    let id = shop.says("wait");
    let mut records = shop.streams(&id);
    assert_eq!(records.of_type("chunk")["text"], "One");
    shop.cancels(&id);
    assert_eq!(records.all().last().unwrap()["reason"], "cancelled");
    let task = shop.over(&id);
    assert_eq!((&task["result"], &task["partial_result"]), (&json!("cancelled"), &json!("One")), "{task}");
    assert_eq!((&task["exitCode"], &task["usage"]), (&json!(1), &Value::Null));
    shop.close();
}
