//! Every stored format, as files under `golden/`.
//!
//! A difference means that files and databases which are out there look different from what is written now. Is that
//! meant, and can they still be read? Then run the tests once with `OSTLER_UPDATE_GOLDEN=1`, and look at the diff.

use crate::fixture::{TestHome, conversation_id, delivery_id, session_file, session_id};
use ostler_core::ctl::{
    Baseline, Deadline, Decision, EndReason, Event, Exit, Given, KillReason, Line, ModelBaseline, Row,
};
use ostler_core::ids::Millis;
use ostler_core::record::Declaration;
use ostler_core::rows::{CacheSeen, Tokens};
use ostler_store::{CtlFile, CtlLine, SessionFile};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden").join(name)
}

/// Compares with the golden file, or replaces it.
#[track_caller]
fn check(name: &str, found: &str) {
    let path = golden(name);
    if std::env::var_os("OSTLER_UPDATE_GOLDEN").is_some_and(|value| value == "1") {
        std::fs::write(&path, found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == found, "{name} differs; OSTLER_UPDATE_GOLDEN=1 replaces it. Found:\n{found}");
}

/// Number of an event's kind. A new kind needs a number here and a row below.
fn kind(event: &Event) -> usize {
    match event {
        Event::Spawn { .. } => 0,
        Event::Child { .. } => 1,
        Event::Begin { .. } => 2,
        Event::Done { .. } => 3,
        Event::Decided { .. } => 4,
        Event::Adopted { .. } => 5,
        Event::Expired { .. } => 6,
        Event::Ending { .. } => 7,
        Event::Kill { .. } => 8,
        Event::Dead { .. } => 9,
        Event::TurnBegan { .. } => 10,
        Event::Settled { .. } => 11,
        Event::Parked { .. } => 12,
        Event::Note { .. } => 13,
        Event::Unknown => 14,
        Event::Slow { .. } => 15,
        Event::Foreign { .. } => 16,
        Event::Declared { .. } => 17,
        Event::Closed => 18,
        Event::Cancelled { .. } => 19,
        Event::Asked { .. } => 20,
        Event::Exhausted { .. } => 21,
        Event::Forks { .. } => 22,
        Event::Cache { .. } => 23,
    }
}

const KINDS: usize = 24;

fn writes() -> Vec<Event> {
    let lines = [
        Line::User { delivery: delivery_id(1) },
        Line::Request {
            request_id: "o-1".into(),
            subtype: "interrupt".into(),
            about: None,
            cancel_queued: true,
        },
        Line::Request {
            request_id: "o-2".into(),
            subtype: "cancel_async_message".into(),
            about: Some(delivery_id(1)),
            cancel_queued: false,
        },
        Line::Answer { request_id: "r-1".into() },
    ];
    let begin = |(write, line)| Event::Begin { write, line, len: 118, hash: "00ff".repeat(8) };
    (1..).zip(lines).map(begin).chain([Event::Done { write: 1 }]).collect()
}

fn starts() -> Vec<Event> {
    let tokens = Tokens { input: 1, output: 2, cache_read: 3, cache_write_5m: 4, cache_write_1h: 5 };
    let models = vec![ModelBaseline { model: "claude-x".into(), tokens, usd: 0.25 }];
    vec![
        Event::Spawn {
            generation: 1,
            delivery: delivery_id(1),
            conversation: conversation_id(1),
            resume: true,
            baseline: Baseline { usd: 0.065_778_6, models },
            version: "2.1.332".into(),
        },
        Event::Child { pid: 4321, start: 987_654, boot: "b".into() },
        Event::Adopted { pid: 99, version: "0.1.0".into() },
        Event::TurnBegan { turn: 2 },
    ]
}

fn decisions() -> Vec<Event> {
    let decided = |decision, message: Option<&str>| Event::Decided {
        request_id: "r-1".into(),
        decision,
        by: "terminal".into(),
        message: message.map(Into::into),
        input: None,
        always: false,
        interrupt: false,
        given: None,
    };
    let full = Event::Decided {
        request_id: "r-2".into(),
        decision: Decision::Allow,
        by: "cli".into(),
        message: None,
        input: Some("{\"command\":\"ls\"}".into()),
        always: true,
        interrupt: true,
        given: Some(Box::new(Given { generation: 1, request_id: "r-1".into() })),
    };
    vec![
        decided(Decision::Allow, None),
        decided(Decision::Deny, Some("not now")),
        full,
        Event::Asked { request_id: "r-1".into() },
        Event::Exhausted { request_id: "r-1".into() },
    ]
}

fn ends() -> Vec<Event> {
    use {Deadline as D, EndReason as E, KillReason as K};
    let deadlines = [
        D::Start,
        D::Notification,
        D::Shells,
        D::Agents,
        D::Quiet,
        D::Interrupt,
        D::End,
        D::Write,
        D::Stalled,
        D::Compaction,
        D::WakeWait,
    ];
    let kills =
        [K::EndDeadline, K::StartDeadline, K::Deaf, K::SpoiledPipe, K::Leftovers, K::DiskFull, K::Stalled];
    let exits = [Exit::Code(0), Exit::Signal(9), Exit::Unknown, Exit::NotStarted];
    let dead = |exit| Event::Dead {
        exit,
        proven: true,
        killed: 2,
        said: (exit != Exit::Code(0)).then(|| "its last words".to_owned()),
    };
    let mut events: Vec<Event> = deadlines.map(|deadline| Event::Expired { deadline }).into();
    events.extend([E::Settled, E::Stop, E::Fault, E::Declared].map(|why| Event::Ending { why }));
    events.extend(kills.map(|why| Event::Kill { why }));
    events.extend(exits.map(dead));
    events.push(Event::Settled { turn: 1, gave_up_tasks: 0 });
    events.push(Event::Slow { silent: 120_000 });
    events.push(Event::Foreign { bytes: -5 });
    events.push(Event::Declared {
        declaration: Declaration::Review,
        note: Some("see the branch".into()),
        turn: 3,
    });
    events.push(Event::Declared { declaration: Declaration::Done, note: None, turn: 4 });
    events.push(Event::Closed);
    events.push(Event::Cancelled { delivery: delivery_id(1) });
    events.push(Event::Parked { reason: "disk full".into(), seen: None });
    events.push(Event::Parked { reason: "crash loop".into(), seen: Some(17) });
    events.push(Event::Forks { from: conversation_id(2), expected_read: 12_497, interrupt: false });
    events.push(Event::Forks { from: conversation_id(2), expected_read: 12_497, interrupt: true });
    events.push(Event::Cache { seen: CacheSeen { expected: 12_497, read: 12_497, written: 17 } });
    events.push(Event::Note { text: "line\nbreak, \"quotes\", \u{2028}".into() });
    events
}

fn rows() -> Vec<Row> {
    let events = [starts(), writes(), decisions(), ends()].concat();
    let row = |(n, ev): (i64, Event)| Row { at: Millis(1_796_053_215_000 + n), off: n as u64 * 100, ev };
    (0..).zip(events).map(row).collect()
}

#[test]
fn rows_of_ctl() {
    let home = TestHome::new();
    let path = home.folder.path().join("ctl");
    let mut ctl = CtlFile::open(&path, 0).unwrap();
    rows().iter().for_each(|row| ctl.append(row).unwrap());
    check("ctl.ndjson", &std::fs::read_to_string(&path).unwrap());
    // What is out there reads as what was meant.
    let stored = CtlFile::open(&path, 0).unwrap().rows().unwrap();
    assert_eq!(stored, rows().into_iter().map(CtlLine::Row).collect::<Vec<_>>());
    let mut kinds: BTreeSet<usize> = rows().iter().map(|row| kind(&row.ev)).collect();
    kinds.insert(kind(&Event::Unknown));
    assert_eq!(kinds.len(), KINDS, "a kind has no row here");
}

#[test]
fn session_json() {
    let home = TestHome::new();
    let dir = home.home.session(session_id(1));
    session_file(session_id(1)).write(&dir).unwrap();
    check("session.json", &std::fs::read_to_string(dir.session_json()).unwrap());
    std::fs::copy(golden("session.json"), dir.session_json()).unwrap();
    SessionFile::read(&dir).unwrap();
}

#[test]
fn schema() {
    let home = TestHome::new();
    let raw = rusqlite::Connection::open(home.home.db_path()).unwrap();
    let number: i64 = raw.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    let lowest: i64 =
        raw.query_row("SELECT value FROM meta WHERE name = 'lowest_reader'", [], |row| row.get(0)).unwrap();
    let mut dump = format!("-- schema {number}, lowest reader {lowest}\n");
    let mut statement = raw
        .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type DESC, name")
        .unwrap();
    for sql in statement.query_map([], |row| row.get::<_, String>(0)).unwrap() {
        dump.push_str(&sql.unwrap());
        dump.push_str(";\n\n");
    }
    check("schema.sql", &dump);
}
