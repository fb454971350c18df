//! From generation to generation.

use super::inside::{self, Inside};
use super::outside::Outside;
use super::{Entry, JournalError};
use crate::cursor::{Cursor, CursorError};
use crate::lines::CHUNK;
use crate::session_dir::SessionDir;
use ostler_core::ids::GenerationNo;
use std::mem;
use std::path::PathBuf;

/// Goes through a journal entry by entry and can wait at its end for more.
#[derive(Debug)]
pub struct Follower {
    dir: SessionDir,
    max_line: usize,
    place: Place,
    outside: Outside,
    cursor: Cursor,
    /// Generations that were there when reading began: one in between may be missing.
    known: Vec<GenerationNo>,
    /// Empty until it is needed: readers that bring a buffer of their own never need it.
    scratch: Vec<u8>,
}

/// What [`Follower::next_into`] found.
#[derive(Debug)]
pub enum Found<'a> {
    /// Whole lines of the child's stdout.
    Lines {
        /// The generation.
        no: GenerationNo,
        /// The bytes, each line with its newline.
        bytes: &'a [u8],
        /// The place before the first of them. The place behind any of them is this one with `out` moved on.
        before: Cursor,
    },
    /// Anything, also a single line.
    Entry(Entry),
}

#[derive(Debug)]
enum Place {
    /// In a generation. `closed`: nothing is appended to its files any more.
    Inside { inside: Box<Inside>, closed: bool },
    /// Behind a generation (0: before the first). `next`: the one that follows exists.
    Outside { behind: GenerationNo, next: Option<GenerationNo> },
}

impl Follower {
    pub(super) fn new(dir: SessionDir, cursor: Cursor, max_line: usize) -> Result<Self, JournalError> {
        let mut scratch = vec![0; CHECKING];
        let known = dir.generations().map_err(|e| JournalError::io("list", &dir.gen_root(), e))?;
        let named = match cursor.generation {
            0 => GenerationNo::try_from(cursor.out).map_err(|_| CursorError::NoGeneration { cursor })?,
            no => no,
        };
        if named != 0 && !known.contains(&named) {
            return Err(CursorError::NoGeneration { cursor }.into());
        }
        let mut follower = Self {
            outside: Outside::at(&dir, 0, max_line),
            place: Place::Outside { behind: named, next: None },
            dir,
            max_line,
            cursor,
            known,
            scratch: Vec::new(),
        };
        follower.go_to(cursor, &mut scratch)?;
        Ok(follower)
    }

    fn go_to(&mut self, cursor: Cursor, scratch: &mut [u8]) -> Result<(), JournalError> {
        let no = cursor.generation;
        if no == 0 {
            inside::check(&self.dir.generation(0).ctl(), cursor.ctl, cursor)?;
            self.outside = Outside::at(&self.dir, cursor.ctl, self.max_line);
            return Ok(());
        }
        self.outside.skip_before(no, scratch)?;
        let closed = self.is_closed(no, scratch)?;
        let inside = Box::new(Inside::at(self.dir.generation(no), cursor, self.max_line, closed)?);
        self.place = Place::Inside { inside, closed };
        Ok(())
    }

    /// True when nothing is appended to the files of generation `no` any more.
    fn is_closed(&mut self, no: GenerationNo, scratch: &mut [u8]) -> Result<bool, JournalError> {
        Ok(self.outside.closes(no, scratch)? || self.generation_behind(no)?.is_some())
    }

    /// The next entry, or None when there is nothing more right now. After an error it can be called again.
    ///
    /// # Errors
    /// A file can't be read.
    #[expect(clippy::should_implement_trait, reason = "None is not the end, as an iterator would promise")]
    pub fn next(&mut self) -> Result<Option<Entry>, JournalError> {
        let mut scratch = mem::take(&mut self.scratch);
        if scratch.is_empty() {
            scratch = vec![0; CHUNK];
        }
        let entry = self.next_entry(&mut scratch);
        self.scratch = scratch;
        entry
    }

