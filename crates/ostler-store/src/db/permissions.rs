//! Permissions: what is open, and who decided first.
//!
//! A row has two halves. One is the journal's (asked, decided, answered, withdrawn) and is written by
//! [`Db::commit_projection`] alone. The other is the decision of a face, written once by [`Db::decide_permission`]. So
//! neither can overwrite the other, and what a row means is read from both.

use super::{Db, DbError};
use ostler_core::ctl::Decision;
use ostler_core::ids::{GenerationNo, Millis, SessionId};
use ostler_core::rows::{Permission, PermissionState};

/// A decision that a face wants to take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDecision {
    /// Whose permission.
    pub session: SessionId,
    /// The generation that asks.
    pub generation: GenerationNo,
    /// The child's id for it.
    pub request_id: String,
    /// Allow or deny.
    pub decision: Decision,
    /// Who: `terminal`, `cli`, …
    pub by: String,
    /// What a denied child is told.
    pub message: Option<String>,
    /// JSON text of the tool's input to use instead of the child's own.
    pub updated_input: Option<String>,
    /// When.
    pub at: Millis,
}

/// Who decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Winner {
    /// Allow or deny.
    pub decision: Decision,
    /// Who.
    pub by: String,
}

/// What became of a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decided {
    /// It counts.
    First,
    /// Somebody was first.
    Lost(Winner),
    /// It can't be answered any more.
    Withdrawn,
    /// There is no such question.
    Unknown,
}

/// A permission as the database keeps it: what the journal says and what a face decided.
#[derive(Clone, Debug, PartialEq)]
pub struct PermissionRow {
    /// Whose.
    pub session: SessionId,
    /// What the journal says.
    pub journal: Permission,
    /// What a face decided; the journal may not say so yet, or never will.
    pub face: Option<NewDecision>,
}

impl PermissionRow {
    /// How far it has come, from both halves.
    #[must_use]
    pub fn state(&self) -> PermissionState {
        match self.journal.state {
            PermissionState::Open if self.face.is_some() => PermissionState::Decided,
            state => state,
        }
    }
}

impl Db {
    /// Decides a permission if nobody did so before.
    ///
    /// # Errors
    /// The database can't be written.
    pub fn decide_permission(&self, new: &NewDecision) -> Result<Decided, DbError> {
        todo!("{new:?}")
    }

    /// Permissions that wait for a decision: of one session, or of all. In the order they were asked, within a session.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn pending_permissions(&self, session: Option<SessionId>) -> Result<Vec<PermissionRow>, DbError> {
        todo!("{session:?}")
    }

    /// Decisions of faces that the journal doesn't know yet, as far as the database knows.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn decisions_to_write(&self, session: SessionId) -> Result<Vec<NewDecision>, DbError> {
        todo!("{session}")
    }

    /// All permissions of a session, in the order they were asked.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn permissions(&self, session: SessionId) -> Result<Vec<PermissionRow>, DbError> {
        todo!("{session}")
    }
}
