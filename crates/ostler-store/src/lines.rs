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
        if self.file.is_none() {
            match File::open(&self.path) {
                Ok(mut file) => {
                    file.seek(SeekFrom::Start(self.splitter.consumed()))?;
                    self.file = Some(file);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        let Some(file) = &mut self.file else { return Ok(false) };
        let len = loop {
            match file.read(scratch) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        self.splitter.push(&scratch[..len]);
        Ok(len > 0)
    }
}
