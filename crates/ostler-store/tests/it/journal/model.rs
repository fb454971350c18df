//! A journal as a list of writes, and what a reader must make of it: written plainly over whole files, as the
//! reference for the follower.

use crate::fixture::{dead, line, note};
use ostler_core::ctl::Row;
use ostler_store::{Cursor, Entry};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// One write by a process.
#[derive(Clone, Debug)]
pub(crate) enum Write {
    MakeGeneration { no: u32 },
    Out { no: u32, bytes: Vec<u8> },
    Ctl { no: u32, bytes: Vec<u8> },
    Exit { no: u32 },
}

/// What a child or its controller does, before offsets are known.
#[derive(Clone, Debug)]
enum Act {
    Out(Vec<u8>),
    /// A row whose writer was so many lines behind.
    Row {
        behind: usize,
    },
    Garbage,
}

/// How a generation's end shows.
#[derive(Clone, Copy, Debug)]
enum End {
    Exit,
    /// A row; `saw_tail`: its writer had seen an unterminated last line.
    Dead {
        saw_tail: bool,
    },
    Both,
    /// Only by the generation after it, if there is one.
    Silent,
}

#[derive(Clone, Debug)]
struct Generation {
    acts: Vec<Act>,
    end: End,
    /// Rows after the end, and rows outside any generation after those.
    after: Vec<Act>,
    outside: Vec<Act>,
}

fn act() -> impl Strategy<Value = Act> {
    // Few different bytes, newlines among them: lines of all small lengths, cut anywhere.
    let byte = prop_oneof![6 => Just(b'a'), 2 => Just(b'\n'), 1 => Just(b'\r'), 1 => Just(0xff)];
    prop_oneof![
        6 => prop::collection::vec(byte, 1..24).prop_map(Act::Out),
        4 => row_act(),
    ]
}

fn row_act() -> impl Strategy<Value = Act> {
    prop_oneof![8 => (0..4usize).prop_map(|behind| Act::Row { behind }), 1 => Just(Act::Garbage)]
}

fn generation() -> impl Strategy<Value = Generation> {
    let end = prop_oneof![
        Just(End::Exit),
        any::<bool>().prop_map(|saw_tail| End::Dead { saw_tail }),
        Just(End::Both),
        Just(End::Silent)
    ];
    let rows = || prop::collection::vec(row_act(), 0..3);
    (prop::collection::vec(act(), 0..24), end, rows(), rows())
        .prop_map(|(acts, end, after, outside)| Generation { acts, end, after, outside })
}

/// Journals of up to three generations.
pub(crate) fn journals() -> impl Strategy<Value = Vec<Write>> {
    let outside = prop::collection::vec(row_act(), 0..3);
    (outside, prop::collection::vec(generation(), 0..4)).prop_map(|(first, generations)| {
        let mut writer = Writer::default();
        writer.outside(&first, 0);
        for (no, generation) in (1..).zip(&generations) {
            writer.generation(no, generation);
        }
        writer.writes
    })
}

/// Turns acts into writes that keep the rules for writers.
#[derive(Default)]
struct Writer {
    writes: Vec<Write>,
    rows: usize,
    /// Line ends in this generation's `out`, the beginning included.
    ends: Vec<u64>,
    len: u64,
    last_off: u64,
}

impl Writer {
    fn generation(&mut self, no: u32, generation: &Generation) {
        (self.ends, self.len, self.last_off) = (vec![0], 0, 0);
        self.writes.push(Write::MakeGeneration { no });
        for act in &generation.acts {
            self.act(no, act);
        }
        match generation.end {
            End::Exit => self.writes.push(Write::Exit { no }),
            End::Dead { saw_tail } => self.dead(no, saw_tail),
            End::Both => {
                self.writes.push(Write::Exit { no });
                self.dead(no, true);
            }
            End::Silent => {}
        }
        for act in &generation.after {
            self.act(no, act);
        }
        self.outside(&generation.outside, no);
    }

    fn act(&mut self, no: u32, act: &Act) {
        match act {
            Act::Out(bytes) => {
                for byte in bytes {
                    self.len += 1;
                    if *byte == b'\n' {
                        self.ends.push(self.len);
                    }
                }
                self.writes.push(Write::Out { no, bytes: bytes.clone() });
            }
            Act::Row { behind } => {
                let seen = self.ends[self.ends.len().saturating_sub(1 + behind)];
                self.row(no, seen);
            }
            Act::Garbage => self.writes.push(Write::Ctl { no, bytes: b"{\"at\":1,\"o\xff\n".to_vec() }),
        }
    }

    fn row(&mut self, no: u32, off: u64) {
        self.rows += 1;
        self.last_off = self.last_off.max(off);
        let row = note(self.last_off, &format!("row {}", self.rows));
        self.writes.push(Write::Ctl { no, bytes: line(&row) });
    }

    fn dead(&mut self, no: u32, saw_tail: bool) {
        let seen = if saw_tail { self.len } else { *self.ends.last().unwrap() };
        self.last_off = self.last_off.max(seen);
        self.writes.push(Write::Ctl { no, bytes: line(&dead(self.last_off)) });
    }

