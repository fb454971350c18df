//! Folding at the start; reading `out`; appending rows.

use super::disk::{CTL_RESERVE, OUT_RESERVE};
use super::error::ControllerError;
use super::{Controller, log};
use claude_wire::{Frame, Split, Splitter, Tail};
use ostler_core::ctl::{Event, Row};
use ostler_core::ids::{GenerationNo, Millis};
use ostler_core::machine::Machine;
use ostler_os::reserve::{self, Backing, ReserveError};
use ostler_store::{CtlError, CtlFile, Cursor, Entry, Journal, JournalError, SessionDir};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The longest line that is held in memory, in bytes. A longer one is kept in the journal, and counts as garbled.
pub(crate) const MAX_LINE: usize = 64 << 20;

/// Bytes asked of `out` at a time.
const CHUNK: usize = 64 << 10;

/// Wall-clock time.
pub(crate) fn wall() -> Millis {
    let ms = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis();
    Millis(i64::try_from(ms).unwrap_or(i64::MAX))
}

/// Folds a whole journal into `machine`. Gives the last generation and how far its `out` was read.
pub(crate) fn fold(dir: &SessionDir, machine: &mut Machine, now: u64) -> Result<(), JournalError> {
    let mut follower = Journal::open(dir).with_max_line(MAX_LINE).read_from(Cursor::START)?;
    while let Some(entry) = follower.next()? {
        match entry {
            Entry::Out { start, end, bytes, .. } => machine.out((start, end), &Frame::from_vec(bytes), now),
            Entry::OutOversized { end, .. } => machine.garbled(end),
            Entry::Tail { .. } => machine.torn(),
            Entry::Ctl { row, .. } => machine.row(&row, now),
            Entry::Generation { .. } => {}
            Entry::CtlGarbled { .. } => log("a row of ctl can't be read; it is passed over"),
        }
    }
    Ok(())
}

/// A generation's `out`, being read line by line.
#[derive(Debug)]
pub(super) struct OutTail {
    file: File,
    splitter: Splitter,
    /// What is read at a time. It is kept: clearing it at every look would cost more than the read.
    chunk: Box<[u8]>,
    /// Bytes read since the reserve was topped up.
    since_top_up: u64,
}

impl OutTail {
    /// Reads on from `offset`, which is at a line end.
    pub(super) fn open(path: &Path, offset: u64) -> std::io::Result<Self> {
        use std::io::{Seek, SeekFrom};
        let mut file = File::options().read(true).append(true).create(true).open(path)?;
        file.seek(SeekFrom::Start(offset))?;
        let splitter = Splitter::new(offset, MAX_LINE);
        Ok(Self { file, splitter, chunk: vec![0; CHUNK].into_boxed_slice(), since_top_up: OUT_RESERVE })
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Reads one chunk; false when there is nothing new.
    fn read(&mut self) -> std::io::Result<bool> {
        let n = self.file.read(&mut self.chunk)?;
        self.splitter.push(&self.chunk[..n]);
        self.since_top_up += n as u64;
        Ok(n > 0)
    }

    pub(super) fn tail(&self) -> Tail {
        self.splitter.tail()
    }

    /// Tops the reserve up when a part of it may be used; None: not needed.
    pub(super) fn top_up(&mut self) -> Option<Result<Backing, ReserveError>> {
        if self.since_top_up < OUT_RESERVE / 4 {
            return None;
        }
        let topped_up = reserve::top_up(&self.file, OUT_RESERVE);
        if topped_up.is_ok() {
            self.since_top_up = 0;
        }
        Some(topped_up)
    }
}

impl Controller {
    /// Folds what is there, and opens the current generation's files behind it.
    pub(super) fn fold(&mut self) -> Result<(), ControllerError> {
        let now = self.now();
        fold(&self.dir, &mut self.machine, now)?;
        // A controller that was killed right before its `spawn` row has left a folder: rows go there from now on.
        let newest = self.dir.generations()?.last().copied().unwrap_or(0);
        self.open_generation(newest.max(self.machine.generation()))
    }

    /// Opens `out` for reading and `ctl` for writing.
    pub(super) fn open_generation(&mut self, no: GenerationNo) -> Result<(), ControllerError> {
        let files = self.dir.generation(no);
        ostler_os::durable::create_dir_private(&files.path)?;
        self.release_ctl();
        self.ctl = Some(match CtlFile::open(&files.ctl(), CTL_RESERVE) {
            Err(error @ CtlError::DiskFull { .. }) => {
                self.notice_full_disk(&error.to_string());
                CtlFile::open(&files.ctl(), 0)?
            }
            opened => opened?,
        });
        self.out = None;
        if no > 0 && no >= self.machine.generation() {
            let consumed = if no == self.machine.generation() { self.machine.consumed() } else { 0 };
            self.out = Some(OutTail::open(&files.out(), consumed)?);
        }
        Ok(())
    }

    /// Applies every complete line that the child has written.
    pub(super) fn pump(&mut self) -> Result<(), ControllerError> {
        let now = self.now();
        let Some(out) = &mut self.out else { return Ok(()) };
        let mut any = false;
        loop {
            while let Some(split) = out.splitter.next_line() {
                any = true;
                match split {
                    Split::Line { start, end, bytes } => {
                        self.machine.out((start, end), &Frame::from_vec(bytes), now);
                    }
                    Split::Oversized { end, .. } => self.machine.garbled(end),
                }
            }
            if !out.read()? {
                break;
            }
        }
        if any {
            self.dirty = true;
            self.heard = std::time::Instant::now();
            self.slim.touched();
        }
        self.top_up();
        Ok(())
    }

    /// Appends a row and applies it.
    pub(super) fn say(&mut self, ev: Event) -> Result<(), ControllerError> {
        // In a folder that no child ran in yet nothing was read: what `consumed` counts is the `out` of the one before.
        let fresh = self.ctl.as_ref().is_some_and(|ctl| ctl.generation() > Some(self.machine.generation()));
        let off = if fresh { 0 } else { self.machine.consumed() };
        let row = Row { at: wall(), off, ev };
        if let Some(ctl) = &mut self.ctl {
            match ctl.append(&row) {
                Ok(()) => {}
                Err(error) => {
                    if matches!(error, CtlError::DiskFull { .. }) {
                        self.notice_full_disk(&error.to_string());
                    }
                    return Err(error.into());
                }
            }
        }
        self.machine.row(&row, self.now());
        self.dirty = true;
        Ok(())
    }
}
