//! A line that is longer than anybody should hold, from the file to the client in pieces.
//!
//! It is read twice: to see whether it may stand as it is, and to be given. What is held is one piece.

use super::clean::Scan;
use super::record::{self, Kind};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ostler_store::{Cursor, GenDir};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// How much is read in one step: a multiple of three, so that pieces of base64 can be put together.
const PIECE: usize = 48 << 10;

/// Such a line, and how far it is.
#[derive(Debug)]
pub(crate) struct Long {
    file: File,
    kind: Kind,
    start: u64,
    end: u64,
    at: u64,
    cursor: Cursor,
    step: Step,
}

#[derive(Debug)]
enum Step {
    Scan(Scan),
    Give { clean: bool },
}

impl Long {
    /// The bytes `start..end` of a generation's `out`, newline not among them.
    ///
    /// # Errors
    /// The file can't be read.
    pub(crate) fn open(dir: &GenDir, kind: Kind, start: u64, end: u64, cursor: Cursor) -> io::Result<Self> {
        let mut file = File::open(dir.out())?;
        file.seek(SeekFrom::Start(start))?;
        Ok(Self { file, kind, start, end, at: start, cursor, step: Step::Scan(Scan::default()) })
    }

    /// The beginning of the line, at most as much as `buf` holds.
    ///
    /// # Errors
    /// The file can't be read.
    pub(crate) fn beginning<'a>(&mut self, buf: &'a mut [u8]) -> io::Result<&'a [u8]> {
        let len = self.left(buf.len());
        self.file.read_exact(&mut buf[..len])?;
        self.file.seek(SeekFrom::Start(self.start))?;
        Ok(&buf[..len])
    }

    fn left(&self, most: usize) -> usize {
        usize::try_from(self.end - self.at).map_or(most, |left| left.min(most))
    }

    /// One step on; what is to be sent is added to `out`. True: that was the last.
    ///
    /// # Errors
    /// The file can't be read, or is shorter than it was.
    pub(crate) fn step(&mut self, buf: &mut [u8], out: &mut Vec<u8>) -> io::Result<bool> {
        let len = self.left(PIECE.min(buf.len() / 3 * 3));
        let piece = &mut buf[..len];
        self.file.read_exact(piece)?;
        self.at += len as u64;
        let over = self.at == self.end;
        match &mut self.step {
            Step::Scan(scan) => {
                scan.push(piece);
                if over {
                    let clean = scan.is_clean();
                    record::begin(out, self.cursor, self.kind.event(clean));
                    self.file.seek(SeekFrom::Start(self.start))?;
                    self.at = self.start;
                    self.step = Step::Give { clean };
                }
                // An empty one is over at once.
                Ok(over && self.start == self.end && Self::close(out))
            }
            Step::Give { clean } => {
                if *clean {
                    out.extend_from_slice(piece);
                } else {
                    out.extend_from_slice(STANDARD.encode(&*piece).as_bytes());
                }
                Ok(over && Self::close(out))
            }
        }
    }

    fn close(out: &mut Vec<u8>) -> bool {
        out.extend_from_slice(b"\n\n");
        true
    }
}
