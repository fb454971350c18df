//! Following journals.

#[path = "journal/cases.rs"]
mod cases;
#[path = "journal/cursors.rs"]
mod cursors;
#[path = "journal/model.rs"]
mod model;
#[path = "journal/property.rs"]
mod property;

use ostler_store::{Cursor, Entry, Follower, Found, Journal, SessionDir};

fn drain(follower: &mut Follower) -> Vec<Entry> {
    let mut entries = Vec::new();
    while let Some(entry) = follower.next().unwrap() {
        entries.push(entry);
    }
    entries
}

fn read_all(dir: &SessionDir) -> Vec<Entry> {
    drain(&mut Journal::open(dir).read_from(Cursor::START).unwrap())
}

/// What one look through a buffer finds, line by line.
fn look(follower: &mut Follower, buf: &mut [u8]) -> Vec<Entry> {
    match follower.next_into(buf).unwrap() {
        None => Vec::new(),
        Some(Found::Entry(entry)) => vec![entry],
        Some(Found::Lines { no, bytes, before }) => {
            assert!(bytes.ends_with(b"\n"), "a piece of a line is no line");
            let mut start = before.out;
            let line = |line: &[u8]| {
                let end = start + line.len() as u64;
                let cursor = Cursor { out: end, ..before };
                let bytes = line[..line.len() - 1].to_vec();
                let entry = Entry::Out { no, start, end, bytes, cursor };
                start = end;
                entry
            };
            bytes.split_inclusive(|byte| *byte == b'\n').map(line).collect()
        }
    }
}

fn drain_into(follower: &mut Follower, buf: &mut [u8]) -> Vec<Entry> {
    let mut entries = Vec::new();
    loop {
        let found = look(follower, buf);
        if found.is_empty() {
            return entries;
        }
        entries.extend(found);
    }
}

fn cursor_of(entry: &Entry) -> Cursor {
    match entry {
        Entry::Generation { no } => Cursor { generation: *no, out: 0, ctl: 0 },
        Entry::Out { cursor, .. }
        | Entry::OutOversized { cursor, .. }
        | Entry::Ctl { cursor, .. }
        | Entry::CtlGarbled { cursor, .. }
        | Entry::Tail { cursor, .. } => *cursor,
    }
}

/// Short forms, for comparing at a glance: `g1`, `1:text`, `1!text` for a note of `ctl`, …
fn short(entries: &[Entry]) -> Vec<String> {
    entries.iter().map(short_form).collect()
}

fn short_form(entry: &Entry) -> String {
    use ostler_core::ctl::Event;
    match entry {
        Entry::Generation { no } => format!("g{no}"),
        Entry::Out { no, bytes, .. } => format!("{no}:{}", String::from_utf8_lossy(bytes)),
        Entry::OutOversized { no, start, end, .. } => format!("{no}:oversized {start}-{end}"),
        Entry::Ctl { no, row, .. } => match &row.ev {
            Event::Note { text } => format!("{no}!{text}"),
            Event::Dead { .. } => format!("{no}!dead"),
            other => format!("{no}!{other:?}"),
        },
        Entry::CtlGarbled { no, start, end, .. } => format!("{no}!garbled {start}-{end}"),
        Entry::Tail { no, start, len, .. } => format!("{no}:tail {start}+{len}"),
    }
}
