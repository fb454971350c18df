//! Reading a task's journal, in pieces of bounded size.

use super::mapping::{Mapping, Piece};
use ostler_controller::client::{ClientError, Ostler};
use ostler_core::ids::{GenerationNo, SessionId};
use ostler_store::db::TaskRow;
use ostler_store::{Cursor, Entry, Follower};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// How many entries are read at once, at most.
const ENTRIES: usize = 512;
/// And how many bytes of them, about.
const BYTES: usize = 1 << 20;
/// How much text of an unfinished task is kept, in bytes.
const MAX_TEXT: usize = 4 << 20;
/// Of how many tasks the text so far is kept.
const MAX_PARTIALS: usize = 64;

/// A place in the journal of a task.
#[derive(Debug)]
pub(super) struct Reader {
    session: SessionId,
    behind: GenerationNo,
    follower: Option<Follower>,
    mapping: Mapping,
}

impl Reader {
    /// At the beginning of a task that runs.
    pub(super) fn new(row: &TaskRow) -> Self {
        Self { session: row.session, behind: row.behind, follower: None, mapping: Mapping::new(row.delivery) }
    }

    /// What has come since, as far as one piece goes. None: nothing more for now.
    ///
    /// # Errors
    /// The store or the journal can't be read.
    pub(super) fn read(&mut self, ostler: &Ostler) -> Result<Option<Vec<Piece>>, ClientError> {
        if self.follower.is_none() {
            // The session's newest generation when the task began: everything of it comes behind that.
            let from = Cursor { generation: self.behind, out: 0, ctl: 0 };
            self.follower = Some(ostler.follow(self.session, from)?);
        }
        let Some(follower) = &mut self.follower else { return Ok(None) };
        let (mut pieces, mut bytes, mut entries) = (Vec::new(), 0, 0);
        while entries < ENTRIES && bytes < BYTES {
            let next = follower
                .next()
                .map_err(|source| ClientError::Journal { session: self.session, source: Box::new(source) })?;
            let Some(entry) = next else { break };
            entries += 1;
            if let Entry::Out { bytes: line, .. } = &entry {
                bytes += line.len();
            }
            if let Some(delivery) = self.mapping.asks_about(&entry) {
                let with = ostler.db().delivery(delivery)?.and_then(|row| row.continues);
                self.mapping.goes_on(delivery, with);
            }
            pieces.extend(self.mapping.take(&entry));
        }
        Ok((entries > 0).then_some(pieces))
    }
}

/// What a task has said so far.
#[derive(Debug)]
struct Partial {
    reader: Reader,
    text: String,
}

impl Partial {
    fn read_on(&mut self, ostler: &Ostler) -> Result<(), ClientError> {
        while let Some(pieces) = self.reader.read(ostler)? {
            pieces.iter().for_each(|piece| self.add(piece));
        }
        Ok(())
    }

    fn add(&mut self, piece: &Piece) {
        match piece {
            Piece::Break if !self.text.is_empty() && !self.text.ends_with('\n') => self.text.push_str("\n\n"),
            Piece::Said(text) if self.text.len() + text.len() <= MAX_TEXT => self.text.push_str(text),
            _ => {}
        }
    }
}

/// The texts of tasks that somebody asks for again and again: each is read on, not anew.
#[derive(Debug, Default)]
pub(super) struct Partials {
    of: Mutex<HashMap<String, Partial>>,
}

impl Partials {
    /// What a task has said so far: its text without tool calls, 4 MiB at most.
    ///
    /// # Errors
    /// The store or the journal can't be read.
    pub(super) fn text(&self, ostler: &Ostler, row: &TaskRow) -> Result<String, ClientError> {
        let known = self.lock().remove(&row.id);
        let mut partial = known.unwrap_or_else(|| Partial { reader: Reader::new(row), text: String::new() });
        partial.read_on(ostler)?;
        let text = partial.text.trim_end().to_owned();
        if row.ended_at.is_none() {
            let mut all = self.lock();
            if all.len() >= MAX_PARTIALS {
                // Whoever asks for one of those reads it anew.
                all.clear();
            }
            all.insert(row.id.clone(), partial);
        }
        Ok(text)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Partial>> {
        self.of.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
