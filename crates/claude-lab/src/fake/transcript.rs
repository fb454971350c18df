//! The transcript of a conversation: `<config dir>/projects/<cwd, non-alphanumerics as '-'>/<id>.jsonl`.

use std::collections::HashSet;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::stamp;

/// What an earlier process left in a transcript.
#[derive(Debug, Default)]
pub(super) struct Past {
    /// Prompts that are in it.
    pub(super) prompts: HashSet<String>,
    /// Prompts that the model has answered, in whole or in part.
    pub(super) answered: HashSet<String>,
    /// The last `cost-state` row.
    pub(super) cost: Option<Value>,
    pub(super) rows: Vec<Value>,
}

/// A transcript that is written to. Its file appears with the first row that is flushed.
#[derive(Debug)]
pub(super) struct Transcript {
    path: PathBuf,
    session: String,
    cwd: String,
    version: String,
    last: Option<String>,
    waiting: Vec<Value>,
}

/// Where Claude Code keeps its things.
pub(super) fn config_dir() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".claude");
    std::env::var_os("CLAUDE_CONFIG_DIR").map_or_else(home, PathBuf::from)
}

/// The folder of a working directory.
pub(super) fn project_dir(cwd: &str) -> PathBuf {
    let slug: String = cwd.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    config_dir().join("projects").join(slug)
}

/// The transcript of a conversation: in `cwd`'s folder, or in any.
pub(super) fn find(id: &str, cwd: &str, anywhere: bool) -> Option<PathBuf> {
    let name = format!("{id}.jsonl");
    let own = project_dir(cwd).join(&name);
    if own.exists() || !anywhere {
        return own.exists().then_some(own);
    }
    let projects = std::fs::read_dir(config_dir().join("projects")).ok()?;
    projects.flatten().map(|entry| entry.path().join(&name)).find(|path| path.exists())
}

/// Reads a transcript; rows that don't parse are passed over.
pub(super) fn read(path: &Path) -> Past {
    let text = std::fs::read(path).unwrap_or_default();
    let mut past = Past::default();
    let mut open = Vec::new();
    for row in text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok())
    {
        let uuid = row["uuid"].as_str().unwrap_or_default().to_owned();
        match row["type"].as_str() {
            // Tool results are rows of the same type; their uuids are nobody's prompt.
            Some("user") => {
                past.prompts.insert(uuid.clone());
                open.push(uuid);
            }
            Some("assistant") => past.answered.extend(open.drain(..)),
            Some("cost-state") => past.cost = Some(row.clone()),
            _ => {}
        }
        past.rows.push(row);
    }
    past
}

impl Transcript {
    pub(super) fn new(path: PathBuf, session: &str, cwd: &str, version: &str) -> Self {
        Self {
            path,
            session: session.to_owned(),
            cwd: cwd.to_owned(),
            version: version.to_owned(),
            last: None,
            waiting: Vec::new(),
        }
    }

    /// Adds a row that belongs to the conversation. It waits for [`Transcript::flush`].
    pub(super) fn message(&mut self, kind: &str, uuid: &str, message: &Value, more: Map<String, Value>) {
        let mut row = json!({
            "parentUuid": self.last, "isSidechain": false, "type": kind, "message": message, "uuid": uuid,
            "timestamp": stamp::now(), "userType": "external", "entrypoint": "sdk-cli", "cwd": self.cwd,
            "sessionId": self.session, "version": self.version, "gitBranch": "HEAD",
        });
        if let Value::Object(fields) = &mut row {
            fields.extend(more);
        }
        self.last = Some(uuid.to_owned());
        self.waiting.push(row);
    }

    /// Adds a row of another kind.
    pub(super) fn row(&mut self, mut row: Value) {
        row["sessionId"] = json!(self.session);
        self.waiting.push(row);
    }

    /// Rows of the conversation that this one is a fork of.
    pub(super) fn copy(&mut self, rows: &[Value]) {
        for row in rows {
            if row["uuid"].is_string() {
                self.last = row["uuid"].as_str().map(str::to_owned);
                self.row(row.clone());
            }
        }
    }

    /// Goes on after these rows.
    pub(super) fn goes_on(&mut self, past: &Past) {
        self.last = past.rows.iter().rev().find_map(|row| row["uuid"].as_str()).map(str::to_owned);
    }

    /// Writes what waits, one call a row.
    pub(super) fn flush(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let opened = std::fs::create_dir_all(folder)
            .and_then(|()| File::options().create(true).append(true).open(&self.path));
        let Ok(mut file) = opened else { return };
        for row in self.waiting.drain(..) {
            // A transcript that can't be written is lost in the real one too.
            drop(file.write_all(format!("{}\n", as_written(row)).as_bytes()));
        }
    }
}

/// The real one writes the kind of a `cost-state` row first, and whoever looks for such rows goes by that.
fn as_written(row: Value) -> String {
    const KIND: &str = "cost-state";
    match row {
        Value::Object(mut fields) if fields.get("type").is_some_and(|kind| kind == KIND) => {
            fields.remove("type");
            let rest = Value::Object(fields).to_string();
            format!("{{\"type\":\"{KIND}\",{}", &rest[1..])
        }
        row => row.to_string(),
    }
}
