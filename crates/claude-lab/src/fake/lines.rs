//! Lines that describe the session: `init`, and the totals on results.

use serde_json::{Value, json};

use super::engine::{Engine, Totals};

const TOOLS: &[&str] = &[
    "Task",
    "Bash",
    "Edit",
    "Glob",
    "Grep",
    "NotebookEdit",
    "Read",
    "TodoWrite",
    "WebFetch",
    "WebSearch",
    "Write",
];

impl Engine {
    /// The line that opens every turn.
    pub(super) fn init(&mut self) {
        let mut line = json!({
            "type": "system", "subtype": "init", "cwd": self.cwd, "session_id": self.session, "tools": TOOLS,
            "mcp_servers": [], "model": self.options.model, "permissionMode": self.options.permission_mode,
            "slash_commands": ["clear", "compact"], "apiKeySource": self.key_source(),
            "claude_code_version": self.habits.version, "output_style": "default", "agents": ["general-purpose"],
            "skills": [], "plugins": [],
        });
        if self.habits.lifecycle {
            line["capabilities"] = json!(self.habits.capabilities());
        }
        if self.habits.names_init {
            self.name_prompts(&mut line, false);
        }
        if let Value::Object(fields) = &mut line {
            fields.extend(self.script.init.clone());
        }
        self.emit(line);
    }

    pub(super) fn key_source(&self) -> &'static str {
        if std::env::var_os("ANTHROPIC_API_KEY").is_some() { "ANTHROPIC_API_KEY" } else { "none" }
    }
}

impl Totals {
    /// Adds a turn.
    pub(super) fn add(&mut self, model: &str, usage: &Value, usd: f64) {
        self.usd += usd;
        let row = self.models.entry(model).or_insert_with(|| json!({"webSearchRequests": 0}));
        let sum = |row: &Value, name: &str, more: &Value| {
            row[name].as_u64().unwrap_or(0) + more.as_u64().unwrap_or(0)
        };
        let created = &usage["cache_creation"];
        for (name, more) in [
            ("inputTokens", &usage["input_tokens"]),
            ("outputTokens", &usage["output_tokens"]),
            ("cacheReadInputTokens", &usage["cache_read_input_tokens"]),
            ("cacheCreationInputTokens", &usage["cache_creation_input_tokens"]),
            ("cacheCreationEphemeral5mInputTokens", &created["ephemeral_5m_input_tokens"]),
            ("cacheCreationEphemeral1hInputTokens", &created["ephemeral_1h_input_tokens"]),
        ] {
            row[name] = json!(sum(row, name, more));
        }
        row["costUSD"] = json!(row["costUSD"].as_f64().unwrap_or(0.0) + usd);
    }
}
