//! Background tasks, and the turns that their end wakes.
//!
//! A CLI that sends `background_tasks_changed` sends the whole list each time. Older ones (2.1.200) only say
//! `task_started` and `task_notification`; there the list is kept from these.

use claude_wire::{BackgroundTasks, TaskNotification, TaskStarted};
use std::collections::BTreeMap;

/// What kind of work a task is: the two kinds have deadlines of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskKind {
    Shell,
    Agent,
}

#[derive(Clone, Debug)]
struct Live {
    kind: TaskKind,
    /// When it was first seen, monotonic milliseconds.
    since: u64,
    /// Its deadline passed: it doesn't hold the turn open any more.
    given_up: bool,
}

/// The tasks of one child.
#[derive(Clone, Debug, Default)]
pub(super) struct Tasks {
    live: BTreeMap<String, Live>,
    /// The child sends whole lists.
    listed: bool,
    /// A task ended and no `init` followed yet: when.
    notified: Option<u64>,
    /// Tasks in the foreground: their notification wakes nothing.
    foreground: BTreeMap<String, ()>,
}

impl Tasks {
    pub(super) fn list(&mut self, line: &BackgroundTasks, now: u64) {
        self.listed = true;
        let mut live = BTreeMap::new();
        for task in &line.tasks {
            let kind = kind_of(&task.kind);
            let known = self.live.get(&task.id).cloned();
            live.insert(task.id.clone(), known.unwrap_or(Live { kind, since: now, given_up: false }));
        }
        self.live = live;
    }

    pub(super) fn started(&mut self, line: &TaskStarted, now: u64) {
        if line.is_backgrounded == Some(false) {
            self.foreground.insert(line.task_id.clone(), ());
        } else if !self.listed {
            let kind = kind_of(line.task_type.as_deref().unwrap_or_default());
            self.live.insert(line.task_id.clone(), Live { kind, since: now, given_up: false });
        }
    }

    pub(super) fn notified(&mut self, line: &TaskNotification, now: u64) {
        if self.foreground.remove(&line.task_id).is_some() {
            return;
        }
        if !self.listed {
            self.live.remove(&line.task_id);
        }
        self.notified = Some(now);
    }

    /// A turn began: whatever was notified is being told to the model.
    pub(super) fn turn_began(&mut self) {
        self.notified = None;
    }

    /// Since when a notification has been waiting for its turn.
    pub(super) fn waiting_since(&self) -> Option<u64> {
        self.notified
    }

    pub(super) fn stop_waiting(&mut self) {
        self.notified = None;
    }

    /// A task that still holds the turn open.
    pub(super) fn any_live(&self) -> bool {
        self.live.values().any(|t| !t.given_up)
    }

    /// The oldest live task of a kind.
    pub(super) fn oldest(&self, kind: TaskKind) -> Option<u64> {
        self.live.values().filter(|t| t.kind == kind && !t.given_up).map(|t| t.since).min()
    }

    pub(super) fn give_up(&mut self, kind: TaskKind) {
        for task in self.live.values_mut().filter(|t| t.kind == kind) {
            task.given_up = true;
        }
    }

    pub(super) fn given_up(&self) -> u32 {
        u32::try_from(self.live.values().filter(|t| t.given_up).count()).unwrap_or(u32::MAX)
    }

    /// Everything that still runs, given up on or not.
    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.live.len()).unwrap_or(u32::MAX)
    }

    /// A new controller can't know how long they have been waiting.
    pub(super) fn restart_clocks(&mut self, now: u64) {
        for task in self.live.values_mut() {
            task.since = now;
        }
        if self.notified.is_some() {
            self.notified = Some(now);
        }
    }
}

/// `local_agent`, `remote_agent`, … or `local_bash` and whatever else there is.
fn kind_of(kind: &str) -> TaskKind {
    if kind.contains("agent") { TaskKind::Agent } else { TaskKind::Shell }
}