    /// The same for many lines at once, through a buffer of the caller's: between two calls the follower holds next to
    /// nothing. None when there is nothing more right now.
    ///
    /// # Errors
    /// A file can't be read.
    pub fn next_into<'a>(&mut self, buf: &'a mut [u8]) -> Result<Option<Found<'a>>, JournalError> {
        if let Place::Inside { inside, .. } = &mut self.place {
            let before = inside.cursor;
            let whole = inside.next_lines(buf)?;
            let entry = if whole == 0 { inside.next_row() } else { None };
            self.cursor = inside.cursor;
            if whole > 0 {
                let no = before.generation;
                return Ok(Some(Found::Lines { no, bytes: &buf[..whole], before }));
            }
            if let Some(entry) = entry {
                return Ok(Some(Found::Entry(entry)));
            }
        }
        Ok(self.next_entry(buf)?.map(Found::Entry))
    }

    /// Of the lines that [`Self::next_into`] gave out last, only the first ones, `bytes` bytes together, were taken: the
    /// others come again. Nothing may have been asked for since.
    ///
    /// # Errors
    /// The file can't be read.
    pub fn took(&mut self, before: Cursor, bytes: usize) -> Result<(), JournalError> {
        if let Place::Inside { inside, .. } = &mut self.place {
            inside.go_back(before.out + bytes as u64)?;
            self.cursor = inside.cursor;
        }
        Ok(())
    }

    fn next_entry(&mut self, scratch: &mut [u8]) -> Result<Option<Entry>, JournalError> {
        loop {
            let entry = match self.place {
                Place::Inside { .. } => self.next_inside(scratch)?,
                Place::Outside { .. } => self.next_outside(scratch)?,
            };
            match entry {
                Step::Entry(entry) => return Ok(Some(entry)),
                Step::Nothing => return Ok(None),
                Step::Moved => {}
            }
        }
    }

    fn next_inside(&mut self, scratch: &mut [u8]) -> Result<Step, JournalError> {
        let Place::Inside { inside, closed } = &mut self.place else { return Ok(Step::Moved) };
        if let Some(entry) = inside.next(scratch)? {
            self.cursor = inside.cursor;
            return Ok(Step::Entry(entry));
        }
        let no = inside.dir.no;
        if *closed {
            self.place = Place::Outside { behind: no, next: None };
            return Ok(Step::Moved);
        }
        // What shows that it is over must be seen before its files are read for the last time.
        if !self.is_closed(no, scratch)? {
            return Ok(Step::Nothing);
        }
        if let Place::Inside { inside, closed } = &mut self.place {
            inside.note_death();
            *closed = true;
        }
        Ok(Step::Moved)
    }

    fn next_outside(&mut self, scratch: &mut [u8]) -> Result<Step, JournalError> {
        let Place::Outside { behind, next } = self.place else { return Ok(Step::Moved) };
        if self.outside.belongs_behind(behind, scratch)?
            && let Some(row) = self.outside.take()
        {
            self.cursor = Cursor { generation: 0, out: u64::from(behind), ctl: row.end };
            return Ok(Step::Entry(row.into_entry(0, self.cursor)));
        }
        let Some(no) = next else {
            // As above: rows are looked for once more after the next generation was seen.
            let next = self.generation_behind(behind)?;
            self.place = Place::Outside { behind, next };
            return Ok(if next.is_some() { Step::Moved } else { Step::Nothing });
        };
        let cursor = Cursor { generation: no, out: 0, ctl: 0 };
        let inside = Box::new(Inside::at(self.dir.generation(no), cursor, self.max_line, false)?);
        self.place = Place::Inside { inside, closed: false };
        self.cursor = cursor;
        Ok(Step::Entry(Entry::Generation { no }))
    }

    /// The generation that comes after `no`, if it exists.
    fn generation_behind(&self, no: GenerationNo) -> Result<Option<GenerationNo>, JournalError> {
        let Some(successor) = no.checked_add(1) else { return Ok(None) };
        if let Some(known) = self.known.iter().find(|known| **known >= successor) {
            return Ok(Some(*known));
        }
        let path = self.dir.generation(successor).path;
        match path.try_exists() {
            Ok(exists) => Ok(exists.then_some(successor)),
            Err(error) => Err(JournalError::io("look at", &path, error)),
        }
    }

    /// The place behind the last entry that was given out.
    #[must_use]
    pub fn cursor(&self) -> Cursor {
        self.cursor
    }

    /// The newest generation that it has come to; 0: none yet.
    #[must_use]
    pub fn generation(&self) -> GenerationNo {
        match &self.place {
            Place::Inside { inside, .. } => inside.dir.no,
            Place::Outside { behind, .. } => *behind,
        }
    }

    /// The session's folder.
    #[must_use]
    pub fn dir(&self) -> &SessionDir {
        &self.dir
    }

    /// Files and folders, all existing, one of which changes when there is more. Ask again after each wait: the list
    /// changes with new files and generations.
    #[must_use]
    pub fn watch_paths(&self) -> Vec<PathBuf> {
        let mut paths = vec![self.dir.path.clone(), self.dir.gen_root(), self.outside.path().to_owned()];
        if !paths[2].exists() {
            // Its folder comes first.
            paths[2].pop();
        }
        if let Place::Inside { inside, .. } = &self.place {
            let dir = &inside.dir;
            paths.extend([dir.path.clone(), dir.out(), dir.ctl()]);
        }
        paths.retain(|path| path.exists());
        // The session folder matters only until there is a folder of generations.
        if paths.get(1).is_some_and(|second| *second == self.dir.gen_root()) {
            paths.remove(0);
        }
        paths
    }
}

/// How much is read at once of the rows outside any generation while a place is found.
const CHECKING: usize = 4096;

enum Step {
    Entry(Entry),
    /// Look again: the place changed.
    Moved,
    Nothing,
}
