//! The live view of lines and rows that recordings don't have.

use claude_wire::Message;
use ostler::view::{Closing, Detail, Look, Paint, View, closing};
use ostler_core::ctl::{Deadline, Decision, Event, Exit, KillReason, Line, Row};
use ostler_core::ids::{DeliveryId, Millis};
use ostler_core::rows::{Outcome, Tokens};
use ostler_store::{Cursor, Entry};

/// A view that is fed by hand.
struct Shown(View);

impl Shown {
    fn new(detail: Detail) -> Self {
        Self(View::new(Look { paint: Paint::Plain, columns: 80, detail }))
    }

    fn line(&mut self, json: &str) -> &mut Self {
        let (message, _) = Message::parse(json.as_bytes());
        self.0.message(&message, json.as_bytes());
        self
    }

    fn row(&mut self, ev: Event) -> &mut Self {
        let row = Row { at: Millis(0), off: 0, ev };
        let entry = Entry::Ctl { no: 1, row, raw: Vec::new(), cursor: Cursor::START };
        self.0.entry(&entry, &|id| Some(format!("the text of {}", &id.to_string()[35..])));
        self
    }

    fn text(&mut self) -> String {
        self.0.end_line();
        self.0.take()
    }
}

fn turn(lines: &[&str]) -> String {
    let mut shown = Shown::new(Detail::Turn);
    for line in lines {
        shown.line(line);
    }
    shown.text()
}

fn delta(text: &str, parent: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("{parent:?}") };
    let text = serde_json::to_string(text).unwrap();
    format!(
        r#"{{"type":"stream_event","event":{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":{text}}}}},"parent_tool_use_id":{parent}}}"#
    )
}

fn assistant(block: &str, parent: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("{parent:?}") };
    format!(
        r#"{{"type":"assistant","message":{{"id":"m","model":"x","role":"assistant","content":[{block}]}},"parent_tool_use_id":{parent}}}"#
    )
}

