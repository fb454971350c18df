//! Tool calls that are under way, for the activity that people see and to tell foreground tasks from background ones.

use std::collections::VecDeque;

/// The tools that start subagents, old name and new one.
const AGENTS: [&str; 2] = ["Task", "Agent"];

/// A call that has no result yet.
#[derive(Clone, Debug)]
struct Call {
    id: String,
    name: String,
    /// The call of the subagent that makes it; empty in the main lane.
    lane: String,
    /// Its input speaks of declaring something.
    declares: bool,
}

/// The calls of one child, in the order in which they began.
#[derive(Clone, Debug, Default)]
pub(super) struct Tools {
    calls: VecDeque<Call>,
}

impl Tools {
    /// How many are remembered: a child that never ends its calls must not fill our memory.
    const KEPT: usize = 256;

    pub(super) fn began(&mut self, id: &str, name: &str, input: Option<&str>, lane: Option<&str>) {
        self.ended(id);
        if self.calls.len() == Self::KEPT {
            self.calls.pop_front();
        }
        let lane = lane.unwrap_or_default().to_owned();
        let declares = input.is_some_and(|text| text.contains("declare"));
        self.calls.push_back(Call { id: id.to_owned(), name: name.to_owned(), lane, declares });
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

    /// What a process of this child says just now, only a subagent can have said. A call of the main agent that merely
    /// waits for a subagent says nothing itself. Where both call something, the input tells who speaks of declaring.
    pub(super) fn only_subagents(&self) -> bool {
        let waits =
            |call: &Call| self.calls.iter().any(|c| c.lane == call.id) || AGENTS.contains(&&*call.name);
        let main = || self.calls.iter().filter(|c| c.lane.is_empty() && !waits(c));
        let sub = || self.calls.iter().filter(|c| !c.lane.is_empty());
        if sub().next().is_none() || main().any(|c| c.declares) {
            return false;
        }
        main().next().is_none() || sub().any(|c| c.declares)
    }

    /// A call of the main lane: the model waits for it.
    pub(super) fn main_under_way(&self) -> bool {
        self.calls.iter().any(|c| c.lane.is_empty())
    }

    /// What to show: the newest call of the main lane, else the newest at all.
    pub(super) fn current(&self) -> Option<&str> {
        let main = self.calls.iter().rev().find(|c| c.lane.is_empty());
        main.or_else(|| self.calls.back()).map(|c| c.name.as_str())
    }
}
