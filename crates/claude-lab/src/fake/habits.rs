//! How the CLI behaves from version to version, as far as it was measured (protocol page, "By version"; conformance
//! test for 2.1.332 and 2.1.200).

use serde_json::{Value, json};

/// The version that a fake child claims to be when its script names none.
pub(super) const DEFAULT_VERSION: &str = "2.1.332";

/// What a fake child does and says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Habits {
    pub(super) version: String,
    /// Sends `command_lifecycle` lines.
    pub(super) lifecycle: bool,
    /// Names prompts on its lines, and numbers its results.
    pub(super) names_prompts: bool,
    /// `interrupt` is answered with `still_queued`.
    pub(super) interrupt_receipt: bool,
    /// `cancel_queued` on an interrupt does something.
    pub(super) cancel_queued: bool,
    /// What is queued at `end_session` is dropped; otherwise it runs first.
    pub(super) discards_queue: bool,
    /// Sends `background_tasks_changed`.
    pub(super) task_lists: bool,
    /// `allow` without `updatedInput` fails the tool.
    pub(super) allow_needs_input: bool,
    /// A resumed or forked conversation goes on from its old total; after `/clear` it is 0.
    pub(super) restores_totals: bool,
    /// At the end of stdin background shells are killed instead of waited for.
    pub(super) eof_kills_shells: bool,
    /// A conversation is found from any working directory.
    pub(super) resumes_anywhere: bool,
    /// After an abort the rest of the stream's events still come, and what streamed is paid for.
    pub(super) finishes_stream: bool,
    /// `terminal_reason` tells API failures and an exhausted budget.
    pub(super) tells_reasons: bool,
    /// `init` names the prompts that it opens a turn for; the answer to `cancel_async_message` names its prompt.
    pub(super) names_init: bool,
    /// `requesting` names the prompts too.
    pub(super) names_requests: bool,
    /// A task's end empties the list before it is notified, not after.
    pub(super) lists_tasks_first: bool,
    /// `/clear` lists the tasks.
    pub(super) clear_lists_tasks: bool,
    /// A result at the budget's end has a `stop_reason`.
    pub(super) budget_has_stop: bool,
    /// How many of a message's last two stream events still come when the budget ends it.
    pub(super) budget_stream_events: u8,
    /// A live background agent keeps the session from being idle.
    pub(super) agents_keep_running: bool,
    /// Says which tasks `end_session` kills.
    pub(super) tells_killed_tasks: bool,
    /// A denial without a prompt tool has a line of its own.
    pub(super) says_denied: bool,
}

impl Habits {
    /// The habits of `2.1.N`; of the newest measured version for anything else.
    pub(super) fn of(version: &str) -> Self {
        let patch = version.strip_prefix("2.1.").and_then(|n| n.parse().ok()).unwrap_or(u32::MAX);
        Self {
            version: version.to_owned(),
            lifecycle: patch >= 206,
            names_prompts: patch >= 283,
            interrupt_receipt: patch >= 206,
            cancel_queued: patch >= 240,
            discards_queue: patch >= 206,
            task_lists: patch >= 240,
            allow_needs_input: patch < 240,
            restores_totals: patch > 276,
            eof_kills_shells: patch < 299,
            resumes_anywhere: patch >= 283,
            finishes_stream: patch >= 299,
            tells_reasons: patch >= 240,
            names_init: patch >= 332,
            names_requests: patch >= 299,
            lists_tasks_first: patch < 299,
            clear_lists_tasks: patch >= 332,
            budget_has_stop: !(283..332).contains(&patch),
            budget_stream_events: match patch {
                ..=240 => 1,
                241..299 => 0,
                _ => 2,
            },
            agents_keep_running: patch >= 283,
            tells_killed_tasks: patch >= 283,
            says_denied: patch >= 240,
        }
    }

    /// Sets one habit by name; false when there is none of that name.
    pub(super) fn set(&mut self, name: &str, on: bool) -> bool {
        let habit = match name {
            "lifecycle" => &mut self.lifecycle,
            "names-prompts" => &mut self.names_prompts,
            "interrupt-receipt" => &mut self.interrupt_receipt,
            "cancel-queued" => &mut self.cancel_queued,
            "discards-queue" => &mut self.discards_queue,
            "task-lists" => &mut self.task_lists,
            "allow-needs-input" => &mut self.allow_needs_input,
            "restores-totals" => &mut self.restores_totals,
            "eof-kills-shells" => &mut self.eof_kills_shells,
            "resumes-anywhere" => &mut self.resumes_anywhere,
            "finishes-stream" => &mut self.finishes_stream,
            "tells-reasons" => &mut self.tells_reasons,
            "names-init" => &mut self.names_init,
            "names-requests" => &mut self.names_requests,
            "lists-tasks-first" => &mut self.lists_tasks_first,
            "agents-keep-running" => &mut self.agents_keep_running,
            "tells-killed-tasks" => &mut self.tells_killed_tasks,
            "says-denied" => &mut self.says_denied,
            _ => return false,
        };
        *habit = on;
        true
    }

    /// What `init` lists under `capabilities`, of those that matter to us.
    pub(super) fn capabilities(&self) -> Vec<Value> {
        let mut names = Vec::new();
        let mut add = |on: bool, name: &str| {
            if on {
                names.push(json!(name));
            }
        };
        add(self.interrupt_receipt, "interrupt_receipt_v1");
        add(self.cancel_queued, "interrupt_cancel_queued_v1");
        add(self.lifecycle, "msg_lifecycle_v1");
        names
    }
}
