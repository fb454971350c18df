//! Background tasks: what the model started and does not wait for.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use uuid::Uuid;

use super::engine::{Engine, Flow};
use super::script::{Background, Pause};

/// How long older versions wait for background shells after the end of stdin.
const SHELL_PATIENCE: Duration = Duration::from_secs(5);

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
        // The real one gives an agent's launch no `is_error`.
        let is_error = (!agent).then_some(false);
        self.tool_result(tool_use_id, &text, is_error, &json!({"backgroundTaskId": id}));
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
            if let Some(text) = &task.what.says {
                self.agent_says(&task.tool_use_id, text);
            }
            if self.habits.lists_tasks_first {
                self.list_tasks();
            }
            self.tell_end(&task, &task.what.status, &task.what.status);
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

    /// A subagent's line: it is in a lane of its own.
    fn agent_says(&mut self, tool_use_id: &str, text: &str) {
        let message = json!({
            "id": Uuid::new_v4(), "type": "message", "role": "assistant", "model": self.options.model,
            "content": [{"type": "text", "text": text}], "stop_reason": null, "stop_sequence": null,
            "usage": self.usage(1),
        });
        self.emit(json!({
            "type": "assistant", "message": message, "parent_tool_use_id": tool_use_id,
            "subagent_type": "general-purpose",
        }));
    }

    fn is_over(&self, task: &Task) -> bool {
        match &task.what.waits {
            Some(Pause::Gate(gate)) => self.gates.is_open(gate),
            _ => task.due.is_some_and(|due| due <= Instant::now()),
        }
    }

    /// The two lines of a task's end.
    fn tell_end(&mut self, task: &Task, status: &str, notice: &str) {
        self.emit(json!({
            "type": "system", "subtype": "task_updated", "task_id": task.id, "patch": {"status": status},
        }));
        self.emit(json!({
            "type": "system", "subtype": "task_notification", "task_id": task.id,
            "tool_use_id": task.tool_use_id, "status": notice,
            "summary": format!("Background task \"{}\" {notice}", task.what.what), "output_file": "",
        }));
    }

    /// Kills what is left when the session ends.
    pub(super) fn kill_tasks(&mut self) {
        if self.tasks.is_empty() {
            return;
        }
        self.state("idle");
        let killed = std::mem::take(&mut self.tasks);
        if !self.habits.tells_killed_tasks {
            return;
        }
        if self.habits.lists_tasks_first {
            self.list_tasks();
        }
        for task in killed {
            self.tell_end(&task, "killed", "stopped");
        }
        if !self.habits.lists_tasks_first {
            self.list_tasks();
        }
    }

    /// At the end of stdin: whether nothing is left to wait for.
    pub(super) fn nothing_left(&mut self) -> bool {
        let patience = self.habits.eof_kills_shells.then_some(SHELL_PATIENCE);
        if patience.is_some_and(|time| self.eof.is_some_and(|since| since.elapsed() >= time)) {
            self.tasks.retain(|task| task.what.agent);
        }
        self.tasks.is_empty() && self.woken.is_empty()
    }

    /// Whether the session still counts as running for the sake of a background agent.
    pub(super) fn agent_keeps_running(&self) -> bool {
        self.habits.agents_keep_running && self.tasks.iter().any(|task| task.what.agent)
    }
}