#[test]
fn text_is_shown_once_and_subagents_apart() {
    let lines = [
        delta("Let me ", ""),
        delta("not shown", "toolu_1"),
        delta("look.", ""),
        assistant(r#"{"type":"text","text":"Let me look."}"#, ""),
        assistant(
            r#"{"type":"tool_use","id":"toolu_1","name":"Task","input":{"description":"look around","prompt":"p"}}"#,
            "",
        ),
        assistant(r#"{"type":"text","text":"I am the subagent\nand say two lines"}"#, "toolu_1"),
        assistant(
            r#"{"type":"tool_use","id":"toolu_2","name":"Bash","input":{"command":"ls"}}"#,
            "toolu_1",
        ),
        r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"found"}]}]}}"#.to_owned(),
        delta("Done.", ""),
    ];
    let text = turn(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    insta::assert_snapshot!(text, @r"
    Let me look.

    ▸ Task  look around
      ┆ I am the subagent and say two lines
      ┆ ▸ Bash  ls
      → Task look around: found

    Done.
    ");
}

#[test]
fn a_repeated_line_says_nothing_new() {
    let line = r#"{"type":"assistant","uuid":"u1","message":{"content":[{"type":"text","text":"Once"}]}}"#;
    assert_eq!(turn(&[line, line]), "Once\n");
}

#[test]
fn results_have_a_size_and_name_their_call_where_it_is_not_above() {
    let call = |id: &str, command: &str| {
        assistant(
            &format!(r#"{{"type":"tool_use","id":"{id}","name":"Bash","input":{{"command":"{command}"}}}}"#),
            "",
        )
    };
    let result = |id: &str, text: &str, error: bool| {
        format!(
            r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"{id}","is_error":{error},"content":{text:?}}}]}}}}"#
        )
    };
    let long = "x".repeat(3000);
    let lines = [
        call("a", "first"),
        call("b", "second"),
        result("a", &long, false),
        result("b", "exit 1\nno such file", true),
        call("c", "third"),
        result("c", "", false),
        call("d", &"long ".repeat(40)),
        result("d", "a\nb", false),
        result("e", "whose?", false),
    ];
    let text = turn(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    insta::assert_snapshot!(text, @r"
    ▸ Bash  first
    ▸ Bash  second
      → Bash first: 3.0 kB
      ✗ Bash second: exit 1
    ▸ Bash  third
      → nothing
    ▸ Bash  long long long long long long long long long long long long long long l…
      → 3 B
      → a tool: whose?
    ");
}

#[test]
fn an_answer_cannot_drive_the_terminal() {
    let evil = "a\u{1b}[2J\u{1b}]0;title\u{7}\u{9b}31m\rb";
    let json = serde_json::to_string(evil).unwrap();
    let call = format!(r#"{{"type":"tool_use","id":"t","name":{json},"input":{{"command":{json}}}}}"#);
    let ask = format!(
        r#"{{"type":"control_request","request_id":"r","request":{{"subtype":"can_use_tool","tool_name":{json},"input":{{"command":{json}}},"tool_use_id":"t","decision_reason":{json}}}}}"#
    );
    let failed = format!(
        r#"{{"type":"result","subtype":"error_during_execution","is_error":true,"errors":[{json}]}}"#
    );
    let lines = [delta(evil, ""), assistant(&call, ""), ask, failed, evil.to_owned()];
    let text = turn(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    assert!(text.contains("␛[2J"), "{text}");
}

#[test]
fn trouble_is_told_as_it_happens() {
    let text = turn(&[
        r#"{"type":"system","subtype":"api_retry","attempt":2,"max_retries":10,"retry_delay_ms":1532.5,"error_status":529,"error":"overloaded"}"#,
        r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed"}}"#,
        r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","resetsAt":1796060000,"rateLimitType":"five_hour","utilization":0.91}}"#,
        r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","resetsAt":1796060000,"rateLimitType":"five_hour","utilization":0.92}}"#,
        r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1796060000,"rateLimitType":"five_hour"}}"#,
        r#"{"type":"system","subtype":"status","status":"compacting"}"#,
        r#"{"type":"system","subtype":"compact_boundary","compact_metadata":{"trigger":"auto","pre_tokens":152000,"post_tokens":12000}}"#,
        r#"{"type":"system","subtype":"permission_denied","tool_name":"Bash","tool_use_id":"t","message":"no","decision_reason":"a rule"}"#,
        r#"{"type":"system","subtype":"session_writes_lost","error_code":"ENOSPC","lost":["transcript"]}"#,
        "(node) Warning: something",
        r#"{"type":"result","subtype":"error_max_turns","is_error":true,"errors":["Reached maximum number of turns (2)"]}"#,
    ]);
    insta::assert_snapshot!(text, @r"
    ! the API answered 529 overloaded; retry 2 of 10 in 1.5 s
    — near the rate limit five hour (91 % used), until 2026-11-30 17:33 UTC
    ! rate limit five hour reached, until 2026-11-30 17:33 UTC
    — compacting the conversation
    — the conversation was compacted: 152k → 12k tokens
    ! Bash was not allowed: a rule
    ✗ claude could not write transcript (ENOSPC)
    ! garbled: 25 B on claude's stdout that are no message: (node) Warning: something
    ✗ the limit of rounds is reached: Reached maximum number of turns (2)
    ");
}

#[test]
fn background_tasks_are_told_at_both_ends() {
    let text = turn(&[
        r#"{"type":"system","subtype":"background_tasks_changed","tasks":[{"task_id":"b1","task_type":"local_bash","description":"npm run dev"},{"task_id":"x","description":"housekeeping","ambient":true}]}"#,
        r#"{"type":"system","subtype":"background_tasks_changed","tasks":[{"task_id":"b1","task_type":"local_bash","description":"npm run dev"}]}"#,
        r#"{"type":"system","subtype":"task_notification","task_id":"b1","status":"failed","summary":""}"#,
        r#"{"type":"system","subtype":"background_tasks_changed","tasks":[]}"#,
    ]);
    insta::assert_snapshot!(text, @r"
    — in the background: npm run dev
    ! background task failed: npm run dev
    ");
}

#[test]
fn what_ostler_did_is_told() {
    let user = |n: u128| Event::Begin {
        write: 1,
        line: Line::User { delivery: DeliveryId(uuid::Uuid::from_u128(n)) },
        len: 1,
        hash: String::new(),
    };
    let ask = r#"{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"rm -rf build"},"tool_use_id":"t","decision_reason":"not in the rules"}}"#;
    let mut shown = Shown::new(Detail::Session);
    shown.row(user(1)).row(user(1)).line(ask);
    shown.row(Event::Decided {
        request_id: "r1".into(),
        decision: Decision::Deny,
        by: "cli".into(),
        message: Some("keep it".into()),
        input: None,
        always: false,
        interrupt: false,
        given: None,
    });
    shown.row(user(2));
    shown.row(Event::Expired { deadline: Deadline::End }).row(Event::Kill { why: KillReason::EndDeadline });
    shown.row(Event::Dead { exit: Exit::Signal(9), proven: true, killed: 2, said: None });
    shown.0.entry(&Entry::Generation { no: 2 }, &|_| None);
    shown.row(Event::Dead { exit: Exit::Code(1), proven: false, killed: 0, said: Some("boom\n".into()) });
    shown.row(Event::Parked { reason: "it died twice".into(), seen: None });
    insta::assert_snapshot!(shown.text(), @r"
    » the text of 1
    ? may Bash run  rm -rf build
        not in the rules
      ✗ denied by cli: keep it
    » (steered) the text of 2
    ! claude did not leave in time
    ! the child is killed
    — 2 processes that it left were killed
    — generation 2
    ✗ claude ended with exit status 1
        boom
    ! not proven that all of its processes are gone
    ✗ parked: it died twice
    ");
}

#[test]
fn an_own_prompt_is_not_repeated() {
    let own = DeliveryId(uuid::Uuid::from_u128(7));
    let view = View::new(Look { paint: Paint::Plain, columns: 80, detail: Detail::Turn }).without_prompt(own);
    let mut shown = Shown(view);
    let line = Line::User { delivery: own };
    shown.row(Event::Begin { write: 1, line, len: 1, hash: String::new() });
    assert_eq!(shown.text(), "");
}

#[test]
fn the_closing_lines() {
    let closing_lines = Closing {
        outcome: Some(Outcome::Completed),
        failure: None,
        rounds: 2,
        ms: Some(4100),
        denials: 1,
        remarks: vec!["claude did not end cleanly".to_owned()],
        turns: 3,
        tokens: Tokens { input: 10, output: 7, cache_read: 12_428, cache_write_5m: 69, cache_write_1h: 0 },
        cache: None,
        turn_usd: Some(0.000_681),
        usd: None,
        session: "0190f3c2-0000-4000-8000-000000000001".to_owned(),
        label: Some("nightly".to_owned()),
        go_on: "ostler send --watch 0190f3c2 \"…\"".to_owned(),
    };
    insta::assert_snapshot!(closing(Paint::Plain, &closing_lines), @r#"

    ✓ completed · turn 3 · 2 rounds · 4.1 s · 1 denied
      ! claude did not end cleanly
      tokens   10 in, 7 out; cache 12k read, 69 written
      cost     $0.000681 (unknown for the whole session)
      session  0190f3c2-0000-4000-8000-000000000001  (nightly)
      go on    ostler send --watch 0190f3c2 "…"
    "#);
}
