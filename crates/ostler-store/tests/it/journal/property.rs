//! The follower against the reference, over random journals.

use super::model::{Files, Write, journals};
use super::{cursor_of, drain, drain_into, look, read_all};
use crate::fixture::{TestSession, append};
use ostler_store::{Cursor, Entry, Follower, Journal};
use proptest::prelude::*;

fn perform(session: &TestSession, write: &Write) {
    match write {
        Write::MakeGeneration { no } => std::fs::create_dir_all(session.dir.generation(*no).path).unwrap(),
        Write::Out { no, bytes } => session.out(*no, bytes),
        Write::Ctl { no, bytes } => {
            std::fs::create_dir_all(session.dir.generation(*no).path).unwrap();
            session.ctl(*no, bytes);
        }
        Write::Exit { no } => append(&session.dir.generation(*no).exit(), b"{}"),
    }
}

fn is_row(entry: &Entry) -> bool {
    matches!(entry, Entry::Ctl { .. } | Entry::CtlGarbled { .. })
}

fn lines_of(entries: &[Entry]) -> Vec<&Entry> {
    entries.iter().filter(|entry| !is_row(entry)).collect()
}

/// Entries without their cursors, which depend on what was given out before.
fn without_cursors(entries: &[&Entry]) -> Vec<Entry> {
    let strip = |entry: &&Entry| {
        let mut entry = (*entry).clone();
        match &mut entry {
            Entry::Generation { .. } => {}
            Entry::Out { cursor, .. }
            | Entry::OutOversized { cursor, .. }
            | Entry::Ctl { cursor, .. }
            | Entry::CtlGarbled { cursor, .. }
            | Entry::Tail { cursor, .. } => *cursor = Cursor::START,
        }
        entry
    };
    entries.iter().map(strip).collect()
}

/// Which generation an entry is of, and up to where it reaches in `out`; None for a row.
fn reach(entry: &Entry) -> Option<(u32, u64)> {
    match entry {
        Entry::Out { no, end, .. } | Entry::OutOversized { no, end, .. } => Some((*no, *end)),
        Entry::Tail { no, start, len, .. } => Some((*no, start + len)),
        _ => None,
    }
}

/// Everything of a finished journal, with what a live reader may do otherwise: rows late, never early.
fn check_live(live: &[Entry], files: &Files) -> Result<(), TestCaseError> {
    let cold = files.entries();
    prop_assert_eq!(without_cursors(&lines_of(live)), without_cursors(&lines_of(&cold)));
    let rows_of = |entries: &[Entry]| {
        without_cursors(&entries.iter().filter(|entry| is_row(entry)).collect::<Vec<_>>())
    };
    prop_assert_eq!(rows_of(live), rows_of(&cold));
    for (at, entry) in live.iter().enumerate() {
        let Entry::Ctl { no, row, .. } = entry else { continue };
        if *no == 0 {
            continue;
        }
        let early = live[at..].iter().filter_map(reach).any(|(of, end)| of == *no && end <= row.off);
        prop_assert!(!early, "row {:?} came before a line that its writer had seen", row);
    }
    Ok(())
}

/// What is written after a row must be given out after it: the child may be reacting to it.
fn check_causes(live: &[Entry], writes: &[Write]) -> Result<(), TestCaseError> {
    let place = |raw: &[u8]| {
        live.iter().position(|entry| matches!(entry, Entry::Ctl { raw: given, .. } if given == raw))
    };
    for (at, write) in writes.iter().enumerate() {
        let Write::Ctl { no: no @ 1.., bytes } = write else { continue };
        let Some(row) = place(&bytes[..bytes.len() - 1]) else { continue };
        let before: u64 = writes[..at].iter().map(|write| written(write, *no)).sum();
        let effect = live[..row].iter().filter_map(reach).find(|(of, end)| of == no && *end > before);
        prop_assert!(effect.is_none(), "{:?} was written after a row that came later", effect);
    }
    Ok(())
}

fn written(write: &Write, to: u32) -> u64 {
    match write {
        Write::Out { no, bytes } if *no == to => bytes.len() as u64,
        _ => 0,
    }
}

