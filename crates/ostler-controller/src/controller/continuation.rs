//! Messages that ostler sends itself, so that a session goes on with what was cut off.
//!
//! A continuation is an ordinary delivery that names the one it goes on with, and its text says who sends it. Its uuid
//! follows from that delivery, so a controller that is killed behind the insertion and its successor make one and the
//! same. A continuation that is cut off itself has one of its own; that is the last.

use super::error::ControllerError;
use super::{Controller, journal, log};
use ostler_core::ids::DeliveryId;
use ostler_core::machine::{RATE_LIMIT, STALLED};
use ostler_core::rows::DeliveryState;
use ostler_core::spec::{OnCut, OnLimit};
use ostler_store::DbError;
use ostler_store::db::{Inserted, Mode, NewDelivery};
use sha2::{Digest, Sha256};

/// How many continuations may follow one message of somebody's.
const IN_A_ROW: u32 = 2;
/// The same behind a rate limit, where most of them are tries: half a day of them.
const TRIES_IN_A_ROW: u32 = 48;

/// Why a session needs a word of ostler's to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Because {
    /// Its claude died in the middle of the turn, and the next one knows the message and does not run it again.
    Cut,
    /// Its claude said nothing any more and was killed.
    Stalled,
    /// The API refused for a while.
    RateLimited,
}

impl Because {
    /// What the model is told.
    const fn text(self) -> &'static str {
        match self {
            Self::Cut => {
                "[ostler] This message comes from ostler, the program that runs this session, not from a person. \
                 The claude process that worked on the previous message died, and that message is not run again by \
                 itself. What it was doing may be half done: look at what is there, then go on with it from where it \
                 stopped. Do not repeat what is done."
            }
            Self::Stalled => {
                "[ostler] This message comes from ostler, the program that runs this session, not from a person. \
                 The previous turn stopped giving any sign of life and was ended. What it was doing may be half done: \
                 look at what is there, then go on with it from where it stopped. Do not repeat what is done."
            }
            Self::RateLimited => {
                "[ostler] This message comes from ostler, the program that runs this session, not from a person. \
                 The previous turn ended because the API refused further requests for a while. It takes them again: \
                 go on with the task from where it stopped. Do not repeat what is done."
            }
        }
    }
}

impl Controller {
    /// Makes the one delivery that goes on with `delivery`, unless it is there already. Gives its id; None when no more
    /// may follow, or the session takes none. It is delivered like any other.
    pub(super) fn continue_after(
        &mut self,
        delivery: DeliveryId,
        because: Because,
    ) -> Result<Option<DeliveryId>, ControllerError> {
        let most = if because == Because::RateLimited { TRIES_IN_A_ROW } else { IN_A_ROW };
        if self.continuations_before(delivery, most)? >= most {
            log(&format!("delivery {delivery} is not continued: {most} in a row are the most"));
            return Ok(None);
        }
        let id = id_after(delivery);
        let inserted = self.db.insert_delivery(&NewDelivery {
            id,
            session: self.session,
            body: serde_json::to_vec(because.text()).map_err(std::io::Error::from)?,
            mode: Mode::Auto,
            idempotency_key: None,
            created_at: journal::wall(),
            continues: Some(delivery),
        })?;
        self.wants.must_refresh();
        self.refresh()?;
        Ok(match inserted {
            // Made for another reason, it goes on with the same thing.
            Inserted::New { .. } | Inserted::Same { .. } | Inserted::ConflictingBody { .. } => Some(id),
            Inserted::Stopped | Inserted::Closed | Inserted::Sealed => None,
        })
    }

    /// How many of those that lead to this one were made by ostler, itself included.
    fn continuations_before(&self, delivery: DeliveryId, most: u32) -> Result<u32, DbError> {
        let (mut count, mut at) = (0, delivery);
        while count < most {
            let Some(before) = self.db.delivery(at)?.and_then(|row| row.continues) else { break };
            (count, at) = (count + 1, before);
        }
        Ok(count)
    }

