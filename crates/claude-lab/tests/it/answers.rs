//! What the API says when nothing is wrong.

use claude_lab::blocking::LabThread;
use claude_lab::{LabConfig, Script};
use serde_json::{Value, json};

use super::http::{self, get, post, post_with, prompt};

/// A lab with one script.
pub(crate) fn lab(script: &str) -> LabThread {
    let script = Script::parse(script).expect("the script parses");
    LabThread::start(LabConfig { scripts: vec![script], ..LabConfig::default() }).expect("the lab starts")
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap_or_default()).collect()
}

/// The block sequence of one streamed answer with every kind of block in it.
#[test]
fn text_thinking_and_parallel_tools_stream_in_order() {
    let lab = lab(
        "otherwise\n think one two\n say alpha beta\n tool Bash {\"command\": \"echo a\"}\n tool Bash {\"command\": \"echo b\"}\n",
    );
    let answer = post(&lab.base_url(), &prompt("go"));
    assert!(answer.complete && answer.status == 200);
    assert_eq!(answer.header("content-type"), Some("text/event-stream; charset=utf-8"));
    let events = answer.events();
    assert_eq!(kinds(&events)[..2], ["message_start", "content_block_start"]);
    assert_eq!(kinds(&events)[events.len() - 2..], ["message_delta", "message_stop"]);
    let starts: Vec<&Value> =
        events.iter().filter(|e| e["type"] == "content_block_start").map(|e| &e["content_block"]).collect();
    let kinds: Vec<&str> = starts.iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["thinking", "text", "tool_use", "tool_use"]);
    assert_ne!(starts[2]["id"], starts[3]["id"]);
    let thinking: String = events.iter().filter_map(|e| e["delta"]["thinking"].as_str()).collect();
    assert_eq!((thinking.as_str(), answer.text().as_str()), ("one two", "alpha beta"));
    assert_eq!(events.iter().filter(|e| e["delta"]["type"] == "signature_delta").count(), 1);
    let inputs = |index: u64| -> String {
        let deltas = events.iter().filter(|e| e["index"] == index);
        deltas.filter_map(|e| e["delta"]["partial_json"].as_str()).collect()
    };
    assert_eq!(serde_json::from_str::<Value>(&inputs(3)).unwrap(), json!({"command": "echo b"}));
    assert_eq!(events[events.len() - 2]["delta"]["stop_reason"], "tool_use");
}

#[test]
fn the_same_reply_comes_whole_when_the_client_does_not_stream() {
    let lab = lab("otherwise\n say You said $text\n");
    let mut body = prompt("hello");
    body["stream"] = json!(false);
    let message = post(&lab.base_url(), &body).json();
    assert_eq!(message["content"], json!([{"type": "text", "text": "You said hello"}]));
    assert_eq!((&message["stop_reason"], &message["type"]), (&json!("end_turn"), &json!("message")));
    let usage = &message["usage"];
    assert!(usage["input_tokens"].as_u64().unwrap() > 0 && usage["output_tokens"].as_u64().unwrap() > 0);
}

#[test]
fn then_follows_tool_results_and_done_follows_the_last_one() {
    let lab = lab(
        "when \"go\"\n tool Bash {\"command\": \"date\"}\nthen\n say it is $result\notherwise\n say no\n",
    );
    let mut body = prompt("go");
    let call = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]});
    let result =
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "noon"}]});
    let messages = body["messages"].as_array_mut().unwrap();
    messages.extend([call.clone(), result.clone()]);
    assert_eq!(post(&lab.base_url(), &body).text(), "it is noon");
    body["messages"].as_array_mut().unwrap().extend([call, result]);
    assert_eq!(post(&lab.base_url(), &body).text(), "Done.");
}

#[test]
fn rules_choose_by_text_turn_model_lane_and_system() {
    let lab = lab(
        "models claude-haiku*\nwhen sub and \"pear\"\n say from the subagent\nwhen turn 2\n say second\nwhen system \"poet\"\n say verse\nwhen like \"add * and *\"\n say $1+$2\notherwise\n say other\n",
    );
    let url = lab.base_url();
    assert_eq!(post(&url, &prompt("add 1 and 2")).text(), "1+2");
    assert_eq!(post(&url, &prompt("pear")).text(), "other");
    let agent = [("x-claude-code-agent-id", "a1")];
    assert_eq!(post_with(&url, &agent, &prompt("a pear")).text(), "from the subagent");
    let mut poet = prompt("x");
    poet["system"] = json!([{"type": "text", "text": "You are a poet."}]);
    assert_eq!(post(&url, &poet).text(), "verse");
    let mut second = prompt("one");
    second["messages"] = json!([{"role": "user", "content": "one"}, {"role": "assistant", "content": "1"},
        {"role": "user", "content": "two"}]);
    assert_eq!(post(&url, &second).text(), "second");
}

/// A model that the script doesn't allow, and one that nobody knows.
#[test]
fn unlisted_models_get_404() {
    let lab = lab("models claude-haiku*\notherwise\n say x\n");
    for model in ["claude-opus-5-5", "claude-haiku-nonsense"] {
        let mut body = prompt("x");
        body["model"] = json!(model);
        let answer = post(&lab.base_url(), &body);
        assert_eq!((answer.status, &answer.json()["error"]["type"]), (404, &json!("not_found_error")));
    }
    assert!(lab.bill().per_request.is_empty(), "what was refused costs nothing");
}

