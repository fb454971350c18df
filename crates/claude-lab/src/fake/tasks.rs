//! Background tasks: what the model started and does not wait for.

use std::time::Instant;

use serde_json::{Value, json};
use uuid::Uuid;

use super::engine::{Engine, Flow};
use super::script::{Background, Pause};

/// A running background task, or one that has ended.
#[derive(Debug, Clone)]
pub(super) struct Task {
    pub(super) id: String,
    pub(super) tool_use_id: String,
    pub(super) what: Background,
    /// When it ends by itself.
    due: Option<Instant>,
}

impl Task {
    fn kind(&self) -> &'static str {
        if self.what.agent { "local_agent" } else { "local_bash" }
    }

    fn row(&self) -> Value {
        let mut row = json!({"task_id": self.id, "task_type": self.kind(), "description": self.what.what});
        if self.what.agent {
            row["subagent_type"] = json!("general-purpose");
        }
        row
    }
}

impl Engine {
    /// Starts a task and answers the tool call that asked for it.
    pub(super) fn start_task(&mut self, tool_use_id: &str, what: Background) {
        let id =
            format!("{}{}", if what.agent { 'a' } else { 'b' }, &Uuid::new_v4().simple().to_string()[..8]);
        let due = match &what.waits {
            Some(Pause::For(time)) => Some(Instant::now() + *time),
            Some(Pause::Gate(_)) => None,
            None => Some(Instant::now()),
        };
        let task = Task { id: id.clone(), tool_use_id: tool_use_id.to_owned(), what, due };
        let mut started = task.row();
        started["type"] = json!("system");
        started["subtype"] = json!("task_started");
        started["tool_use_id"] = json!(tool_use_id);
        let agent = task.what.agent;
        self.tasks.push(task);
        self.list_tasks();
        self.emit(started);
        let text = if agent {
            "Async agent launched successfully.".to_owned()
        } else {
            format!("Command running in background with ID: {id}.")
        };
        self.tool_result(tool_use_id, &text, false, &json!({"backgroundTaskId": id}));
    }

    /// The full list of running tasks, where this version sends it.
    pub(super) fn list_tasks(&mut self) {
        if self.habits.task_lists {
            let rows: Vec<Value> = self.tasks.iter().map(Task::row).collect();
            self.emit(json!({"type": "system", "subtype": "background_tasks_changed", "tasks": rows}));
        }
    }

    /// Ends the tasks whose time has come; each wakes a turn.
    pub(super) fn end_tasks(&mut self) -> Flow {
        while let Some(at) = self.tasks.iter().position(|task| self.is_over(task)) {
            let task = self.tasks.remove(at);
            if self.habits.lists_tasks_first {
                self.list_tasks();
            }
            self.emit(json!({
                "type": "system", "subtype": "task_updated", "task_id": task.id,
                "patch": {"status": task.what.status},
            }));
            self.emit(json!({
                "type": "system", "subtype": "task_notification", "task_id": task.id,
                "tool_use_id": task.tool_use_id, "status": task.what.status,
                "summary": format!("Background task \"{}\" {}", task.what.what, task.what.status),
                "output_file": "",
            }));
            if !self.habits.lists_tasks_first {
                self.list_tasks();
            }
            if let Some(lag) = task.what.lag.clone() {
                self.lag(&lag)?;
            }
            if task.what.wakes {
                self.woken.push_back(task);
            }
        }
        Ok(())
    }

    fn is_over(&self, task: &Task) -> bool {
        match &task.what.waits {
            Some(Pause::Gate(gate)) => self.gates.is_open(gate),
            _ => task.due.is_some_and(|due| due <= Instant::now()),
        }
    }

    /// At the end of stdin: whether nothing is left to wait for.
    pub(super) fn nothing_left(&mut self) -> bool {
        if self.habits.eof_kills_shells {
            self.tasks.retain(|task| task.what.agent);
        }
        self.tasks.is_empty() && self.woken.is_empty()
    }

    /// Whether the session still counts as running for the sake of a background agent.
    pub(super) fn agent_keeps_running(&self) -> bool {
        self.habits.agents_keep_running && self.tasks.iter().any(|task| task.what.agent)
    }
}
