//! Background tasks, and the turns that their end wakes.
//!
//! A CLI that sends `background_tasks_changed` sends the whole list each time. Older ones (2.1.200) only say
//! `task_started` and `task_notification`; there the list is kept from these.
//!
//! A notification is told to the model in one of two ways: inside the running turn (with `--replay-user-messages` its
//! text is replayed then), or by a turn of its own that begins with an `init` 10–50 ms later (protocol page). Until
//! one of the two has happened, or its deadline has passed, the conversation isn't at rest.

use claude_wire::{BackgroundTasks, TaskNotification, TaskStarted, TaskUpdated};
use std::collections::{BTreeMap, BTreeSet};

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
    /// It was counted in a turn's *killed tasks* already.
    counted: bool,
}

/// The tasks of one child.
#[derive(Clone, Debug, Default)]
pub(super) struct Tasks {
    live: BTreeMap<String, Live>,
    /// The child sends whole lists.
    listed: bool,
    /// Tasks whose end was not told to the model yet: since when.
    untold: BTreeMap<String, u64>,
    /// Tasks in the foreground: their notification wakes nothing.
    foreground: BTreeSet<String>,
    /// Tasks of the open turn that were killed.
    killed: u32,
}

impl Tasks {
    /// How many names are remembered of a kind: a child that floods us must not fill our memory.
    const KEPT: usize = 1024;

    pub(super) fn list(&mut self, line: &BackgroundTasks, segment_open: bool, now: u64) {
        self.listed = true;
        let mut live = BTreeMap::new();
        for task in line.tasks.iter().filter(|t| !t.ambient).take(Self::KEPT) {
            let kind = kind_of(&task.kind);
            let known = self.live.get(&task.id).cloned();
            let new = Live { kind, since: now, given_up: false, counted: false };
            live.insert(task.id.clone(), known.unwrap_or(new));
        }
        let gone = self.live.keys().filter(|id| !live.contains_key(*id));
        // The list may lose a task before its notification is there. While the model works it may have ended the
        // task itself.
        if !segment_open {
            for id in gone {
                self.untold.entry(id.clone()).or_insert(now);
            }
        }
        self.live = live;
    }

    pub(super) fn started(&mut self, line: &TaskStarted, now: u64) {
        if line.ambient || line.is_backgrounded == Some(false) {
            if self.foreground.len() < Self::KEPT {
                self.foreground.insert(line.task_id.clone());
            }
        } else if !self.listed && self.live.len() < Self::KEPT {
            self.add(&line.task_id, line.task_type.as_deref(), now);
        }
    }

    pub(super) fn updated(&mut self, line: &TaskUpdated, now: u64) {
        match line.is_backgrounded {
            Some(true) if self.foreground.remove(&line.task_id) && !self.listed => {
                self.add(&line.task_id, None, now);
            }
            Some(false) => {
                self.live.remove(&line.task_id);
                self.foreground.insert(line.task_id.clone());
            }
            _ => {}
        }
    }

    fn add(&mut self, id: &str, kind: Option<&str>, now: u64) {
        let kind = kind_of(kind.unwrap_or_default());
        self.live.insert(id.to_owned(), Live { kind, since: now, given_up: false, counted: false });
    }

    /// `in_call`: the call that started the task has no result yet, so the model is waiting for it.
    pub(super) fn notified(&mut self, line: &TaskNotification, in_call: bool, now: u64) {
        let foreground = self.foreground.remove(&line.task_id);
        if !self.listed {
            self.live.remove(&line.task_id);
        }
        if foreground || in_call || line.ambient {
            self.untold.remove(&line.task_id);
            return;
        }
        if matches!(line.status.as_str(), "killed" | "stopped") {
            self.killed = self.killed.saturating_add(1);
        }
        if self.untold.len() < Self::KEPT {
            self.untold.insert(line.task_id.clone(), now);
        }
    }

    /// A replayed line that isn't a delivery: a notification that was told inside the running turn.
    pub(super) fn replayed(&mut self, text: &str) {
        self.untold.retain(|id, _| !text.contains(&format!("<task-id>{id}</task-id>")));
    }

    /// A turn that answered no delivery is over: it was about what had been notified.
    pub(super) fn told(&mut self) {
        self.untold.clear();
    }

    /// Since when a notification has been waiting for its turn: the newest one.
    pub(super) fn waiting_since(&self) -> Option<u64> {
        self.untold.values().max().copied()
    }

    pub(super) fn stop_waiting(&mut self) {
        self.untold.clear();
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

    /// Tasks that the open turn gives up on.
    pub(super) fn given_up(&self) -> u32 {
        count(self.live.values().filter(|t| t.given_up && !t.counted))
    }

    /// Everything that runs when the child dies.
    pub(super) fn left(&self) -> u32 {
        count(self.live.values().filter(|t| !t.counted))
    }

    /// The turn settled. Gives how many of its tasks were killed.
    pub(super) fn settled(&mut self) -> u32 {
        for task in self.live.values_mut() {
            task.counted |= task.given_up;
        }
        std::mem::take(&mut self.killed)
    }

    /// A new controller can't know how long they have been waiting.
    pub(super) fn restart_clocks(&mut self, now: u64) {
        self.live.values_mut().for_each(|task| task.since = now);
        self.untold.values_mut().for_each(|since| *since = now);
    }
}

fn count<'a>(tasks: impl Iterator<Item = &'a Live>) -> u32 {
    u32::try_from(tasks.count()).unwrap_or(u32::MAX)
}

/// `local_agent`, `remote_agent`, … or `local_bash` and whatever else there is.
fn kind_of(kind: &str) -> TaskKind {
    if kind.contains("agent") { TaskKind::Agent } else { TaskKind::Shell }
}
