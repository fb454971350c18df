//! Deliveries: accepting them, their bodies, what is waiting.

use super::{Db, DbError};
use ostler_core::ids::{DeliveryId, GenerationNo, Millis, SessionId, TurnNo};
use ostler_core::rows::DeliveryState;
use serde::{Deserialize, Serialize};

/// Longer bodies (in bytes) are files in the session folder, written before the row.
pub const MAX_INLINE_BODY: usize = 64 << 10;

/// How a delivery may reach the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// As ostler thinks best.
    #[default]
    Auto,
    /// Never into a running turn.
    Queue,
    /// The running turn is interrupted for it.
    Now,
}

/// A message to accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDelivery {
    /// Its id, also the uuid of its `user` line.
    pub id: DeliveryId,
    /// For whom.
    pub session: SessionId,
    /// What to say.
    pub body: Vec<u8>,
    /// How it may reach the model.
    pub mode: Mode,
    /// The sender's name for it: the same name again is the same delivery.
    pub idempotency_key: Option<String>,
    /// When it came.
    pub created_at: Millis,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// Accepted, durably.
    New {
        /// Its place among all deliveries.
        seq: u64,
    },
    /// It had been accepted before, under this id.
    Same {
        /// The id of then.
        id: DeliveryId,
    },
    /// The key, or the id, is that of a delivery with another body.
    ConflictingBody {
        /// That delivery.
        id: DeliveryId,
    },
    /// The session is stopped: it takes no delivery.
    Stopped,
    /// The session is closed.
    Closed,
}

/// Where a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// In the row.
    Inline,
    /// In a file of the session folder.
    File,
    /// Nowhere: the row was rebuilt from the journal.
    Lost,
}

/// A delivery as the database keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryRow {
    /// Its id.
    pub id: DeliveryId,
    /// For whom.
    pub session: SessionId,
    /// Its place among all deliveries.
    pub seq: u64,
    /// Where its body is.
    pub body: Body,
    /// How long its body is.
    pub body_len: u64,
    /// How it may reach the model.
    pub mode: Mode,
    /// The sender's name for it.
    pub idempotency_key: Option<String>,
    /// When it came.
    pub created_at: Millis,
    /// How far it has come.
    pub state: DeliveryState,
    /// The generation it was last written to.
    pub generation: Option<GenerationNo>,
    /// The turn it belongs to.
    pub turn: Option<TurnNo>,
    /// When it was first written.
    pub written_at: Option<Millis>,
    /// Byte range of the answering `result` line in that generation's `out`.
    pub answer: Option<(u64, u64)>,
}

/// A delivery that isn't final.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Its id.
    pub id: DeliveryId,
    /// Its place among all deliveries.
    pub seq: u64,
    /// How it may reach the model.
    pub mode: Mode,
    /// How far it has come.
    pub state: DeliveryState,
}

impl Db {
    /// Accepts a delivery. With [`super::Durability::Full`] it survives a loss of power from here on.
    ///
    /// # Errors
    /// [`DbError::NoSession`], [`DbError::DiskFull`], the body's file or the database can't be written.
    pub fn insert_delivery(&self, new: &NewDelivery) -> Result<Inserted, DbError> {
        todo!("{new:?}")
    }

    /// The session's deliveries that aren't final, in the order they came.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn pending_deliveries(&self, session: SessionId) -> Result<Vec<Pending>, DbError> {
        todo!("{session}")
    }

    /// What a delivery says.
    ///
    /// # Errors
    /// [`DbError::NoDelivery`], [`DbError::BodyLost`], or it can't be read.
    pub fn delivery_body(&self, id: DeliveryId) -> Result<Vec<u8>, DbError> {
        todo!("{id}")
    }

    /// A delivery's row.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn delivery(&self, id: DeliveryId) -> Result<Option<DeliveryRow>, DbError> {
        todo!("{id}")
    }

    /// All deliveries of a session, in the order they came.
    ///
    /// # Errors
    /// The database can't be read.
    pub fn deliveries(&self, session: SessionId) -> Result<Vec<DeliveryRow>, DbError> {
        todo!("{session}")
    }

    /// Takes a delivery back that was never written to a child; false when it is too late.
    ///
    /// # Errors
    /// The database can't be written.
    pub fn cancel_delivery(&self, id: DeliveryId) -> Result<bool, DbError> {
        todo!("{id}")
    }
}
