//! Every fault that a script can ask for, seen by a plain client.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::json;

use super::answers::lab;
use super::http::{self, post, prompt};

#[test]
fn statuses_have_their_kind_and_retry_after() {
    let lab = lab(
        "when \"400\"\n status 400 \"no \\\"good\\\"\"\nwhen \"401\"\n status 401\nwhen \"429\"\n status 429 retry-after 3\nwhen \"529\"\n status 529\nwhen \"own\"\n status 418 kind teapot_error\n",
    );
    let cases = [
        ("400", 400, "invalid_request_error", None),
        ("401", 401, "authentication_error", None),
        ("429", 429, "rate_limit_error", Some("3")),
        ("529", 529, "overloaded_error", None),
        ("own", 418, "teapot_error", None),
    ];
    for (text, code, kind, retry_after) in cases {
        let answer = post(&lab.base_url(), &prompt(text));
        assert_eq!((answer.status, answer.header("retry-after")), (code, retry_after));
        let body = answer.json();
        assert_eq!((&body["type"], &body["error"]["type"]), (&json!("error"), &json!(kind)));
        assert!(answer.header("request-id").is_some());
    }
    assert_eq!(post(&lab.base_url(), &prompt("400")).json()["error"]["message"], "no \"good\"");
    assert!(lab.bill().per_request.is_empty());
    assert_eq!(lab.requests()[2].status, 429);
}

#[test]
fn a_fault_comes_so_often_and_then_no_more_for_each_session() {
    let lab = lab("otherwise\n status 529\n times 2\nretry\n say at last\n");
    for session in ["s1", "s2"] {
        let header = [("x-claude-code-session-id", session)];
        let codes: Vec<u16> =
            (0..4).map(|_| http::post_with(&lab.base_url(), &header, &prompt("x")).status).collect();
        assert_eq!(codes, [529, 529, 200, 200], "{session}");
    }
}

#[test]
fn rate_limit_headers_can_be_said_with_times_to_come() {
    let lab = lab(
        "otherwise\n header anthropic-ratelimit-unified-status rejected\n header anthropic-ratelimit-unified-reset in 1h\n status 429\n",
    );
    let answer = post(&lab.base_url(), &prompt("x"));
    assert_eq!(answer.header("anthropic-ratelimit-unified-status"), Some("rejected"));
    let reset: u64 = answer.header("anthropic-ratelimit-unified-reset").unwrap().parse().unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    assert!((now + 3590..=now + 3601).contains(&reset), "{reset}");
}

#[test]
fn a_cut_stream_breaks_behind_what_was_said_before_it() {
    let lab = lab("otherwise\n say one two\n cut\n");
    for stream in [true, false] {
        let mut body = prompt("x");
        body["stream"] = json!(stream);
        let answer = post(&lab.base_url(), &body);
        assert_eq!((answer.status, answer.complete), (200, false));
        assert!(!answer.body.is_empty() && !answer.body.contains("message_stop"));
        if stream {
            assert_eq!(answer.text(), "one two");
        }
    }
    let charges = lab.bill().per_request;
    assert!(charges.iter().all(|charge| !charge.complete && charge.tokens.input > 0), "{charges:?}");
}

#[test]
fn a_malformed_event_stands_where_it_was_written() {
    let lab = lab("when \"own\"\n say a\n garble data: {\"x\notherwise\n say a\n garble\n say b\n");
    let answer = post(&lab.base_url(), &prompt("x"));
    let data: Vec<&str> = answer.body.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    let broken: Vec<usize> =
        (0..data.len()).filter(|&i| serde_json::from_str::<serde_json::Value>(data[i]).is_err()).collect();
    assert_eq!(broken.len(), 1);
    assert!(
        data[broken[0] - 1].contains("content_block_stop")
            && data[broken[0] + 1].contains("content_block_start")
    );
    assert!(answer.complete);
    assert!(post(&lab.base_url(), &prompt("own")).body.contains("data: {\"x\n\n"));
}

#[test]
fn an_event_of_ones_own_is_sent_as_written() {
    let lab = lab(
        "otherwise\n event ping {\"type\": \"ping\"}\n say a\n event error {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n cut\n",
    );
    let answer = post(&lab.base_url(), &prompt("x"));
    assert!(answer.body.contains("event: ping\ndata: {\"type\":\"ping\"}\n\n"));
    assert_eq!(answer.events().last().unwrap()["error"]["type"], "overloaded_error");
}

/// Before the first byte: not even the head comes until the gate opens.
#[test]
fn a_hold_keeps_back_the_first_byte_until_released() {
    let lab = lab("otherwise\n hold until go\n say x\n");
    let url = lab.base_url();
    let (told, hear) = std::sync::mpsc::channel();
    let client = std::thread::spawn(move || {
        let answer = post(&url, &prompt("x"));
        told.send(()).unwrap();
        answer
    });
    lab.wait_for_request(|request| request.text == "x", Duration::from_secs(10)).expect("it came");
    assert_eq!(lab.requests()[0].status, 0, "not answered yet");
    assert!(hear.recv_timeout(Duration::from_millis(50)).is_err());
    lab.release("go");
    assert_eq!(client.join().unwrap().text(), "x");
    assert_eq!(post(&lab.base_url(), &prompt("y")).text(), "x", "a gate stays open");
}

#[test]
fn a_pause_holds_the_stream_where_it_stands() {
    let lab = lab("otherwise\n say one\n pause until go on\n say two\n".replace("go on", "go-on").as_str());
    let body = prompt("x").to_string();
    let mut open =
        http::open("POST", &lab.base_url(), "/v1/messages", &[], body.as_bytes()).expect("the head comes");
    let seen = open.until("content_block_stop");
    assert!(seen.contains("one") && !seen.contains("two"));
    let released = http::open("POST", &lab.base_url(), "/lab/release/go-on", &[], b"").unwrap();
    assert_eq!(released.status, 200);
    let answer = open.rest();
    assert!(answer.complete && answer.text() == "two");
}

#[test]
fn holds_and_pauses_for_a_time() {
    let lab = lab("otherwise\n hold 30ms\n say one two three\n pace 20ms\n pause 30ms\n say four\n");
    let start = Instant::now();
    assert_eq!(post(&lab.base_url(), &prompt("x")).text(), "one two threefour");
    assert!(start.elapsed() >= Duration::from_millis(100), "{:?}", start.elapsed());
}

/// A stall that nobody releases ends with the client or with the lab, and holds up nobody else.
#[test]
fn an_endless_stall_holds_up_nobody_else() {
    let lab = lab("when \"stall\"\n hold\nwhen \"middle\"\n say a\n pause\notherwise\n say x\n");
    let url = lab.base_url();
    let middle = prompt("middle").to_string();
    let mut open = http::open("POST", &url, "/v1/messages", &[], middle.as_bytes()).unwrap();
    open.until("content_block_stop");
    let stalled = std::thread::spawn({
        let url = url.clone();
        move || {
            let body = prompt("stall").to_string();
            http::open("POST", &url, "/v1/messages", &[], body.as_bytes()).map(|open| open.status)
        }
    });
    lab.wait_for_request(|request| request.text == "stall", Duration::from_secs(10)).expect("it came");
    assert_eq!(post(&url, &prompt("other")).text(), "x");
    drop(lab);
    assert!(stalled.join().unwrap().is_err(), "the lab's end is the connection's end");
    assert!(!open.rest().complete);
}
