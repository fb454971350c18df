//! One generation: its `out` and its `ctl`, merged.

use super::rows::{CtlHead, CtlReader};
use super::{Entry, JournalError};
use crate::cursor::{Cursor, CursorError};
use crate::lines::{CHUNK, LineFile, behind_newline};
use crate::session_dir::GenDir;
use claude_wire::{Split, Tail};
use ostler_core::ctl::Event;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// Reader of one generation.
#[derive(Debug)]
pub(super) struct Inside {
    pub(super) dir: GenDir,
    out: LineFile,
    ctl: CtlReader,
    /// The place behind the last entry.
    pub(super) cursor: Cursor,
    /// `ctl` was read to its end after `out` was read last, so no row is missing that announced what `out` says.
    ctl_is_newer: bool,
    ending: Ending,
    /// The rows that were there when reading began need not be searched for a death (any more).
    searched: bool,
}

/// How much is known about the end of a generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// Its child may write more.
    Open,
    /// Its child is dead. What it wrote last may not have been read yet.
    Dead,
    /// Its child is dead, and the unterminated last line was given out.
    TailGiven,
}

impl Inside {
    /// Goes on behind `cursor`, which is checked. `closed`: it is known that nothing is appended any more.
    pub(super) fn at(
        dir: GenDir,
        cursor: Cursor,
        max_line: usize,
        closed: bool,
    ) -> Result<Self, JournalError> {
        let mut inside = Self {
            out: LineFile::at(dir.out(), cursor.out, max_line),
            ctl: CtlReader::at(dir.ctl(), cursor.ctl, max_line),
            dir,
            cursor,
            ctl_is_newer: false,
            ending: if closed { Ending::Dead } else { Ending::Open },
            searched: cursor.ctl == 0 && cursor.out == 0,
        };
        check(&inside.dir.ctl(), cursor.ctl, cursor)?;
        if let Err(error) = check(&inside.dir.out(), cursor.out, cursor) {
            inside.check_behind_tail(error)?;
        }
        Ok(inside)
    }

    /// In the middle of a line is a place only at the very end of a finished generation: behind its tail.
    fn check_behind_tail(&mut self, error: JournalError) -> Result<(), JournalError> {
        let end = self.cursor.out;
        let at_end = matches!(&error, JournalError::Cursor(CursorError::InsideLine { .. }))
            && length(&self.dir.out())? == end;
        if !at_end || !(self.ending == Ending::Dead || self.says_dead(end)?) {
            return Err(error);
        }
        self.ending = Ending::TailGiven;
        Ok(())
    }

    /// The next entry; None when nothing more can be given out now.
    pub(super) fn next(&mut self, scratch: &mut [u8]) -> Result<Option<Entry>, JournalError> {
        loop {
            self.read(scratch)?;
            let line_end = self.out.head().map(end_of);
            let row_off = self.ctl.head().map(CtlHead::off);
            match (line_end, row_off) {
                (Some(end), Some(off)) if end > off => return Ok(self.give_row()),
                (Some(_), _) => return Ok(self.give_line()),
                (None, Some(off)) if off <= self.cursor.out => return Ok(self.give_row()),
                (None, _) => {}
            }
            // No complete line is left, and the next row, if any, belongs behind more than there is.
            let tail = self.out.tail();
            match self.ending {
                Ending::Open if row_off.is_some() => {
                    // Its writer had seen that much, so it is there, and whole unless it is a dead child's last line.
                    if !self.fill_out(scratch)? {
                        self.note_death();
                    }
                }
                Ending::Open => {
                    if tail.len == 0 || !self.says_dead(tail.start + tail.len)? {
                        return Ok(None);
                    }
                    self.note_death();
                }
                Ending::Dead if tail.len > 0 && row_off.is_none_or(|off| off >= tail.start + tail.len) => {
                    return Ok(Some(self.give_tail(tail)));
                }
                // A row may say that it saw more of `out` than there is: the machine lost its power in between.
                Ending::Dead | Ending::TailGiven => return Ok(self.give_row()),
            }
        }
    }

    /// Whole lines, as many as fit and belong before the next row, read straight into `buf`; how many bytes. 0 doesn't
    /// mean that there is nothing: [`Self::next`] says what comes.
    pub(super) fn next_lines(&mut self, buf: &mut [u8]) -> Result<usize, JournalError> {
        if self.ending == Ending::TailGiven || !self.out.is_between() {
            return Ok(0);
        }
        let before = self.cursor.out;
        if self.ctl.head().is_none() {
            self.ctl.fill(buf)?;
        }
        // How far the next row lets us read, if there is one.
        let allowed = |ctl: &CtlReader| ctl.head().map(|row| row.off().saturating_sub(before));
        let known = allowed(&self.ctl).map(|allowed| usize::try_from(allowed).unwrap_or(usize::MAX));
        let room = known.map_or(buf.len(), |allowed| allowed.min(buf.len()));
        if room == 0 {
            return Ok(0);
        }
        let failed = |out: &LineFile, e| JournalError::io("read", out.path(), e);
        let mut whole = self.out.read_whole(&mut buf[..room]).map_err(|e| failed(&self.out, e))?;
        if known.is_none() && whole > 0 {
            // As always `ctl` comes after `out`: a row that announced what one of these lines says is there now.
            self.ctl.fill(&mut [0; 4096])?;
            if let Some(allowed) = allowed(&self.ctl)
                && allowed < whole as u64
            {
                let allowed = usize::try_from(allowed).unwrap_or(usize::MAX);
                whole = behind_newline(&buf[..allowed]);
                let stepped = self.out.step_back_to(before + whole as u64, true);
                stepped.map_err(|e| failed(&self.out, e))?;
            }
        }
        self.cursor.out = before + whole as u64;
        Ok(whole)
    }

