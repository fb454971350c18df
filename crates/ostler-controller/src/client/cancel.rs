//! Taking a message back.

use super::talk::{DEED, ask, odd};
use super::{ClientError, Ostler};
use crate::protocol::{Answer, Ask};
use ostler_core::ids::{DeliveryId, SessionId};
use ostler_core::rows::DeliveryState;
use std::time::{Duration, Instant};

/// Between two attempts to be heard. A controller that has nothing to do is there for some milliseconds only.
const LOOK: Duration = Duration::from_millis(1);
/// Between two starts of a keeper.
const START: Duration = Duration::from_secs(1);

impl Ostler {
    /// Takes a message back that no model has seen: in the store while no controller has claimed it, else through the
    /// controller, which asks the child for it. Taking it back twice is no error.
    ///
    /// # Errors
    /// [`ClientError::NoDelivery`]; [`ClientError::TooLate`] when the model works on it or it has another end;
    /// [`ClientError::Controller`].
    pub fn cancel(&self, session: SessionId, delivery: DeliveryId) -> Result<(), ClientError> {
        let row = self.db().delivery(delivery)?.filter(|row| row.session == session);
        let row = row.ok_or(ClientError::NoDelivery { session, delivery })?;
        if row.state == DeliveryState::Cancelled || self.db().cancel_delivery(delivery)? {
            return Ok(());
        }
        if row.state.is_final() {
            return Err(ClientError::TooLate { delivery, state: row.state.word().to_owned() });
        }
        match self.have(session, &Ask::Cancel { delivery })? {
            Answer::Cancelled => Ok(()),
            Answer::NotCancelled { state } => Err(ClientError::TooLate { delivery, state }),
            other => Err(odd(session, &other)),
        }
    }

    /// The messages of a session that wait for something, as the store knows it.
    pub(super) fn waiting(&self, session: SessionId) -> Result<Vec<DeliveryId>, ClientError> {
        let pending = self.db().pending_deliveries(session)?;
        Ok(pending.into_iter().filter(|p| p.state != DeliveryState::Started).map(|p| p.id).collect())
    }

    /// Those of them that were taken back before any child had them.
    pub(super) fn taken_back(&self, waited: &[DeliveryId]) -> Result<Vec<DeliveryId>, ClientError> {
        let mut back = Vec::new();
        for id in waited {
            let row = self.db().delivery(*id)?;
            let cancelled =
                row.is_some_and(|r| r.state == DeliveryState::Cancelled && r.generation.is_none());
            back.extend(cancelled.then_some(*id));
        }
        Ok(back)
    }

    /// Has a controller answer, starting one even where nothing is owed.
    fn have(&self, session: SessionId, wish: &Ask) -> Result<Answer, ClientError> {
        let socket = self.home().session(session).control_sock();
        let deadline = Instant::now() + DEED;
        let mut started: Option<Instant> = None;
        loop {
            let error = match ask(&socket, wish, DEED) {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if Instant::now() >= deadline {
                let why = format!("no answer: {error}");
                return Err(ClientError::Controller { session, why });
            }
            if started.is_none_or(|at| at.elapsed() >= START) && !self.is_attended(session)? {
                self.start_keeper(session)?;
                started = Some(Instant::now());
            }
            std::thread::sleep(LOOK);
        }
    }
}
