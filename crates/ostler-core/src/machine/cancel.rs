//! Deliveries that somebody wants back.
//!
//! What no child was given is taken back in the store. What stands in a child's queue is asked back
//! (`cancel_async_message`), and the child's answer is believed: older CLIs send no receipt for it.

use super::{Machine, Phase};
use crate::ids::DeliveryId;
use crate::rows::{Delivery, DeliveryState};

/// Where a delivery stands for somebody who wants it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelStatus {
    /// No journal knows it: the store decides.
    Unwritten,
    /// The child that had it is gone, and it would be offered again.
    Waiting,
    /// In the child's queue, as far as it is known.
    Queued,
    /// The child was asked for it, and has not answered.
    Asked,
    /// The model works on it, or the child would not give it back.
    Started,
    /// It has its end.
    Final(DeliveryState),
}

impl Machine {
    /// Where a delivery stands for somebody who wants it back.
    #[must_use]
    pub fn cancel_status(&self, id: DeliveryId) -> CancelStatus {
        let Some(row) = self.rows.deliveries.iter().find(|d| d.id == id) else {
            return CancelStatus::Unwritten;
        };
        if row.state.is_final() {
            return CancelStatus::Final(row.state);
        }
        let Some(child) = self.child.as_ref().filter(|c| c.phase != Phase::Cold && c.no == row.generation)
        else {
            return CancelStatus::Waiting;
        };
        match (row.state, child.cancels.get(&id)) {
            (DeliveryState::Started, _) | (_, Some(Some(_))) => CancelStatus::Started,
            (_, Some(None)) => CancelStatus::Asked,
            (_, None) => CancelStatus::Queued,
        }
    }

    /// The deliveries in the current child's queue, as far as it is known.
    pub fn queued(&self) -> impl Iterator<Item = DeliveryId> {
        let asked =
            |d: &&Delivery| matches!(self.cancel_status(d.id), CancelStatus::Queued | CancelStatus::Asked);
        self.rows.deliveries.iter().filter(asked).map(|d| d.id)
    }

    /// What runs behind an interrupt that was just confirmed: what the confirmation lists. Older CLIs list nothing;
    /// there it is what stands in the queue, and the first in line is what the interrupt was for, where nothing had
    /// begun.
    pub(super) fn runs_behind_interrupt(&self, listed: &[String]) -> Vec<String> {
        if self.child.as_ref().is_some_and(|c| c.observed.lifecycle) || !listed.is_empty() {
            return listed.to_vec();
        }
        let no = self.generation();
        let begun =
            self.rows.deliveries.iter().any(|d| d.generation == no && d.state > DeliveryState::Queued);
        self.queued().skip(usize::from(!begun)).map(|id| id.to_string()).collect()
    }

    /// An interrupt of the current child can take back what is queued, as it says itself.
    #[must_use]
    pub fn can_cancel_queued(&self) -> bool {
        self.child.as_ref().is_some_and(|c| c.observed.cancel_queued)
    }

    pub(super) fn can_be_asked_back(&self, id: DeliveryId) -> bool {
        self.cancel_status(id) == CancelStatus::Queued
    }

    /// The child says whether it gives a message back.
    pub(super) fn cancel_answered(&mut self, about: Option<DeliveryId>, gave: bool) {
        let Some(id) = about else { return };
        self.with_child(|c| {
            c.cancels.insert(id, Some(gave));
        });
        if gave {
            self.end_unrun(id);
        }
    }

    /// An interrupt took these back.
    pub(super) fn given_back(&mut self, uuids: &[String]) {
        let ids: Vec<_> = uuids.iter().filter_map(|uuid| self.delivery_of(uuid)).map(|d| d.id).collect();
        ids.into_iter().for_each(|id| self.end_unrun(id));
    }

    /// Whatever an earlier child had begun: this one goes on with its conversation, and says that it is not in there.
    fn end_unrun(&mut self, id: DeliveryId) {
        self.advance(id, DeliveryState::Cancelled);
        self.with_child(|c| c.since_result.retain(|d| *d != id));
    }

    /// The row that says so is applied: no child gets it any more. What one had begun with before it died was cut off
    /// there, and is not called unseen.
    pub(super) fn taken_back(&mut self, id: DeliveryId) {
        if self.cancel_status(id) != CancelStatus::Waiting {
            return;
        }
        let cut = self.begun.contains(&id);
        self.advance(id, if cut { DeliveryState::Cut } else { DeliveryState::Cancelled });
        self.unwanted.insert(id);
    }

    /// Somebody wanted it back when the child that had it was dead: nothing goes on with it by itself.
    #[must_use]
    pub fn is_unwanted(&self, id: DeliveryId) -> bool {
        self.unwanted.contains(&id)
    }
}
