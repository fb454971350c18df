//! Sessions are created and messages accepted: durable writes first, then a controller is told.

use super::{ClientError, NewMessage, NewSession, Ostler};
use crate::crash;
use ostler_core::content::MAX_MESSAGE;
use ostler_core::ids::{ConversationId, DeliveryId, SessionId};
use ostler_core::machine::Mode;
use ostler_core::record::Record;
use ostler_os::lockfile::{self, Lock};
use ostler_store::DbError;
use ostler_store::db::{Inserted, NewDelivery, SessionRow};
use ostler_store::session_file::{SESSION_FILE_VERSION, SessionFile};
use serde_json::value::RawValue;
use std::path::PathBuf;
use std::time::Duration;

/// How long one who creates a session waits for others who do.
const CREATE_WITHIN: Duration = Duration::from_secs(10);

/// The longest idempotency key, in bytes.
pub const MAX_KEY: usize = 256;

impl Ostler {
    /// Creates a session: its folder first, then its row. Starts nothing.
    ///
    /// # Errors
    /// The working directory is missing; there is a session of that id; the store can't be written.
    pub fn create(&self, new: &NewSession) -> Result<(), ClientError> {
        let cwd = PathBuf::from(&new.spec.cwd);
        if !cwd.is_dir() {
            return Err(ClientError::NoCwd { cwd });
        }
        let conversation = ConversationId(new.id.0);
        let dir = self.home().session(new.id);
        let failed = |source| ClientError::File { what: "write", path: dir.session_json(), source };
        let text = serde_json::to_string(&new.spec).map_err(|e| failed(Box::new(e)))?;
        let host = ostler_os::me::hostname();
        let file = SessionFile {
            version: SESSION_FILE_VERSION,
            id: new.id,
            conversation,
            created_at: new.at,
            label: new.label.clone(),
            cwd: new.spec.cwd.clone(),
            host: host.clone(),
            spec: RawValue::from_string(text).map_err(|e| failed(Box::new(e)))?,
        };
        // Of two who chose the same id, the second must find the first one's row before it writes over its file.
        let _alone = self.alone()?;
        if self.db().session(new.id)?.is_some() {
            return Err(DbError::SessionExists { id: new.id }.into());
        }
        file.write(&dir).map_err(|e| failed(Box::new(e)))?;
        if let Some(fork) = &new.spec.fork {
            // Before its session's row: whoever sees that sees this.
            self.db().insert_fork(new.id, fork.session, fork.base, !fork.forced.is_empty())?;
        }
        self.db().insert_session(&SessionRow {
            id: new.id,
            conversation,
            host,
            created_at: new.at,
            label: new.label.clone(),
            cwd: new.spec.cwd.clone(),
            record: Record::default(),
            revision: 0,
        })?;
        Ok(())
    }

    /// Waits until nobody else of this home creates a session; they take milliseconds.
    fn alone(&self) -> Result<Lock, ClientError> {
        let path = self.home().slots_dir().join("create");
        let failed = |source| ClientError::File { what: "lock", path: path.clone(), source };
        let lock = lockfile::lock_within(&path, CREATE_WITHIN).map_err(|e| failed(Box::new(e)))?;
        lock.ok_or_else(|| failed("another ostler creates a session and does not come to an end".into()))
    }

    /// Accepts a message durably and makes sure that a controller works on it. The delivery stays accepted even when
    /// no controller could be reached: that is the error then.
    ///
    /// # Errors
    /// Refused (empty, too large, a key that is none, stopped, closed, another body under the same key); the store can't be written;
    /// [`ClientError::Controller`].
    pub fn deliver(&self, session: SessionId, message: &NewMessage) -> Result<DeliveryId, ClientError> {
        let accepted = self.accept(session, message)?;
        crash::point(crash::IN_SEND);
        self.poke(session)?;
        Ok(accepted)
    }

    /// The durable half of [`Ostler::deliver`]: accepts, and tells nobody. Gives the id under which it was accepted,
    /// which is another one when its key had been used before.
    ///
    /// # Errors
    /// Refused as [`Ostler::deliver`] says; the store can't be written.
    pub fn accept(&self, session: SessionId, message: &NewMessage) -> Result<DeliveryId, ClientError> {
        if message.content.is_blank() {
            return Err(ClientError::EmptyPrompt);
        }
        let len = message.content.size();
        if len > MAX_MESSAGE {
            return Err(ClientError::PromptTooLarge { len, limit: MAX_MESSAGE });
        }
        // An empty name is a variable that somebody forgot to set: all their messages would be one.
        if let Some(len) =
            message.idempotency_key.as_ref().map(String::len).filter(|n| !(1..=MAX_KEY).contains(n))
        {
            return Err(ClientError::Key { len, limit: MAX_KEY });
        }
        let body = message.content.to_stored();
        let mode = match message.mode {
            Mode::Auto => ostler_store::db::Mode::Auto,
            Mode::Queue => ostler_store::db::Mode::Queue,
            Mode::Now => ostler_store::db::Mode::Now,
        };
        let inserted = self.db().insert_delivery(&NewDelivery {
            id: message.id,
            session,
            body,
            mode,
            idempotency_key: message.idempotency_key.clone(),
            created_at: message.at,
            continues: None,
        })?;
        match inserted {
            Inserted::New { .. } => Ok(message.id),
            Inserted::Same { id } => Ok(id),
            Inserted::ConflictingBody { .. } => Err(ClientError::OtherBody),
            Inserted::Stopped => Err(ClientError::NotTaking { session, state: "stopped" }),
            Inserted::Closed => Err(ClientError::NotTaking { session, state: "closed" }),
            Inserted::Sealed => Err(ClientError::NotTaking { session, state: "sealed" }),
        }
    }
}
