//! Top-level uuids that were seen: a repeated line changes no state, text or cost.

use std::collections::{HashSet, VecDeque};

/// Remembers the last [`Seen::KEPT`] uuids of a session.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    order: VecDeque<String>,
    set: HashSet<String>,
}

impl Seen {
    /// How many are remembered; seed 000 kept as many.
    const KEPT: usize = 2000;

    /// True when `uuid` is new; it is remembered then.
    pub(super) fn first_time(&mut self, uuid: &str) -> bool {
        if self.set.contains(uuid) {
            return false;
        }
        if self.order.len() == Self::KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            self.set.remove(&oldest);
        }
        self.order.push_back(uuid.to_owned());
        self.set.insert(uuid.to_owned())
    }
}