fn check_bytes(entries: &[Entry], files: &Files) -> Result<(), TestCaseError> {
    for (no, out) in &files.out {
        let mut bytes = Vec::new();
        for entry in entries {
            match entry {
                Entry::Out { no: of, bytes: line, .. } if of == no => {
                    bytes.extend(line);
                    bytes.push(b'\n');
                }
                Entry::Tail { no: of, start, len, .. } if of == no => {
                    bytes.extend(&out[*start as usize..(start + len) as usize]);
                }
                _ => {}
            }
        }
        // An unterminated line of a generation that may go on is not given out.
        let complete = out.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        prop_assert!(bytes == *out || bytes == out[..complete], "generation {no}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn a_cold_reader_sees_the_folding_order_from_every_cursor(writes in journals()) {
        let session = TestSession::new();
        for write in &writes {
            perform(&session, write);
        }
        let files = Files::of(&writes);
        let expected = files.entries();
        let entries = read_all(&session.dir);
        prop_assert_eq!(&entries, &expected);
        check_bytes(&entries, &files)?;
        for (at, entry) in entries.iter().enumerate() {
            let cursor: Cursor = cursor_of(entry).to_string().parse().unwrap();
            let mut follower = Journal::open(&session.dir).read_from(cursor).unwrap();
            prop_assert_eq!(follower.cursor(), cursor);
            prop_assert_eq!(drain(&mut follower), &expected[at + 1..], "from {}", cursor);
        }
    }

    #[test]
    fn a_buffer_of_any_size_shows_the_same_from_every_cursor(writes in journals(), size in 1..40usize) {
        let session = TestSession::new();
        for write in &writes {
            perform(&session, write);
        }
        let expected = Files::of(&writes).entries();
        let mut buf = vec![0; size];
        let open = |cursor| Journal::open(&session.dir).read_from(cursor).unwrap();
        prop_assert_eq!(&drain_into(&mut open(Cursor::START), &mut buf), &expected);
        for (at, entry) in expected.iter().enumerate() {
            let mut follower = open(cursor_of(entry));
            prop_assert_eq!(drain_into(&mut follower, &mut buf), &expected[at + 1..]);
            prop_assert_eq!(follower.cursor(), expected.last().map_or(Cursor::START, cursor_of));
        }
    }

    #[test]
    fn a_live_reader_may_use_a_buffer_or_none(
        writes in journals(),
        reads in prop::collection::vec((0..4usize, 0..40usize, prop::bool::weighted(0.2)), 1..24),
    ) {
        let session = TestSession::new();
        let open = |cursor| Journal::open(&session.dir).read_from(cursor).unwrap();
        let mut follower: Follower = open(Cursor::START);
        let mut live = Vec::new();
        let mut reads = reads.iter().cycle();
        for write in &writes {
            perform(&session, write);
            let (count, size, restart) = reads.next().unwrap();
            if *restart {
                follower = open(follower.cursor());
            }
            for _ in 0..*count {
                match size {
                    0 => live.extend(follower.next().unwrap()),
                    size => live.extend(look(&mut follower, &mut vec![0; *size])),
                }
            }
        }
        live.extend(drain_into(&mut follower, &mut [0; 16]));
        prop_assert!(drain(&mut follower).is_empty());
        let files = Files::of(&writes);
        check_live(&live, &files)?;
        check_causes(&live, &writes)?;
        check_bytes(&live, &files)?;
    }

    #[test]
    fn a_live_reader_loses_and_doubles_nothing(
        writes in journals(),
        reads in prop::collection::vec((0..6usize, prop::bool::weighted(0.3)), 1..24),
    ) {
        let session = TestSession::new();
        let open = |cursor| Journal::open(&session.dir).read_from(cursor).unwrap();
        let mut follower: Follower = open(Cursor::START);
        let mut live = Vec::new();
        let mut reads = reads.iter().cycle();
        for write in &writes {
            perform(&session, write);
            let (count, restart) = reads.next().unwrap();
            if *restart {
                follower = open(follower.cursor());
            }
            for _ in 0..*count {
                live.extend(follower.next().unwrap());
            }
        }
        live.extend(drain(&mut follower));
        prop_assert!(drain(&mut follower).is_empty());
        let files = Files::of(&writes);
        check_live(&live, &files)?;
        check_causes(&live, &writes)?;
        check_bytes(&live, &files)?;
        // Whoever reads the finished files sees one order, whatever was seen while they grew.
        prop_assert_eq!(read_all(&session.dir), files.entries());
    }
}