    /// Has the lines behind `out`, a line start, read once more.
    pub(super) fn go_back(&mut self, out: u64) -> Result<(), JournalError> {
        self.out.step_back_to(out, true).map_err(|e| JournalError::io("read", self.out.path(), e))?;
        self.cursor.out = out;
        Ok(())
    }

    /// The next row, when it belongs before whatever `out` may have next. Reads nothing.
    pub(super) fn next_row(&mut self) -> Option<Entry> {
        let is_due = self.out.is_between() && self.ctl.head()?.off() <= self.cursor.out;
        if is_due { self.give_row() } else { None }
    }

    /// Has the next line and the next row ready where there are any. `out` comes first: a row is appended before the
    /// child can react to what it announces, so reading `ctl` after `out` never shows a reaction alone.
    fn read(&mut self, scratch: &mut [u8]) -> Result<(), JournalError> {
        if self.out.head().is_none() && self.ending != Ending::TailGiven {
            self.fill_out(scratch)?;
        }
        if self.ctl.head().is_none() && !self.ctl_is_newer {
            self.ctl.fill(scratch)?;
            self.ctl_is_newer = self.ctl.head().is_none() && self.out.head().is_some();
        }
        Ok(())
    }

    fn fill_out(&mut self, scratch: &mut [u8]) -> Result<bool, JournalError> {
        self.ctl_is_newer = false;
        self.out.fill(scratch).map_err(|e| JournalError::io("read", self.out.path(), e))
    }

    /// The child is known to be dead. What it wrote before that is read once more.
    pub(super) fn note_death(&mut self) {
        if self.ending == Ending::Open {
            self.ending = Ending::Dead;
        }
    }

    /// True when this generation's own files say that the child is dead; `out_end`: where `out` ends, in an
    /// unterminated line.
    fn says_dead(&mut self, out_end: u64) -> Result<bool, JournalError> {
        let exit = self.dir.exit();
        if exit.try_exists().map_err(|e| JournalError::io("look at", &exit, e))? {
            return Ok(true);
        }
        if self.searched {
            return Ok(false);
        }
        // Some row says it, maybe, that an earlier follower gave out. Rows to come are seen when they come.
        self.searched = true;
        let mut rows = CtlReader::at(self.dir.ctl(), 0, super::MAX_LINE);
        let mut scratch = vec![0; CHUNK];
        loop {
            rows.fill(&mut scratch)?;
            match rows.take() {
                Some(row) if is_death(&row) || row.off() >= out_end => return Ok(true),
                Some(_) => {}
                None => return Ok(false),
            }
        }
    }

    fn give_line(&mut self) -> Option<Entry> {
        let no = self.dir.no;
        Some(match self.out.take()? {
            Split::Line { start, end, bytes } => {
                self.cursor.out = end;
                Entry::Out { no, start, end, bytes, cursor: self.cursor }
            }
            Split::Oversized { start, end } => {
                self.cursor.out = end;
                Entry::OutOversized { no, start, end, cursor: self.cursor }
            }
        })
    }

    fn give_tail(&mut self, tail: Tail) -> Entry {
        self.ending = Ending::TailGiven;
        self.cursor.out = tail.start + tail.len;
        Entry::Tail { no: self.dir.no, start: tail.start, len: tail.len, cursor: self.cursor }
    }

    fn give_row(&mut self) -> Option<Entry> {
        let head = self.ctl.take()?;
        if is_death(&head) {
            self.note_death();
        }
        self.cursor.ctl = head.end;
        Some(head.into_entry(self.dir.no, self.cursor))
    }
}

fn end_of(line: &Split) -> u64 {
    match line {
        Split::Line { end, .. } | Split::Oversized { end, .. } => *end,
    }
}

fn is_death(head: &CtlHead) -> bool {
    head.row.as_ref().is_some_and(|row| matches!(row.ev, Event::Dead { .. }))
}

impl CtlHead {
    pub(super) fn into_entry(self, no: u32, cursor: Cursor) -> Entry {
        match self.row {
            Some(row) => Entry::Ctl { no, row, raw: self.raw, cursor },
            None => Entry::CtlGarbled { no, start: self.start, end: self.end, cursor },
        }
    }
}

/// Is `offset` a line start of that file, or its end behind a newline? A file that is missing is empty.
pub(super) fn check(path: &Path, offset: u64, cursor: Cursor) -> Result<(), JournalError> {
    if offset == 0 {
        return Ok(());
    }
    let len = length(path)?;
    if offset > len {
        return Err(CursorError::BehindEnd { cursor, path: path.to_owned(), len }.into());
    }
    let mut before = [0];
    let read = File::open(path).and_then(|mut file| {
        file.seek(SeekFrom::Start(offset - 1))?;
        file.read_exact(&mut before)
    });
    read.map_err(|e| JournalError::io("read", path, e))?;
    if before != *b"\n" {
        return Err(CursorError::InsideLine { cursor, path: path.to_owned() }.into());
    }
    Ok(())
}

fn length(path: &Path) -> Result<u64, JournalError> {
    match std::fs::metadata(path) {
        Ok(found) => Ok(found.len()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(JournalError::io("look at", path, error)),
    }
}