#[test]
fn side_requests_spend_no_turn_and_notices_have_their_own_rules() {
    let lab = lab(
        "when side and \"title\"\n say A title\nwhen notice\n say seen\nwhen turn 1\n say first\nretry\n say again\n",
    );
    let url = lab.base_url();
    let cli = [("user-agent", "claude-cli/2.1.332 (external, sdk-cli)")];
    let mut side = prompt("make a title");
    side.as_object_mut().unwrap().remove("tools");
    assert_eq!(post_with(&url, &cli, &side).text(), "A title");
    side["messages"] = json!([{"role": "user", "content": "something else"}]);
    assert_eq!(post_with(&url, &cli, &side).text(), "Done.");
    let mut notice = prompt("x");
    notice["messages"] = json!([{"role": "user", "content": "go"}, {"role": "assistant", "content": "ok"},
        {"role": "user", "content": "<system-reminder>\n[SYSTEM NOTIFICATION - NOT USER INPUT]\n</system-reminder>"}]);
    assert_eq!(post(&url, &notice).text(), "seen");
    assert_eq!(post(&url, &prompt("go")).text(), "first", "nothing before it was the first turn's request");
    let lanes: Vec<&str> = lab.bill().per_request.iter().map(|charge| charge.lane.as_str()).collect();
    assert_eq!(lanes, ["side", "side", "main", "main"]);
}

/// A hole in a script is loud.
#[test]
fn a_prompt_without_a_rule_is_an_error() {
    let lab = lab("when \"a\"\n say x\n");
    let answer = post(&lab.base_url(), &prompt("zzz"));
    assert_eq!(answer.status, 400);
    let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("no rule") && message.contains("zzz"), "{message}");
}

#[test]
fn everything_else_is_404_in_the_apis_shape() {
    let lab = lab("otherwise\n say x\n");
    let url = lab.base_url();
    let paths =
        [("POST", "/v1/messages/count_tokens"), ("GET", "/v1/messages"), ("HEAD", "/"), ("GET", "/lab/x")];
    for (method, path) in paths {
        let answer = http::open(method, &url, path, &[], b"{}").unwrap();
        assert_eq!(answer.status, 404, "{method} {path}");
    }
    assert_eq!(get(&url, "/v1/models").json()["error"]["type"], "not_found_error");
    let bad = http::open("POST", &url, "/v1/messages", &[], b"{").unwrap().rest();
    assert_eq!((bad.status, &bad.json()["error"]["type"]), (400, &json!("invalid_request_error")));
}

#[test]
fn the_lab_tells_of_itself() {
    let lab = lab("otherwise\n say x\n");
    let health = get(&lab.base_url(), "/lab/health").json();
    assert_eq!(health["pid"], std::process::id());
    post(&lab.base_url(), &prompt("one"));
    let bill = get(&lab.base_url(), "/lab/bill").json();
    assert_eq!(bill["requests"].as_array().unwrap().len(), 1);
    assert_eq!(bill["usd"].as_f64().unwrap(), lab.bill().total().usd);
    let logged = &lab.requests()[1..];
    assert!(logged.is_empty(), "the lab's own paths are not logged: {logged:?}");
}

#[test]
fn keys_are_not_logged() {
    let lab = lab("otherwise\n say x\n");
    let keys = [("x-api-key", "secret"), ("authorization", "Bearer secret"), ("x-app", "cli")];
    post_with(&lab.base_url(), &keys, &prompt("one"));
    let logged = &lab.requests()[0];
    assert_eq!((logged.header("x-app"), logged.header("x-api-key")), (Some("cli"), None));
    assert!(!format!("{logged:?}").contains("secret"));
}

/// Input read, written and neither add up, and the second turn reads what the first wrote.
#[test]
fn the_cache_is_charged_and_the_bill_adds_up() {
    let lab = lab("otherwise\n say x\n");
    let mark = json!({"type": "ephemeral"});
    let first = json!({"role": "user", "content": [{"type": "text", "text": "one", "cache_control": mark}]});
    let mut body = prompt("x");
    body["messages"] = json!([first]);
    let session = [("x-claude-code-session-id", "s1")];
    post_with(&lab.base_url(), &session, &body);
    body["messages"] = json!([{"role": "user", "content": "one"}, {"role": "assistant", "content": "x"},
        {"role": "user", "content": [{"type": "text", "text": "two", "cache_control": mark}]}]);
    let usage = post_with(&lab.base_url(), &session, &body).events()[0]["message"]["usage"].clone();
    let bill = lab.bill();
    let [one, two] = bill.per_request.as_slice() else { panic!("{bill:?}") };
    assert_eq!(two.tokens.cache_read, one.tokens.cache_write_5m);
    assert_eq!(usage["cache_read_input_tokens"], two.tokens.cache_read);
    assert_eq!(usage["cache_creation"]["ephemeral_5m_input_tokens"], two.tokens.cache_write_5m);
    let sum = bill.per_model[&("s1".to_owned(), "claude-haiku-4-5".to_owned())];
    assert_eq!((sum.requests, sum.usd), (2, one.usd + two.usd));
    assert_eq!(bill.per_session["s1"], sum);
}

#[test]
fn usage_can_be_said() {
    let lab = lab(
        "otherwise\n say x\n usage input=1000000 output=0 cache_read=0 cache_write_5m=0 cache_write_1h=0\n",
    );
    post(&lab.base_url(), &prompt("x"));
    assert!((lab.bill().total().usd - 1.0).abs() < 1e-9);
}

#[test]
fn the_built_in_script_has_something_for_everybody() {
    let lab = LabThread::start(LabConfig::default()).unwrap();
    let url = lab.base_url();
    assert!(post(&url, &prompt("Say hello")).text().starts_with("Hello!"));
    assert!(post(&url, &prompt("what is 2+2?")).text().contains("what is 2+2?"));
    let run = post(&url, &prompt("run date"));
    assert!(run.body.contains("\"name\":\"Bash\"") && run.body.contains("date"));
    assert!(post(&url, &prompt("think hard")).body.contains("thinking_delta"));
}
