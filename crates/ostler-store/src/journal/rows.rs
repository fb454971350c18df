//! The rows of one `ctl` file, one ahead.

use super::JournalError;
use crate::lines::LineFile;
use claude_wire::Split;
use ostler_core::ctl::Row;
use std::path::PathBuf;

/// A line of `ctl`, parsed.
#[derive(Debug)]
pub(super) struct CtlHead {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Empty when it was too long to hold.
    pub(super) raw: Vec<u8>,
    /// None when the line is no row.
    pub(super) row: Option<Row>,
}

impl CtlHead {
    fn parse(line: Split) -> Self {
        match line {
            Split::Line { start, end, bytes } => {
                let row = serde_json::from_slice(&bytes).ok();
                Self { start, end, raw: bytes, row }
            }
            Split::Oversized { start, end } => Self { start, end, raw: Vec::new(), row: None },
        }
    }

    /// Where it belongs. What can't be read belongs where the row before it stood.
    pub(super) fn off(&self) -> u64 {
        self.row.as_ref().map_or(0, |row| row.off)
    }
}

/// Reads `ctl` row by row.
#[derive(Debug)]
pub(super) struct CtlReader {
    lines: LineFile,
    head: Option<CtlHead>,
}

impl CtlReader {
    pub(super) fn at(path: PathBuf, position: u64, max_line: usize) -> Self {
        Self { lines: LineFile::at(path, position, max_line), head: None }
    }

    pub(super) fn path(&self) -> &std::path::Path {
        self.lines.path()
    }

    /// The next row that was read already.
    pub(super) fn head(&self) -> Option<&CtlHead> {
        self.head.as_ref()
    }

    /// Reads the next row, if there is one. A torn last row is as good as absent.
    pub(super) fn fill(&mut self, scratch: &mut [u8]) -> Result<(), JournalError> {
        if self.head.is_some() {
            return Ok(());
        }
        let filled = match self.lines.fill(scratch) {
            Ok(false) => self.lines.forget_tail().map(|()| false),
            filled => filled,
        };
        if filled.map_err(|e| JournalError::io("read", self.lines.path(), e))? {
            self.head = self.lines.take().map(CtlHead::parse);
        }
        Ok(())
    }

    pub(super) fn take(&mut self) -> Option<CtlHead> {
        self.head.take()
    }
}
