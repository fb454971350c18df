//! What a scenario is made of.

use serde_json::{Value, json};

/// A version of the CLI, `2.1.N`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version(String);

impl Version {
    /// Takes any text; what isn't `2.1.N` counts as newer than all that is.
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it sends `command_lifecycle` (protocol page, "By version").
    pub fn has_receipts(&self) -> bool {
        self.patch() >= 206
    }

    /// Whether it sends `background_tasks_changed`.
    pub fn lists_tasks(&self) -> bool {
        self.patch() >= 240
    }

    fn patch(&self) -> u32 {
        self.0.strip_prefix("2.1.").and_then(|patch| patch.parse().ok()).unwrap_or(u32::MAX)
    }
}

/// One script of stdin lines, with what the API (or a fake child) answers.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Its name; recordings are `recordings/<version>/<name>.ndjson`.
    pub name: &'static str,
    /// What it is about.
    pub group: Group,
    /// What the lab answers the real CLI.
    pub lab: &'static str,
    /// What a fake child plays; without it the scenario is only recorded.
    pub fake: Option<&'static str>,
    /// Flags beside those that every child gets.
    pub args: &'static [&'static str],
    /// What is written, and what is waited for before.
    pub acts: fn(&Version) -> Vec<Act>,
    /// Whether it is part of the recordings.
    pub recorded: bool,
}

/// What a scenario is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Prompts, texts, conversations.
    Turns,
    /// Tools, permissions, background tasks.
    Tools,
    /// Interrupts.
    Interrupts,
    /// Ends of the process.
    Ends,
    /// The rest of the control channel, and bad lines.
    Channel,
    /// API errors and limits.
    Failures,
}

/// One step of the side that writes.
#[derive(Debug, Clone)]
pub enum Act {
    /// A prompt; its uuid is made of the number.
    Prompt(u8, &'static str),
    /// A control request of that id.
    Control(&'static str, Value),
    /// Bytes as they are.
    Bytes(&'static [u8]),
    /// An answer to the child's last request.
    Answer(Answer),
    /// Waits for a line that was not waited for before.
    Wait(Seen),
    /// Opens a gate: of the lab's script, and as a file in the working directory.
    Open(&'static str),
    /// Closes stdin.
    Close,
    /// Sends the child a signal, by its short name.
    Signal(&'static str),
    /// Waits for the exit, if a child runs, and starts one with `--resume`.
    Resume,
    /// The same with `--session-id`.
    Again,
}

/// How a permission is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// With the input unchanged.
    Allow,
    /// Without `updatedInput`.
    AllowBare,
    /// With a message.
    Deny,
    /// With a message, and the turn is to end.
    DenyAndStop,
    /// In the envelope that the CLI ignores.
    WrongEnvelope,
}

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// A `result`.
    Result,
    /// The session says that it is idle.
    Idle,
    /// A token delta.
    Delta,
    /// An `assistant` line.
    Assistant,
    /// The end of a message's stream.
    MessageStop,
    /// A `user` line (a tool's result).
    User,
    /// A request of the child.
    Request,
    /// A response to a request of that id.
    Response(&'static str),
    /// A receipt: the prompt's number and its state.
    Receipt(u8, &'static str),
    /// A full list of background tasks.
    Tasks,
    /// The process has ended.
    Exit,
}

impl Seen {
    pub(super) fn is(self, line: &Value) -> bool {
        match self {
            Self::Result => line["type"] == "result",
            Self::Idle => line["subtype"] == "session_state_changed" && line["state"] == "idle",
            Self::Delta => line["event"]["type"] == "content_block_delta",
            Self::MessageStop => line["event"]["type"] == "message_stop",
            Self::Assistant => line["type"] == "assistant",
            Self::User => line["type"] == "user",
            Self::Request => line["type"] == "control_request",
            Self::Response(id) => line["type"] == "control_response" && line["response"]["request_id"] == id,
            Self::Receipt(number, state) => {
                line["type"] == "command_lifecycle"
                    && line["command_uuid"] == uuid(number)
                    && line["state"] == state
            }
            Self::Tasks => line["subtype"] == "background_tasks_changed",
            Self::Exit => false,
        }
    }
}

/// The uuid of a prompt.
pub(super) fn uuid(number: u8) -> String {
    format!("11111111-0000-4000-8000-0000000000{number:02}")
}

/// A `user` line.
pub(super) fn prompt(number: u8, text: &str) -> Value {
    json!({
        "type": "user", "uuid": uuid(number), "session_id": "", "parent_tool_use_id": null,
        "message": {"role": "user", "content": text},
    })
}

/// An answer to a request of the child.
pub(super) fn answer(answer: Answer, request: &Value) -> Value {
    let (id, input) = (&request["request_id"], &request["request"]["input"]);
    let body = match answer {
        Answer::Allow => json!({"behavior": "allow", "updatedInput": input}),
        Answer::AllowBare => json!({"behavior": "allow"}),
        Answer::Deny => json!({"behavior": "deny", "message": "Not today."}),
        Answer::DenyAndStop => json!({"behavior": "deny", "message": "Not today.", "interrupt": true}),
        Answer::WrongEnvelope => {
            let body = json!({"behavior": "allow", "updatedInput": input});
            return json!({"type": "control_response", "response_id": id, "response": body});
        }
    };
    json!({
        "type": "control_response",
        "response": {"subtype": "success", "request_id": id, "response": body},
    })
}
