//! What the contract's page says, request by request: `tests/bridge/contract.json` against a server.

use super::super::desk::repository;
use super::http::Request;
use super::shop::{Shop, basic};
use serde_json::Value;
use std::fs;

const SCRIPT: &str = "when ask\n say Let me see.\n ask Bash {\"command\":\"make\"}\n then\n say Done.\notherwise\n say You said $text\n";

/// Replaces what differs from run to run by names.
fn plain(text: &str, id: &str, key: &str) -> String {
    text.replace(id, "$TASK").replace(key, "$KEY")
}

#[test]
fn recorded_requests_are_answered_as_recorded() {
    let shop = Shop::new(SCRIPT);
    let id = shop.says("hello");
    shop.over(&id);
    let text = fs::read_to_string(repository().join("crates/ostler/tests/bridge/contract.json")).unwrap();
    let records: Vec<Value> = serde_json::from_str(&text).unwrap();
    assert!(records.len() > 30, "the recording has lost its records");
    let mut created = Vec::new();
    for record in records {
        let of = |name: &str| record["request"][name].as_str().map(|t| t.replace("$TASK", &id));
        let mut request =
            Request::new(&of("method").unwrap(), &of("target").unwrap(), &of("body").unwrap_or_default());
        request = match of("authorization").unwrap_or("x:$KEY".to_owned()) {
            none if none == "none" => request,
            // A scheme of its own.
            text if text.contains(' ') => {
                let (scheme, plain) = text.split_once(' ').unwrap();
                let coded = basic(&plain.replace("$KEY", &shop.key()));
                request.header("Authorization", &coded.replace("Basic", scheme))
            }
            plain => request.header("Authorization", &basic(&plain.replace("$KEY", &shop.key()))),
        };
        if let Some(kind) = of("content_type") {
            request = request.header("Content-Type", &kind);
        }
        let answer = request.answer(shop.address);
        let found = serde_json::json!({
            "status": answer.status,
            "content_type": answer.header("content-type"),
            "body": plain(&answer.body, &id, &shop.key()),
        });
        let mut expected = record["answer"].clone();
        if let Some(start) = expected["body_begins"].as_str() {
            assert!(answer.body.starts_with(start), "{record:#}\n{answer:?}");
            expected["body"] = found["body"].clone();
            expected.as_object_mut().unwrap().remove("body_begins");
        }
        assert_eq!(found, expected, "{record:#}");
        let begun = serde_json::from_str::<Value>(&answer.body).unwrap_or_default();
        created.extend((begun["status"] == "created").then(|| begun["task_id"].as_str().unwrap().to_owned()));
        for name in ["www-authenticate", "access-control-allow-origin"] {
            assert_eq!(answer.header(name), None, "{record:#}");
        }
    }
    // Every create of the recording is a task.
    assert_eq!(created.len(), 5);
    created.iter().for_each(|id| drop(shop.over(id)));
    shop.close();
}

#[test]
fn a_task_that_waits_is_pending_and_queued() {
    let shop = Shop::with("otherwise\n mark begun\n say done {until go}\n", &["--max-concurrent=1"], &[]);
    let first = shop.says("one");
    shop.office.reaches("begun");
    let second = shop.says("two");
    assert_eq!(
        shop.asks("GET", &format!("/v1/task/output?task_id={second}"), "").body,
        format!(
            r#"{{"retrieval_status":"pending","task":{{"id":"{second}","status":"queued","result":"","exitCode":null,"usage":null,"session_id":null}}}}"#
        )
    );
    let status = shop.asks("GET", &format!("/v1/task?task_id={second}"), "").json();
    assert_eq!((&status["status"], &status["usage"]), (&"queued".into(), &Value::Null));
    assert!(status["created"].as_i64().unwrap() > 1_700_000_000_000, "{status}");
    shop.office.open("go");
    let (one, two) = (shop.over(&first), shop.over(&second));
    assert_eq!((&one["status"], &two["status"]), (&"done".into(), &"done".into()));
    assert_eq!(shop.told(), ["one", "two"]);
    shop.close();
}

#[test]
fn done_says_what_it_cost_in_five_keys() {
    let shop = Shop::new(
        "otherwise\n usage input=10 output=7 cache_read=5 cache_write_5m=60 cache_write_1h=40\n say The answer.\n",
    );
    let id = shop.says("hello");
    let task = shop.over(&id);
    assert_eq!(
        (&task["status"], &task["exitCode"], &task["result"]),
        (&"done".into(), &0.into(), &"The answer.".into())
    );
    let usage = task["usage"].as_object().unwrap();
    let keys: Vec<&str> = usage.keys().map(String::as_str).collect();
    let expected = [
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
        "input_tokens",
        "output_tokens",
        "total_cost_usd",
    ];
    assert_eq!(keys, expected);
    assert_eq!(usage["cache_creation_input_tokens"], 100);
    assert!(usage["total_cost_usd"].as_f64().unwrap() > 0.0);
    assert!(task.get("partial_result").is_none(), "{task}");
    shop.close();
}

#[test]
fn an_error_of_model_or_api_is_done_with_1() {
    for ending in ["result max_turns", "result api 400 \"bad request\"", "result execution"] {
        let shop = Shop::new(&format!("otherwise\n say half\n {ending}\n"));
        let id = shop.says("go");
        let task = shop.over(&id);
        assert_eq!((&task["status"], &task["exitCode"]), (&"done".into(), &1.into()), "{ending}: {task}");
        assert!(!task["result"].as_str().unwrap().is_empty(), "{ending}: {task}");
        shop.close();
    }
}

/// The terminal event comes when nothing more follows, not at the first of several results.
#[test]
fn done_comes_at_settlement() {
    let shop = Shop::new(
        "turn\n shell build make\n until built\n say Started.\n mark started\nwake\n say It is built.\n",
    );
    let id = shop.says("build");
    let mut records = shop.streams(&id);
    shop.office.reaches("started");
    shop.becomes(&id, "running");
    records.of_type("chunk");
    assert_eq!(shop.output(&id)["retrieval_status"], "pending", "its shell still runs");
    shop.office.open("built");
    let rest = records.all();
    assert_eq!(rest.last().unwrap()["type"], "done", "{rest:?}");
    assert!(super::http::text_of(&rest).contains("It is built."), "{rest:?}");
    shop.close();
}
