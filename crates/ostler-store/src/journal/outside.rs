//! `gen/0000/ctl`: what happened outside any generation. Its rows carry the newest generation in `off`.

use super::JournalError;
use super::rows::{CtlHead, CtlReader};
use crate::session_dir::SessionDir;
use ostler_core::ids::GenerationNo;

/// Reader of that file; stands before the rows that belong behind some generation.
#[derive(Debug)]
pub(super) struct Outside {
    rows: CtlReader,
}

impl Outside {
    /// At a known place.
    pub(super) fn at(dir: &SessionDir, position: u64, max_line: usize) -> Self {
        Self { rows: CtlReader::at(dir.generation(0).ctl(), position, max_line) }
    }

    /// Goes to the first row that belongs behind `generation` or a later one.
    pub(super) fn skip_before(
        &mut self,
        generation: GenerationNo,
        scratch: &mut [u8],
    ) -> Result<(), JournalError> {
        while self.belongs_behind(generation.saturating_sub(1), scratch)? {
            self.rows.take();
        }
        Ok(())
    }

    pub(super) fn path(&self) -> &std::path::Path {
        self.rows.path()
    }

    /// True when there is a row that belongs behind `generation` or an earlier one.
    pub(super) fn belongs_behind(
        &mut self,
        generation: GenerationNo,
        scratch: &mut [u8],
    ) -> Result<bool, JournalError> {
        self.rows.fill(scratch)?;
        Ok(self.rows.head().is_some_and(|head| head.off() <= u64::from(generation)))
    }

    /// True when a row says that `generation` is over.
    pub(super) fn closes(
        &mut self,
        generation: GenerationNo,
        scratch: &mut [u8],
    ) -> Result<bool, JournalError> {
        self.rows.fill(scratch)?;
        Ok(self.rows.head().is_some_and(|head| head.row.is_some() && head.off() >= u64::from(generation)))
    }

    pub(super) fn take(&mut self) -> Option<CtlHead> {
        self.rows.take()
    }
}
