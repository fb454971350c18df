//! Background tasks: shells and subagents that go on while the model doesn't wait for them.

use super::Common;
use crate::read::object;

object! {
    /// `system/background_tasks_changed`: the whole list of live tasks, every time.
    #[derive(PartialEq, Eq)]
    pub struct BackgroundTasks {
        /// Those that live.
        pub tasks: Vec<Task> = "tasks",
    }
    rest: /// Ids.
    pub common: Common;
}

object! {
    /// A live task.
    #[derive(PartialEq, Eq)]
    pub struct Task {
        /// Its id; what `stop_task` and `task_notification` name.
        pub id: String = "task_id",
        /// `local_bash`, `local_agent`, …
        pub kind: String = "task_type",
        /// What it is for.
        pub description: String = "description",
        /// Its state, where the CLI says one.
        pub status: Option<String> = "status",
        /// Kind of agent.
        pub subagent_type: Option<String> = "subagent_type",
        /// The task that started it.
        pub parent_task_id: Option<String> = "parent_task_id",
        /// The child's housekeeping, which nobody waits for.
        pub ambient: bool = "ambient",
    }
    skip: ["run_id"];
}

object! {
    /// `system/task_started`; not every task that starts is in the background.
    #[derive(PartialEq, Eq)]
    pub struct TaskStarted {
        /// The task.
        pub task_id: String = "task_id",
        /// The call that started it.
        pub tool_use_id: Option<String> = "tool_use_id",
        /// What it is for.
        pub description: String = "description",
        /// `local_bash`, `local_agent`, …
        pub task_type: Option<String> = "task_type",
        /// Kind of agent.
        pub subagent_type: Option<String> = "subagent_type",
        /// It began in the background; older CLIs don't say.
        pub is_backgrounded: Option<bool> = "is_backgrounded",
        /// The task that started it.
        pub parent_task_id: Option<String> = "parent_task_id",
        /// The child's housekeeping.
        pub ambient: bool = "ambient",
    }
    rest: /// Ids.
    pub common: Common;
    skip: ["run_id", "prompt", "spawn_depth", "workflow_name", "skip_transcript"];
}

object! {
    /// `system/task_progress`.
    #[derive(PartialEq, Eq)]
    pub struct TaskProgress {
        /// The task.
        pub task_id: String = "task_id",
        /// The call that started it.
        pub tool_use_id: Option<String> = "tool_use_id",
        /// What it is doing.
        pub description: String = "description",
        /// The tool it used last.
        pub last_tool_name: Option<String> = "last_tool_name",
        /// A sentence about it.
        pub summary: Option<String> = "summary",
        /// What it used so far.
        pub usage: Option<TaskUsage> = "usage",
    }
    rest: /// Ids.
    pub common: Common;
    skip: ["run_id", "subagent_type"];
}

object! {
    /// What a task used.
    #[derive(PartialEq, Eq)]
    pub struct TaskUsage {
        /// Tokens of every class.
        pub total_tokens: u64 = "total_tokens",
        /// Tool calls.
        pub tool_uses: u64 = "tool_uses",
        /// Milliseconds.
        pub duration_ms: u64 = "duration_ms",
    }
}

/// `system/task_updated`: fields that changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskUpdated {
    /// Ids.
    pub common: Common,
    /// The task.
    pub task_id: String,
    /// `pending`, `running`, `completed`, `failed`, `killed`, `paused`.
    pub status: Option<String>,
    /// It went to the background, or came back.
    pub is_backgrounded: Option<bool>,
    /// Why it failed.
    pub error: Option<String>,
}

object! {
    pub(crate) struct TaskUpdatedBody {
        task_id: String = "task_id",
        patch: PatchBody = "patch",
    }
    rest: common: Common;
    skip: ["run_id"];
}

object! {
    struct PatchBody {
        status: Option<String> = "status",
        is_backgrounded: Option<bool> = "is_backgrounded",
        error: Option<String> = "error",
    }
    skip: ["end_time", "description", "total_paused_ms"];
}

impl From<TaskUpdatedBody> for TaskUpdated {
    fn from(body: TaskUpdatedBody) -> Self {
        Self {
            common: body.common,
            task_id: body.task_id,
            status: body.patch.status,
            is_backgrounded: body.patch.is_backgrounded,
            error: body.patch.error,
        }
    }
}

object! {
    /// `system/task_notification`: a task ended. A turn that starts by itself follows 10–50 ms later (protocol page,
    /// "Delivery receipts and steering").
    #[derive(PartialEq, Eq)]
    pub struct TaskNotification {
        /// The task.
        pub task_id: String = "task_id",
        /// The call that started it.
        pub tool_use_id: Option<String> = "tool_use_id",
        /// `completed`, `failed`, `stopped`.
        pub status: String = "status",
        /// A sentence about it.
        pub summary: Option<String> = "summary",
        /// Where its output is.
        pub output_file: Option<String> = "output_file",
        /// What it used.
        pub usage: Option<TaskUsage> = "usage",
        /// The child's housekeeping.
        pub ambient: bool = "ambient",
    }
    rest: /// Ids.
    pub common: Common;
    skip: ["run_id", "reason", "resource_links", "skip_transcript"];
}

object! {
    /// `tool_progress`: a tool is still running.
    #[derive(PartialEq)]
    pub struct ToolProgress {
        /// The call.
        pub tool_use_id: String = "tool_use_id",
        /// The tool.
        pub tool_name: String = "tool_name",
        /// For how many seconds.
        pub elapsed_seconds: f64 = "elapsed_time_seconds",
        /// The task that runs it.
        pub task_id: Option<String> = "task_id",
    }
    rest: /// Ids.
    pub common: Common;
    skip: ["heartbeat", "subagent_type", "subagent_retry"];
}
