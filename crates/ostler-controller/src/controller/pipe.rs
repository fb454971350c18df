//! Bracketed writes to the child.
//!
//! `begin` is in `ctl` before the first byte, `done` after the last. A line is begun only when the pipe is empty, so
//! one that fits goes in whole or not at all; a longer one goes in piece by piece while the child reads, which is only
//! done for the first line of a fresh generation.

use super::error::ControllerError;
use super::{Controller, log};
use crate::crash;
use ostler_core::ctl::{Deadline, Event, KillReason, Line};
use ostler_os::fifo::{self, Writer};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::io;
use std::path::Path;

/// What the pipe is made to hold, as far as the system lets us: lines up to this can steer.
const PIPE: usize = 1 << 20;

/// The way to the child.
#[derive(Debug)]
pub(super) struct Pipe {
    writer: Writer,
    capacity: u64,
    long: Option<Long>,
    broken: bool,
}

/// A line that is longer than the pipe, being written.
#[derive(Debug)]
struct Long {
    write: u64,
    bytes: Vec<u8>,
    written: usize,
    /// When the child took the last piece.
    moved: u64,
}

impl Pipe {
    pub(super) fn open(path: &Path) -> Result<Self, fifo::OpenError> {
        let writer = fifo::open_writer(path)?;
        let capacity = writer.grow(PIPE).or_else(|_| writer.capacity()).unwrap_or(4096);
        Ok(Self { writer, capacity: capacity as u64, long: None, broken: false })
    }

    /// A line may be begun.
    pub(super) fn is_ready(&self) -> bool {
        !self.broken && self.long.is_none() && self.writer.pending().is_ok_and(|n| n == 0)
    }

    /// A line is half written.
    pub(super) fn is_writing(&self) -> bool {
        self.long.is_some()
    }

    pub(super) fn capacity(&self) -> u64 {
        self.capacity
    }
}

impl Controller {
    /// Announces a line, writes it, and says so.
    pub(super) fn write_line(&mut self, line: Line, bytes: Vec<u8>) -> Result<(), ControllerError> {
        let write = self.machine.next_write();
        let (len, hash) = (bytes.len() as u64, hash(&bytes));
        self.say(Event::Begin { write, line, len, hash })?;
        crash::point("begin-written");
        self.put(write, bytes)
    }

    /// Writes a line that is announced already.
    pub(super) fn put(&mut self, write: u64, bytes: Vec<u8>) -> Result<(), ControllerError> {
        let now = self.now();
        let Some(pipe) = &mut self.pipe else { return Ok(()) };
        match pipe.writer.write_some(&bytes) {
            Ok(n) if n == bytes.len() => self.written(write),
            Ok(written) => {
                pipe.long = Some(Long { write, bytes, written, moved: now });
                crash::point("line-half-written");
                Ok(())
            }
            Err(error) => {
                self.broken(&error);
                Ok(())
            }
        }
    }

    fn written(&mut self, write: u64) -> Result<(), ControllerError> {
        crash::point("line-written");
        self.say(Event::Done { write })?;
        crash::point("done-written");
        Ok(())
    }

    /// The next pieces of a long line.
    pub(super) fn go_on_writing(&mut self) -> Result<(), ControllerError> {
        let (now, limit) = (self.now(), self.machine.limits().write);
        let Some(pipe) = &mut self.pipe else { return Ok(()) };
        let Some(long) = &mut pipe.long else { return Ok(()) };
        match pipe.writer.write_some(&long.bytes[long.written..]) {
            Ok(0) if now >= long.moved + limit => {
                self.say(Event::Expired { deadline: Deadline::Write })?;
                self.kill(KillReason::SpoiledPipe)
            }
            Ok(0) => Ok(()),
            Ok(n) => {
                long.written += n;
                long.moved = now;
                if long.written < long.bytes.len() {
                    return Ok(());
                }
                let write = long.write;
                pipe.long = None;
                self.written(write)
            }
            Err(error) => {
                self.broken(&error);
                Ok(())
            }
        }
    }

    /// Nobody reads any more: the child is dying, and its death says the rest.
    fn broken(&mut self, error: &io::Error) {
        log(&format!("a line could not be written: {error}"));
        if let Some(pipe) = &mut self.pipe {
            pipe.broken = true;
            pipe.long = None;
        }
    }
}

/// SHA-256, the first 16 bytes in hex.
pub(super) fn hash(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().take(16).fold(String::with_capacity(32), |mut text, byte| {
        // Writing to a String can't fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
