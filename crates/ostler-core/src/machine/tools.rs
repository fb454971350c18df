//! Tool calls that are under way, for the activity that people see and to tell foreground tasks from background ones.

use std::collections::VecDeque;

/// A call that has no result yet.
#[derive(Clone, Debug)]
struct Call {
    id: String,
    name: String,
    /// The call of the subagent that makes it; empty in the main lane.
    lane: String,
}

/// The calls of one child, in the order in which they began.
#[derive(Clone, Debug, Default)]
pub(super) struct Tools {
    calls: VecDeque<Call>,
}

impl Tools {
    /// How many are remembered: a child that never ends its calls must not fill our memory.
    const KEPT: usize = 256;

    pub(super) fn began(&mut self, id: &str, name: &str, lane: Option<&str>) {
        self.ended(id);
        if self.calls.len() == Self::KEPT {
            self.calls.pop_front();
        }
        let lane = lane.unwrap_or_default().to_owned();
        self.calls.push_back(Call { id: id.to_owned(), name: name.to_owned(), lane });
    }

    /// Its result came; the calls of the subagent that it was are over as well.
    pub(super) fn ended(&mut self, id: &str) {
        self.calls.retain(|c| c.id != id && c.lane != id);
    }

    /// The main lane's turn is over; background subagents go on.
    pub(super) fn result(&mut self) {
        self.calls.retain(|c| !c.lane.is_empty());
    }

    pub(super) fn is_under_way(&self, id: &str) -> bool {
        self.calls.iter().any(|c| c.id == id)
    }

    /// What to show: the newest call of the main lane, else the newest at all.
    pub(super) fn current(&self) -> Option<&str> {
        let main = self.calls.iter().rev().find(|c| c.lane.is_empty());
        main.or_else(|| self.calls.back()).map(|c| c.name.as_str())
    }
}
