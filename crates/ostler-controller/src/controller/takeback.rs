//! Deliveries that somebody wants back.
//!
//! What no child has is taken back in the store, or by a row where the journal knows it; the controller is the one
//! who may do that to a delivery it has claimed itself. What stands in the child's queue is asked for, and the child's
//! answer is believed.

use super::error::ControllerError;
use super::{Controller, log};
use crate::protocol::Answer;
use ostler_core::ctl::Event;
use ostler_core::ids::DeliveryId;
use ostler_core::machine::CancelStatus;
use ostler_core::rows::DeliveryState;

impl Controller {
    /// A face wants a delivery back.
    pub(super) fn cancel_asked(&mut self, face: u64, delivery: DeliveryId) -> Option<Answer> {
        match self.take_back(delivery) {
            Ok(None) => {}
            Ok(answer) => {
                // An earlier controller may have had the child's answer, and not have stored it.
                self.commit_for_face();
                return answer;
            }
            Err(error) => {
                log(&format!("delivery {delivery} can't be taken back: {}", super::chain(&error)));
                return Some(not_cancelled("not known: the store can't be written"));
            }
        }
        self.wants.cancels.push(delivery);
        let since = self.now();
        self.control.wait_for_cancel(face, delivery, since);
        None
    }

    /// Takes back what no child has; None: the child has to be asked.
    fn take_back(&mut self, delivery: DeliveryId) -> Result<Option<Answer>, ControllerError> {
        match self.machine.cancel_status(delivery) {
            CancelStatus::Queued | CancelStatus::Asked => return Ok(None),
            CancelStatus::Unwritten => {
                if !self.db.cancel_claimed_delivery(delivery)? {
                    let state = self.db.delivery(delivery)?.map(|row| row.state);
                    return Ok(Some(state.map_or(not_cancelled("unknown"), ended)));
                }
            }
            CancelStatus::Waiting => {
                self.say(Event::Cancelled { delivery })?;
                self.commit()?;
                self.wants.pending.retain(|p| p.id != delivery);
                // What the dead child had begun with is cut, and that is told.
                return Ok(match self.machine.cancel_status(delivery) {
                    CancelStatus::Final(state) => Some(ended(state)),
                    _ => None,
                });
            }
            CancelStatus::Started => return Ok(Some(not_cancelled("started"))),
            CancelStatus::Final(state) => return Ok(Some(ended(state))),
        }
        self.wants.pending.retain(|p| p.id != delivery);
        Ok(Some(Answer::Cancelled))
    }

    /// Takes back everything that no child has, and names it, together with what the child has to be asked for.
    pub(super) fn take_back_everything(&mut self) -> Vec<DeliveryId> {
        let waiting: Vec<_> = self.wants.pending.iter().map(|p| p.id).collect();
        let queued: Vec<_> = self.machine.queued().collect();
        let mut all = queued;
        for id in waiting {
            match self.take_back(id) {
                Ok(Some(Answer::Cancelled)) => all.push(id),
                Ok(_) => {}
                Err(error) => log(&format!("{id} can't be taken back: {}", super::chain(&error))),
            }
        }
        all
    }

    /// The answer to an interrupt, once it is known what was taken back.
    pub(super) fn with_what_was_taken_back(
        &mut self,
        answer: Answer,
        wanted: &[DeliveryId],
        since: u64,
    ) -> Option<Answer> {
        let Answer::Confirmed { still_queued, .. } = answer else { return Some(answer) };
        let open = |id: &DeliveryId| {
            matches!(self.machine.cancel_status(*id), CancelStatus::Queued | CancelStatus::Asked)
        };
        // The child answers in order, so this is only long where it has stopped to answer.
        if wanted.iter().any(open) && !self.is_late(since) {
            return None;
        }
        let back = |id: &&DeliveryId| match self.machine.cancel_status(**id) {
            CancelStatus::Unwritten => true,
            status => status == CancelStatus::Final(DeliveryState::Cancelled),
        };
        let cancelled = wanted.iter().filter(back).map(ToString::to_string).collect();
        let still_queued =
            still_queued.into_iter().filter(|id| id.parse().is_ok_and(|id| !back(&&id))).collect();
        self.commit_for_face();
        Some(Answer::Confirmed { still_queued, cancelled })
    }

    /// What became of a delivery that the child was asked for; None: nothing yet.
    pub(super) fn cancelled(&mut self, delivery: DeliveryId, since: u64) -> Option<Answer> {
        match self.take_back(delivery) {
            Ok(None) if self.is_late(since) => Some(not_cancelled("queued, and claude does not answer")),
            Ok(Some(Answer::Cancelled)) => {
                self.commit_for_face();
                Some(Answer::Cancelled)
            }
            Ok(answer) => answer,
            Err(error) => {
                log(&format!("delivery {delivery} can't be taken back: {}", super::chain(&error)));
                Some(not_cancelled("not known: the journal can't be written"))
            }
        }
    }

    /// What is not in the child's queue any more need not be asked for.
    pub(super) fn forget_cancels(&mut self) {
        let machine = &self.machine;
        let waited = self.control.has_waiters();
        self.wants.cancels.retain(|id| waited && machine.cancel_status(*id) == CancelStatus::Queued);
    }

    /// Whoever is told looks into the store next.
    fn commit_for_face(&mut self) {
        if let Err(error) = self.commit() {
            log(&format!("the store can't be used: {}", super::chain(&error)));
        }
    }

    fn is_late(&self, since: u64) -> bool {
        self.now() >= since + self.machine.limits().interrupt
    }
}

fn not_cancelled(state: &str) -> Answer {
    Answer::NotCancelled { state: state.to_owned() }
}

fn ended(state: DeliveryState) -> Answer {
    match state {
        DeliveryState::Cancelled => Answer::Cancelled,
        other => not_cancelled(other.word()),
    }
}
