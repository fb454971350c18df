//! Streams: who hears what, and that everybody hears the end.

use super::http::text_of;
use super::shop::Shop;
use serde_json::json;

const SCRIPT: &str = "when ask\n say Let me see.\n ask Bash {\"command\":\"make\"}\n gives built\n then\n say Done.\n\
                      when slow\n say One two {until middle} three {until go} four.\n\
                      otherwise\n say You said $text\n";

/// A child that has answered before its client has connected.
#[test]
fn fast_tasks_never_miss_their_end() {
    let shop = Shop::new(SCRIPT);
    for round in 0..25 {
        let id = shop.says(&format!("round {round}"));
        if round % 3 == 0 {
            shop.over(&id);
        }
        let records = shop.streams(&id).all();
        assert_eq!(text_of(&records), format!("You said round {round}"), "everything, once: {records:?}");
        let ends = records.iter().filter(|r| r["type"] == "done" || r["type"] == "error").count();
        assert_eq!((ends, &records.last().unwrap()["type"]), (1, &json!("done")), "{records:?}");
    }
    shop.close();
}

#[test]
fn whoever_comes_later_hears_the_rest_and_nothing_twice() {
    let shop = Shop::new(SCRIPT);
    let id = shop.says("slow");
    let mut first = shop.streams(&id);
    assert_eq!(first.of_type("chunk")["text"], "One ");
    assert_eq!(first.of_type("chunk")["text"], "two ");
    let second = shop.streams(&id);
    shop.office.open("middle");
    // Blanks may come as pieces of their own.
    while first.of_type("chunk")["text"].as_str().map(str::trim) != Some("three") {}
    let third = shop.streams(&id);
    // With a wish of its own a client hears what was said before.
    let target = format!("/v1/task/output/stream?task_id={id}&replay=1");
    let (_, fourth) = shop.request("GET", &target, "").records(shop.address);
    shop.office.open("go");
    let squeezed =
        |records: &[serde_json::Value]| text_of(records).split_whitespace().collect::<Vec<_>>().join(" ");
    let (first, second, third, fourth) = (first.all(), second.all(), third.all(), fourth.all());
    assert_eq!(squeezed(&first), "four.", "{first:?}");
    assert!(
        "three four.".ends_with(&squeezed(&second)) && squeezed(&second).ends_with("four."),
        "{second:?}"
    );
    assert_eq!(squeezed(&third), "four.", "{third:?}");
    assert_eq!(squeezed(&fourth), "One two three four.", "{fourth:?}");
    for records in [first, second, third, fourth] {
        assert_eq!(records.last().unwrap()["type"], "done", "{records:?}");
    }
    // And who comes when all is over hears the end.
    let late = shop.streams(&id).all();
    assert_eq!(late, [json!({"type": "done", "exitCode": 0, "task_id": id, "status": "done"})]);
    shop.close();
}

#[test]
fn what_waits_for_a_decision_is_told_to_whoever_connects() {
    let shop = Shop::new(SCRIPT);
    let id = shop.says("ask");
    let asked = shop.streams(&id).of_type("permission_request");
    assert_eq!((&asked["tool_name"], &asked["input"]), (&json!("Bash"), &json!({"command": "make"})));
    // The first listener is gone; the task and its question are not.
    let mut again = shop.streams(&id);
    assert_eq!(again.next().as_ref(), Some(&asked), "the same, and none of the chunks before");
    let wrong = shop.decides(&json!({"task_id": id, "behavior": "deny", "request_id": "another"}));
    assert_eq!(wrong, json!({"error": "no_pending_request"}));
    let done = shop.decides(&json!({"task_id": id, "behavior": "allow", "request_id": asked["request_id"]}));
    assert_eq!(done, json!({"status": "responded", "task_id": id}));
    let twice = shop.decides(&json!({"task_id": id, "behavior": "deny"}));
    assert_eq!(twice, json!({"error": "no_pending_request"}), "the first one counts");
    let rest = again.all();
    assert!(text_of(&rest).contains("built") && text_of(&rest).ends_with("Done."), "{rest:?}");
    assert!(rest.iter().all(|r| r["type"] != "permission_request"), "told once: {rest:?}");
    shop.close();
}

#[test]
fn a_denial_and_another_input_reach_the_child() {
    let shop = Shop::new(SCRIPT);
    let id = shop.says("ask");
    let mut records = shop.streams(&id);
    records.of_type("permission_request");
    shop.decides(&json!({"task_id": id, "behavior": "deny", "message": "not on a Friday"}));
    assert!(text_of(&records.all()).contains("not on a Friday"));
    let id = shop.says("ask");
    let mut records = shop.streams(&id);
    records.of_type("permission_request");
    let refused = shop.asks(
        "POST",
        "/v1/task/permission",
        &json!({"task_id": id, "behavior": "allow", "updatedInput": "x"}).to_string(),
    );
    assert_eq!(refused.status, 400, "{refused:?}");
    shop.decides(&json!({"task_id": id, "behavior": "allow", "updatedInput": {"command": "make -n"}}));
    records.all();
    let told = shop.office.told();
    let answers: Vec<_> = told.iter().filter(|line| line["type"] == "control_response").collect();
    let inputs = answers.iter().filter(|a| a["response"]["response"]["updatedInput"]["command"] == "make -n");
    assert_eq!(inputs.count(), 1, "{answers:?}");
    shop.close();
}

#[test]
fn bypass_asks_nobody() {
    let shop = Shop::new(SCRIPT);
    let id = shop.creates(&json!({"prompt": "ask", "permission_mode": "bypass"}));
    let records = shop.streams(&id).all();
    assert!(records.iter().all(|r| r["type"] != "permission_request"), "{records:?}");
    assert!(text_of(&records).contains("built"), "{records:?}");
    // Any other word is a question.
    let id = shop.creates(&json!({"prompt": "ask", "permission_mode": "plan", "skip_permissions": "true"}));
    shop.streams(&id).of_type("permission_request");
    shop.cancels(&id);
    shop.close();
}

/// A tool's result is no question, and nobody answers it.
#[test]
fn tool_results_are_never_answered() {
    let shop = Shop::new(SCRIPT);
    let id = shop.creates(&json!({"prompt": "ask", "permission_mode": "bypass"}));
    shop.over(&id);
    assert_eq!(shop.told(), ["ask"], "no message of anybody else's");
    shop.close();
}

/// Clients of the bridge have nobody who could answer the model, so ostler does; never a tool, and not for ever.
#[test]
fn questions_of_the_model_are_answered_five_times_a_turn() {
    let question = "{\"questions\":[{\"question\":\"Which?\",\"header\":\"Which\",\"multiSelect\":false,\
                    \"options\":[{\"label\":\"a\",\"description\":\"a\"},{\"label\":\"b\",\"description\":\"b\"}]}]}";
    let asks = format!(" ask AskUserQuestion {question}\n then\n").repeat(6);
    let shop = Shop::new(&format!("otherwise\n{asks} say Done.\n"));
    let id = shop.says("go");
    let mut records = shop.streams(&id);
    // The sixth is somebody's.
    let asked = records.of_type("permission_request");
    assert_eq!(asked["tool_name"], "AskUserQuestion");
    let told = shop.office.told();
    let answered = told.iter().filter(|line| line["type"] == "control_response").count();
    assert_eq!(answered, 5, "{told:?}");
    let input = json!({"questions": asked["input"]["questions"], "answers": {"Which?": "a"}});
    shop.decides(&json!({"task_id": id, "behavior": "allow", "updatedInput": input}));
    assert_eq!(records.all().last().unwrap()["type"], "done");
    shop.close();
}