    /// The open turn is about to settle: goes on with what was cut off in it, where the session is to. Before the
    /// settlement is stored, for behind it nobody would come back to this.
    pub(super) fn continue_what_was_cut(&mut self) -> Result<(), ControllerError> {
        let Some(turn) = self.machine.open_turn().filter(|_| self.spec.on_cut == OnCut::Continue) else {
            return Ok(());
        };
        let rows = &self.machine.rows().deliveries;
        let cut: Vec<_> = rows
            .iter()
            .filter(|row| row.turn == turn && row.state == DeliveryState::Cut)
            .filter(|row| !self.machine.is_unwanted(row.id))
            .map(|row| row.id)
            .collect();
        for id in cut {
            match self.continue_after(id, Because::Cut) {
                // People see that it was cut.
                Err(ControllerError::Db(error @ (DbError::DiskFull { .. } | DbError::Busy { .. }))) => {
                    log(&format!("delivery {id} is not continued: {error}"));
                }
                done => drop(done?),
            }
        }
        Ok(())
    }

    /// The same for a turn that its watchdog ends: once. One that goes on with a stalled turn and stalls itself is for
    /// people.
    pub(super) fn continue_what_stalled(&mut self) -> Result<(), ControllerError> {
        let stalled = self.machine.settles_as().is_some_and(|v| v.failure.as_deref() == Some(STALLED));
        let Some(turn) = self.machine.open_turn().filter(|_| stalled) else { return Ok(()) };
        if self.wants.broken_off == Some(turn) {
            // Somebody interrupted it as well.
            return Ok(());
        }
        let rows = &self.machine.rows().deliveries;
        let of_turn = || rows.iter().filter(|row| row.turn == turn);
        // What the child had not begun is offered again by itself.
        let Some(last) = of_turn().rfind(|row| row.state == DeliveryState::Failed).map(|row| row.id) else {
            return Ok(());
        };
        if self.db.delivery(last)?.is_some_and(|row| row.continues.is_some()) {
            log(&format!(
                "delivery {last} goes on with another one and stalled too: nothing is sent behind it"
            ));
            return Ok(());
        }
        match self.continue_after(last, Because::Stalled) {
            Err(ControllerError::Db(error @ (DbError::DiskFull { .. } | DbError::Busy { .. }))) => {
                log(&format!("delivery {last} is not continued: {error}"));
                Ok(())
            }
            done => done.map(drop),
        }
    }
}

impl Controller {
    /// The same for a turn that the API refused in its middle, where the session is to. It waits with all others.
    pub(super) fn continue_behind_a_limit(&mut self) -> Result<(), ControllerError> {
        let limited = self.machine.settles_as().is_some_and(|v| v.failure.as_deref() == Some(RATE_LIMIT));
        let wanted = limited && self.spec.on_limit == OnLimit::Continue;
        let Some(turn) = self.machine.open_turn().filter(|_| wanted) else { return Ok(()) };
        let rows = &self.machine.rows().deliveries;
        let last = rows.iter().rfind(|row| row.turn == turn && row.state == DeliveryState::Failed);
        let Some(last) = last.map(|row| row.id) else { return Ok(()) };
        match self.continue_after(last, Because::RateLimited) {
            Err(ControllerError::Db(error @ (DbError::DiskFull { .. } | DbError::Busy { .. }))) => {
                log(&format!("delivery {last} is not continued: {error}"));
                Ok(())
            }
            done => done.map(drop),
        }
    }
}

/// The id of the delivery that goes on with this one. The same one each time.
fn id_after(delivery: DeliveryId) -> DeliveryId {
    let digest = Sha256::new().chain_update(b"ostler continuation\0").chain_update(delivery.0).finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    DeliveryId(uuid::Builder::from_custom_bytes(bytes).into_uuid())
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn the_id_follows_from_the_delivery_alone() {
        let one = DeliveryId(Uuid::from_u128(1));
        assert_eq!(id_after(one).to_string(), "28149a8e-3199-8298-949b-ef40acac10f8");
        assert_ne!(id_after(one), id_after(DeliveryId(Uuid::from_u128(2))));
        assert_ne!(id_after(id_after(one)), one);
        assert_eq!(id_after(one).0.get_version_num(), 8);
    }
}
