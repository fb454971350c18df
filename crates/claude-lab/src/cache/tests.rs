use serde_json::{Value, json};

use super::blocks::Blocks;
use super::*;

fn charge(cache: &mut Cache, body: &Value, now: u64) -> Tokens {
    let blocks = Blocks::of(body, body["model"].as_str().unwrap_or("m"));
    let tokens = cache.charge(&blocks, now);
    let total = tokens.input + tokens.cache_read + tokens.cache_write_5m + tokens.cache_write_1h;
    assert_eq!(total, blocks.tokens_up_to(blocks.prefixes.len()), "classes add up to the whole input");
    tokens
}

fn text(text: &str, mark: Option<&str>) -> Value {
    match mark {
        None => json!({"type": "text", "text": text}),
        Some("5m") => json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}),
        Some(ttl) => {
            json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral", "ttl": ttl}})
        }
    }
}

fn user(content: Value) -> Value {
    json!({"role": "user", "content": content})
}

#[test]
fn the_next_turn_reads_what_the_last_one_wrote() {
    let mut cache = Cache::default();
    let one =
        json!({"system": [text("be brief", None)], "messages": [user(json!([text("hello", Some("5m"))]))]});
    let first = charge(&mut cache, &one, 0);
    assert_eq!((first.cache_read, first.input), (0, 0));
    assert!(first.cache_write_5m > 0);
    // The same message comes as a string now.
    let two = json!({"system": "be brief", "messages": [
        user(json!("hello")),
        {"role": "assistant", "content": [text("hi", None)]},
        user(json!([text("more", Some("5m"))])),
    ]});
    let second = charge(&mut cache, &two, 1);
    assert_eq!(second.cache_read, first.cache_write_5m);
    assert!(second.cache_write_5m > 0);
    assert_eq!(second.input, 0);
}

#[test]
fn another_model_or_another_prefix_reads_nothing() {
    let mut cache = Cache::default();
    let body = |model: &str, system: &str| json!({"model": model, "system": [text(system, Some("5m"))], "messages": [user(json!("x"))]});
    charge(&mut cache, &body("a", "s"), 0);
    assert!(charge(&mut cache, &body("a", "s"), 0).cache_read > 0);
    assert_eq!(charge(&mut cache, &body("b", "s"), 0).cache_read, 0);
    assert_eq!(charge(&mut cache, &body("a", "t"), 0).cache_read, 0);
}

#[test]
fn a_hit_refreshes_and_time_ends_it() {
    let mut cache = Cache::default();
    let body = json!({"system": [text("s", Some("5m"))], "messages": [user(json!("x"))]});
    charge(&mut cache, &body, 0);
    assert!(charge(&mut cache, &body, 299_000).cache_read > 0);
    assert!(charge(&mut cache, &body, 598_000).cache_read > 0, "the hit at 299 s gave it five minutes more");
    assert_eq!(charge(&mut cache, &body, 898_001).cache_read, 0);
}

#[test]
fn one_hour_is_charged_and_lives_apart() {
    let mut cache = Cache::default();
    let body = json!({"system": [text("system", Some("1h"))], "messages": [user(json!([text("question", Some("5m"))]))]});
    let first = charge(&mut cache, &body, 0);
    assert!(first.cache_write_1h > 0 && first.cache_write_5m > 0);
    let later = charge(&mut cache, &body, 1_000_000);
    assert_eq!((later.cache_read, later.cache_write_5m), (first.cache_write_1h, first.cache_write_5m));
}

#[test]
fn an_entry_is_found_at_most_20_blocks_before_a_mark() {
    let body = |between: usize| {
        let mut content: Vec<Value> = (0..between).map(|n| text(&n.to_string(), None)).collect();
        content.push(text("last", Some("5m")));
        json!({"messages": [user(json!([text("base", None)])), user(json!(content))]})
    };
    for (between, read) in [(19, true), (20, false)] {
        let mut cache = Cache::default();
        charge(&mut cache, &json!({"messages": [user(json!([text("base", Some("5m"))]))]}), 0);
        assert_eq!(charge(&mut cache, &body(between), 1).cache_read > 0, read, "{between} blocks between");
    }
}

#[test]
fn keys_in_another_order_and_the_marks_themselves_change_nothing() {
    let mut cache = Cache::default();
    let one = json!({"tools": [{"name": "a", "input_schema": {"x": 1, "y": 2}, "cache_control": {"type": "ephemeral"}}]});
    let two = serde_json::from_str(
        r#"{"tools":[{"input_schema":{"y":2,"x":1},"cache_control":{"type":"ephemeral","ttl":"1h"},"name":"a"}]}"#,
    )
    .unwrap();
    let first = charge(&mut cache, &one, 0);
    assert_eq!(charge(&mut cache, &two, 0).cache_read, first.cache_write_5m);
}

#[test]
fn a_mark_on_the_whole_request_covers_all_of_it() {
    let mut cache = Cache::default();
    let body = json!({"cache_control": {"type": "ephemeral"}, "messages": [user(json!("hello"))]});
    let first = charge(&mut cache, &body, 0);
    assert_eq!(first.input, 0);
    assert_eq!(charge(&mut cache, &body, 0).cache_read, first.cache_write_5m);
}

#[test]
fn the_billing_header_is_no_part_of_the_prompt() {
    let mut cache = Cache::default();
    let body = |header: &str, rest: &str| json!({"system": [text(&format!("x-anthropic-billing-header: {header}"), None), text(rest, Some("5m"))]});
    let first = charge(&mut cache, &body("cc_version=2.1.332.551;", "be brief"), 0);
    let second = charge(&mut cache, &body("cc_version=2.1.332.9a2;", "be brief"), 0);
    assert_eq!((second.cache_read, second.cache_write_5m), (first.cache_write_5m, 0));
    assert_eq!(charge(&mut cache, &body("cc_version=2.1.332.9a2;", "be long"), 0).cache_read, 0);
}

proptest::proptest! {
    /// Whatever was asked before, the classes of a request add up to its input, and asking again reads all that is
    /// marked.
    #[test]
    fn classes_add_up(requests in proptest::collection::vec(proptest::collection::vec((0..4u8, 0..4u8), 1..30), 1..6)) {
        let mut cache = Cache::default();
        for (now, request) in (0..).zip(requests) {
            let mark = |kind| match kind {
                1 => Some("5m"),
                2 => Some("1h"),
                _ => None,
            };
            let content: Vec<Value> =
                request.iter().map(|(word, kind)| text(&word.to_string(), mark(*kind))).collect();
            let body = json!({"messages": [user(json!(content))]});
            charge(&mut cache, &body, now);
            let again = charge(&mut cache, &body, now);
            proptest::prop_assert_eq!(again.cache_write_5m + again.cache_write_1h, 0);
        }
    }
}
