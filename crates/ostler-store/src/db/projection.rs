//! What a journal folds to, as rows.

mod deliveries;
mod generations;
mod permissions;
mod spend;
mod turns;

use super::error::Failure;
use super::{Db, DbError, changes, sessions};
use ostler_core::ids::SessionId;
use ostler_core::record::Record;
use ostler_core::rows::Projection;
use rusqlite::{Connection, Transaction};
use std::collections::HashSet;
use std::hash::Hash;

/// A change of a session's record that goes with a projection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordChange {
    /// The revision that it was derived from.
    pub expected: u64,
    /// The record from now on.
    pub new: Record,
}

/// What a commit did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Committed {
    /// Some row was not as the projection has it.
    pub changed: bool,
    /// False when the record was to change and somebody else had changed it first: read it again and decide anew.
    pub record_set: bool,
}

impl Db {
    /// Makes the session's rows equal to `projection`, in one transaction, and adds to the change feed what was not
    /// equal. Rows that are equal are not written. Decisions of faces are left alone.
    ///
    /// # Errors
    /// [`DbError::NoSession`], or the database can't be written.
    pub fn commit_projection(
        &self,
        session: SessionId,
        projection: &Projection,
        record: Option<&RecordChange>,
    ) -> Result<Committed, DbError> {
        let Projection { generations, turns, deliveries, permissions, spend } = projection;
        self.write("store what a journal says", |tx| {
            if sessions::row_of(tx, session)?.is_none() {
                return Err(DbError::NoSession { id: session }.into());
            }
            let mut changed = Vec::new();
            changed.extend(make_equal(tx, session, generations)?);
            changed.extend(make_equal(tx, session, turns)?);
            changed.extend(make_equal(tx, session, deliveries)?);
            changed.extend(make_equal(tx, session, permissions)?);
            changed.extend(make_equal(tx, session, spend)?);
            let rows_changed = !changed.is_empty();
            let mut record_set = true;
            if let Some(change) = record {
                record_set = sessions::set_record(tx, session, change.expected, &change.new)?;
                changed.extend(record_set.then_some("record"));
            }
            changes::append(tx, session, &changed)?;
            Ok(Committed { changed: rows_changed, record_set })
        })
    }

    /// What was committed last.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn load_projection(&self, session: SessionId) -> Result<Projection, DbError> {
        self.read("read what a journal said", |conn| {
            Ok(Projection {
                generations: Folded::load(conn, session)?,
                turns: Folded::load(conn, session)?,
                deliveries: Folded::load(conn, session)?,
                permissions: Folded::load(conn, session)?,
                spend: Folded::load(conn, session)?,
            })
        })
    }

    /// Forgets everything about a session that its journal can tell again. Decisions of faces stay.
    ///
    /// # Errors
    /// The database can't be written.
    pub fn drop_derived(&self, session: SessionId) -> Result<(), DbError> {
        self.commit_projection(session, &Projection::default(), None).map(|_| ())
    }
}

/// A kind of row that a journal folds to.
trait Folded: PartialEq + Sized {
    /// What tells two rows of one session apart.
    type Key: Eq + Hash;

    /// The name in the change feed.
    const KIND: &'static str;

    fn key(&self) -> Self::Key;

    /// All of a session's, in the order of the projection.
    fn load(conn: &Connection, session: SessionId) -> rusqlite::Result<Vec<Self>>;

    /// Adds it, or replaces the one with its key. `no` is its place in the projection.
    fn put(&self, tx: &Transaction<'_>, session: SessionId, no: usize) -> rusqlite::Result<()>;

    /// Removes what the journal said of the row with that key.
    fn remove(tx: &Transaction<'_>, session: SessionId, key: &Self::Key) -> rusqlite::Result<()>;
}

/// Writes only what differs; the kind, if anything did.
fn make_equal<T: Folded>(
    tx: &Transaction<'_>,
    session: SessionId,
    new: &[T],
) -> Result<Option<&'static str>, Failure> {
    let old = T::load(tx, session)?;
    if old == new {
        return Ok(None);
    }
    let kept: HashSet<T::Key> = new.iter().map(T::key).collect();
    for gone in old.iter().map(T::key).filter(|key| !kept.contains(key)) {
        T::remove(tx, session, &gone)?;
    }
    for (no, row) in new.iter().enumerate().filter(|(no, row)| old.get(*no) != Some(*row)) {
        row.put(tx, session, no)?;
    }
    Ok(Some(T::KIND))
}
