//! What happened and what it cost, over HTTP.

use super::desk_sessions::{Office, until};
use super::serve_http::Server;
use serde_json::{Value, json};

fn what(timeline: &Value) -> Vec<&str> {
    timeline["items"].as_array().unwrap().iter().map(|item| item["what"].as_str().unwrap()).collect()
}

#[test]
fn a_timeline_tells_it_in_order_page_by_page() {
    let office = Office::new("when ask\n ask Bash {\"command\":\"make\"}\n then\n say Made.\n");
    let server = Server::start(&office.desk);
    let body = json!({"prompt": "ask", "spec": office.http_spec(), "label": "one"});
    let started = server.post("/v1/sessions", &body).json();
    let request = office.asks();
    server.post(&format!("/v1/permissions/one/1/{request}"), &json!({"decision": "allow"})).is(200);
    let delivery = started["delivery"]["id"].as_str().unwrap();
    let path = format!("/v1/sessions/one/deliveries/{delivery}");
    server.ask_with("GET", &path, None, &[("Prefer", "wait=30")]).is(200);
    server.post("/v1/sessions/one/stop", &json!({})).is(200);
    office.becomes_cold("one");
    let all = until("the end of the process", || {
        let all = server.get("/v1/sessions/one/timeline").is(200).json();
        what(&all).contains(&"process_ended").then_some(all)
    });
    let mut kinds = what(&all);
    assert_eq!(kinds[..2], ["created", "accepted"], "{all:#}");
    kinds.sort_unstable();
    let expected = [
        "accepted",
        "created",
        "decided",
        "process_ended",
        "process_started",
        "stopped",
        "turn_began",
        "turn_settled",
        "written",
    ];
    assert_eq!(kinds, expected, "{all:#}");
    let decided = all["items"].as_array().unwrap().iter().find(|item| item["what"] == "decided").unwrap();
    assert_eq!((&decided["how"], &decided["detail"]), (&"allow".into(), &"http".into()));
    // Page by page it is the same.
    let (mut pages, mut after) = (Vec::new(), String::new());
    loop {
        let page = server.get(&format!("/v1/sessions/one/timeline?limit=2{after}")).is(200).json();
        pages.extend(page["items"].as_array().unwrap().clone());
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    assert_eq!(&json!(pages), &all["items"]);
    server.post("/v1/sessions/one/close", &json!({})).is(200);
    drop(server);
    office.close();
}

#[test]
fn what_was_spent_is_summed_by_whatever_is_asked() {
    let office = Office::new("otherwise\n cost 0.25\n say Hello.\n");
    let server = Server::start(&office.desk);
    let first = office.settled(&["--label", "one", "hi"]);
    office.settled(&["--label", "one", "hi"]);
    office.settled(&["hi"]);
    let spend = server.get(&format!("/v1/sessions/{first}/spend")).is(200).json();
    let usd = spend["usd"].as_f64().unwrap();
    assert!(usd > 0.0 && spend["items"][0]["generation"] == 1, "{spend:#}");
    let ledger = |query: &str| server.get(&format!("/v1/ledger?{query}")).is(200).json();
    let sessions = ledger("by=session");
    assert_eq!(sessions["items"].as_array().unwrap().len(), 3);
    assert_eq!(sessions["total"]["sessions"], 3);
    let close = |a: &Value, b: f64| (a.as_f64().unwrap() - b).abs() < 1e-9;
    assert!(close(&sessions["total"]["usd"], 3.0 * usd), "{sessions:#}");
    let labels = ledger("by=label");
    let keys: Vec<_> = labels["items"].as_array().unwrap().iter().map(|item| item["key"].clone()).collect();
    assert_eq!(keys, [Value::Null, "one".into()]);
    assert!(close(&labels["items"][1]["usd"], 2.0 * usd), "{labels:#}");
    assert_eq!(ledger("by=model&label=one")["total"]["generations"], 2);
    let days = ledger("by=day");
    let day = days["items"][0]["key"].as_str().unwrap().to_owned();
    assert_eq!(ledger(&format!("since={day}"))["total"]["sessions"], 3);
    assert_eq!(ledger(&format!("until={day}"))["total"]["sessions"], 0);
    // Page by page.
    let page = ledger("by=session&limit=2");
    let next = ledger(&format!("by=session&limit=2&after={}", page["next"].as_str().unwrap()));
    assert_eq!((next["items"].as_array().unwrap().len(), &next["next"]), (1, &Value::Null));
    assert_eq!(next["items"][0], sessions["items"][2]);
    assert_eq!(server.get("/v1/rate-limits").is(200).json()["items"], json!([]));
    let closed = server.post(&format!("/v1/sessions/{first}/close"), &json!({})).is(200).json();
    assert_eq!(closed["purged"], false);
    let rubbish = server.post("/v1/gc", &json!({"older_than": 0, "dry_run": true})).is(200).json();
    assert_eq!(rubbish["deleted"][0]["session"], first, "{rubbish:#}");
    drop(server);
    office.close();
}