    fn outside(&mut self, acts: &[Act], newest: u32) {
        if acts.is_empty() {
            return;
        }
        self.last_off = u64::from(newest);
        if newest == 0 {
            self.writes.push(Write::MakeGeneration { no: 0 });
        }
        for act in acts {
            // What can't be read says nothing about where it belongs, so it stands behind a row that does.
            self.row(0, u64::from(newest));
            if matches!(act, Act::Garbage) {
                self.act(0, act);
            }
        }
    }
}

/// The files of a journal after some writes.
#[derive(Debug, Default)]
pub(crate) struct Files {
    pub(crate) out: BTreeMap<u32, Vec<u8>>,
    ctl: BTreeMap<u32, Vec<u8>>,
    over: BTreeMap<u32, bool>,
}

impl Files {
    pub(crate) fn of(writes: &[Write]) -> Self {
        let mut files = Self::default();
        for write in writes {
            match write {
                Write::MakeGeneration { no } => {
                    files.over.values_mut().for_each(|over| *over = true);
                    files.over.insert(*no, false);
                }
                Write::Out { no, bytes } => files.out.entry(*no).or_default().extend(bytes),
                Write::Ctl { no, bytes } => {
                    files.ctl.entry(*no).or_default().extend(bytes);
                    if *no == 0 || String::from_utf8_lossy(bytes).contains("\"dead\"") {
                        files.over.values_mut().for_each(|over| *over = true);
                    }
                }
                Write::Exit { no } => {
                    files.over.insert(*no, true);
                }
            }
        }
        files
    }

    /// What a reader of these files must give out.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        let mut entries = Vec::new();
        let outside = rows(self.ctl.get(&0));
        let mut taken = 0;
        let generations: Vec<u32> = self.over.keys().copied().filter(|no| *no > 0).collect();
        for no in std::iter::once(0).chain(generations) {
            if no > 0 {
                entries.push(Entry::Generation { no });
                self.merge(no, &mut entries);
            }
            while let Some((start, end, raw, row)) = outside.get(taken) {
                if row.as_ref().is_some_and(|row| row.off > u64::from(no)) {
                    break;
                }
                let cursor = Cursor { generation: 0, out: u64::from(no), ctl: *end };
                entries.push(row_entry(0, *start, *end, raw, row.as_ref(), cursor));
                taken += 1;
            }
        }
        entries
    }

    fn merge(&self, no: u32, entries: &mut Vec<Entry>) {
        let mut cursor = Cursor { generation: no, out: 0, ctl: 0 };
        let mut lines = self.lines(no).into_iter().peekable();
        let mut off = 0;
        let mut give_lines = |until: u64, cursor: &mut Cursor, entries: &mut Vec<Entry>| {
            while let Some((start, end, bytes)) = lines.next_if(|(_, end, _)| *end <= until) {
                cursor.out = end;
                let cursor = *cursor;
                entries.push(match bytes {
                    Some(bytes) => Entry::Out { no, start, end, bytes, cursor },
                    None => Entry::Tail { no, start, len: end - start, cursor },
                });
            }
        };
        for (start, end, raw, row) in rows(self.ctl.get(&no)) {
            off = row.as_ref().map_or(off, |row| row.off);
            give_lines(off, &mut cursor, entries);
            cursor.ctl = end;
            entries.push(row_entry(no, start, end, &raw, row.as_ref(), cursor));
        }
        give_lines(u64::MAX, &mut cursor, entries);
    }

    /// Start, end and bytes of each line; a tail, where it may be given out, has none.
    fn lines(&self, no: u32) -> Vec<(u64, u64, Option<Vec<u8>>)> {
        let out = self.out.get(&no).map_or(&[][..], Vec::as_slice);
        let mut lines = Vec::new();
        for (start, bytes) in pieces(out) {
            let end = start + bytes.len() as u64;
            match bytes.split_last() {
                Some((b'\n', line)) => lines.push((start, end, Some(line.to_vec()))),
                _ if self.over.get(&no) == Some(&true) => lines.push((start, end, None)),
                _ => {}
            }
        }
        lines
    }
}

/// What stands between newlines, each with its newline and where it begins.
fn pieces(bytes: &[u8]) -> Vec<(u64, &[u8])> {
    let mut start = 0;
    let mut pieces = Vec::new();
    for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
        pieces.push((start, piece));
        start += piece.len() as u64;
    }
    pieces
}

type RowLine = (u64, u64, Vec<u8>, Option<Row>);

fn rows(ctl: Option<&Vec<u8>>) -> Vec<RowLine> {
    let pieces = pieces(ctl.map_or(&[][..], Vec::as_slice));
    let row = |(start, piece): (u64, &[u8])| {
        let raw = piece[..piece.len() - 1].to_vec();
        (start, start + piece.len() as u64, raw.clone(), serde_json::from_slice(&raw).ok())
    };
    pieces.into_iter().map(row).collect()
}

fn row_entry(no: u32, start: u64, end: u64, raw: &[u8], row: Option<&Row>, cursor: Cursor) -> Entry {
    match row {
        Some(row) => Entry::Ctl { no, row: row.clone(), raw: raw.to_vec(), cursor },
        None => Entry::CtlGarbled { no, start, end, cursor },
    }
}
