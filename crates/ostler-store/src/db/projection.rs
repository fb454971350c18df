//! What a journal folds to, as rows.

use super::{Db, DbError};
use ostler_core::ids::SessionId;
use ostler_core::record::Record;
use ostler_core::rows::Projection;

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
        todo!("{session} {projection:?} {record:?}")
    }

    /// What was committed last.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn load_projection(&self, session: SessionId) -> Result<Projection, DbError> {
        todo!("{session}")
    }

    /// Forgets everything about a session that its journal can tell again. Decisions of faces stay.
    ///
    /// # Errors
    /// The database can't be written.
    pub fn drop_derived(&self, session: SessionId) -> Result<(), DbError> {
        todo!("{session}")
    }
}
