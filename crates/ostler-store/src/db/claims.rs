//! Who has a delivery: whoever sent it may take it back until a controller claims it.

use super::columns::{Id, Word};
use super::error::Failure;
use super::{Db, DbError, changes, sessions};
use ostler_core::ids::{DeliveryId, SessionId};
use ostler_core::record::Record;
use ostler_core::rows::DeliveryState;
use rusqlite::{OptionalExtension, Transaction, params};

/// What became of the wish to write a delivery to a child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It may be written; nobody can take it back any more. With the record as it was in that instant.
    Yes {
        /// The session's record.
        record: Record,
        /// Its revision.
        revision: u64,
    },
    /// It is final already: somebody took it back.
    Final(DeliveryState),
    /// The session is stopped.
    Stopped,
    /// The session is closed.
    Closed,
}

impl Db {
    /// For a controller that is about to write a delivery to a child: from here on it can't be taken back. The record
    /// is read in the same transaction, so that what is decided from it is not outdated. Claiming again is harmless.
    ///
    /// # Errors
    /// [`DbError::NoDelivery`], or the database can't be written.
    pub fn claim_delivery(&self, id: DeliveryId) -> Result<Claim, DbError> {
        self.write("claim a delivery", |tx| {
            let mut statement =
                tx.prepare_cached("SELECT session, state, claimed FROM delivery WHERE id = ?1")?;
            let found = statement.query_row([Id(id)], |row| {
                let (session, state): (Id<SessionId>, Word<DeliveryState>) = (row.get(0)?, row.get(1)?);
                Ok((session.0, state.0, row.get::<_, bool>(2)?))
            });
            let (session, state, claimed) = found.optional()?.ok_or(DbError::NoDelivery { id })?;
            let row = sessions::row_of(tx, session)?.ok_or(DbError::NoSession { id: session })?;
            if state.is_final() {
                return Ok(Claim::Final(state));
            }
            if row.record.closed {
                return Ok(Claim::Closed);
            }
            if row.record.stopped {
                return Ok(Claim::Stopped);
            }
            if !claimed {
                tx.execute("UPDATE delivery SET claimed = 1 WHERE id = ?1", [Id(id)])?;
            }
            Ok(Claim::Yes { record: row.record, revision: row.revision })
        })
    }

    /// Takes a delivery back that no controller has claimed; false when it is too late, or there is none.
    ///
    /// # Errors
    /// The database can't be written.
    pub fn cancel_delivery(&self, id: DeliveryId) -> Result<bool, DbError> {
        self.write("cancel a delivery", |tx| cancel(tx, id, false))
    }

    /// The same for the controller that has claimed it and has not written it to any child: it alone knows.
    ///
    /// # Errors
    /// The database can't be written.
    pub fn cancel_claimed_delivery(&self, id: DeliveryId) -> Result<bool, DbError> {
        self.write("cancel a delivery", |tx| cancel(tx, id, true))
    }
}

/// Takes back what no journal knows.
fn cancel(tx: &Transaction<'_>, id: DeliveryId, claimed: bool) -> Result<bool, Failure> {
    let mut statement = tx.prepare_cached(
        "UPDATE delivery SET state = ?2
         WHERE id = ?1 AND state = ?3 AND (claimed = 0 OR ?4) AND fold_no IS NULL RETURNING session",
    )?;
    let session = statement
        .query_row(
            params![Id(id), Word(DeliveryState::Cancelled), Word(DeliveryState::Accepted), claimed],
            |row| Ok(row.get::<_, Id<SessionId>>(0)?.0),
        )
        .optional()?;
    if let Some(session) = session {
        changes::append(tx, session, &["delivery"])?;
    }
    Ok(session.is_some())
}
