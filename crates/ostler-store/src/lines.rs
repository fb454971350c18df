//! Complete lines of a file that another process may still be appending to.

use claude_wire::{Split, Splitter, Tail};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// How much is read at once.
pub(crate) const CHUNK: usize = 64 << 10;

/// A file that is read line by line, forwards. It need not exist yet.
#[derive(Debug)]
pub(crate) struct LineFile {
    path: PathBuf,
    file: Option<File>,
    splitter: Splitter,
    max_line: usize,
    /// The line that comes next, once it is known.
    head: Option<Split>,
}

impl LineFile {
    /// Starts at `position`, which is a line start.
    pub(crate) fn at(path: PathBuf, position: u64, max_line: usize) -> Self {
        Self { path, file: None, splitter: Splitter::new(position, max_line), max_line, head: None }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The next line, if it has been read already.
    pub(crate) fn head(&mut self) -> Option<&Split> {
        if self.head.is_none() {
            self.head = self.splitter.next_line();
        }
        self.head.as_ref()
    }

    /// Takes the line that [`Self::head`] showed.
    pub(crate) fn take(&mut self) -> Option<Split> {
        self.head.take()
    }

    /// What stands behind the last complete line, of what was read.
    pub(crate) fn tail(&self) -> Tail {
        self.splitter.tail()
    }

    /// Reads until a line is complete; false when the file has no more right now.
    pub(crate) fn fill(&mut self, scratch: &mut [u8]) -> io::Result<bool> {
        while self.head().is_none() {
            if !self.read_chunk(scratch)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Nothing is held: the next byte that is read begins a line.
    pub(crate) fn is_between(&mut self) -> bool {
        self.head().is_none() && self.tail().len == 0
    }

    /// Reads once, straight into `buf`, and gives how many bytes of it are whole lines; only those count as read, and
    /// nothing is held. Only between lines, see [`Self::is_between`].
    pub(crate) fn read_whole(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        debug_assert!(self.is_between(), "what is held would be given out too late");
        let position = self.splitter.consumed();
        let len = self.read_some(buf)?;
        let whole = behind_newline(&buf[..len]);
        self.step_back_to(position + whole as u64, whole < len)?;
        Ok(whole)
    }

    /// Takes back what was read behind `position`, a line start.
    pub(crate) fn step_back_to(&mut self, position: u64, seek: bool) -> io::Result<()> {
        // A new one holds no memory.
        self.splitter = Splitter::new(position, self.max_line);
        if seek && let Some(file) = &mut self.file {
            file.seek(SeekFrom::Start(position))?;
        }
        Ok(())
    }

    /// Forgets what was read of an unfinished line, so that it is read again: its writer may have been killed in the
    /// middle of it, and whoever came next has cut it off.
    pub(crate) fn forget_tail(&mut self) -> io::Result<()> {
        if self.tail().len > 0 {
            let start = self.tail().start;
            self.splitter = Splitter::new(start, self.max_line);
            if let Some(file) = &mut self.file {
                file.seek(SeekFrom::Start(start))?;
            }
        }
        Ok(())
    }

    fn read_chunk(&mut self, scratch: &mut [u8]) -> io::Result<bool> {
        let len = self.read_some(scratch)?;
        self.splitter.push(&scratch[..len]);
        Ok(len > 0)
    }

    /// Some bytes from where reading is; 0: none now.
    fn read_some(&mut self, scratch: &mut [u8]) -> io::Result<usize> {
        if self.file.is_none() {
            match File::open(&self.path) {
                Ok(mut file) => {
                    file.seek(SeekFrom::Start(self.splitter.consumed()))?;
                    self.file = Some(file);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
                Err(error) => return Err(error),
            }
        }
        let Some(file) = &mut self.file else { return Ok(0) };
        loop {
            match file.read(scratch) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }
}

/// How many bytes there are up to and with the last newline.
pub(crate) fn behind_newline(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)
}
