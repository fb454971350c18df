//! Every request that came in, in memory and as NDJSON on disk.

use std::sync::Arc;
use std::time::Duration;

use crate::ScriptRef;

/// One request and what became of it.
#[derive(Debug, Clone)]
pub struct LoggedRequest {
    /// Counted from 1 over the lab's life.
    pub seq: u64,
    /// When it came, in milliseconds since the Unix epoch, by the lab's clock.
    pub at_ms: u64,
    /// Method.
    pub method: String,
    /// Path and query, without a script's prefix.
    pub path: String,
    /// The script that served it.
    pub script: Option<ScriptRef>,
    /// Headers, names in lower case; those that hold a key are left out.
    pub headers: Vec<(String, String)>,
    /// Claude's session id, from its header or from the metadata.
    pub session_id: Option<String>,
    /// The model asked for.
    pub model: Option<String>,
    /// `main`, `sub` or `side`.
    pub lane: crate::price::bill::Lane,
    /// The last user text.
    pub text: String,
    /// The line of the rule that answered; none for generic answers.
    pub rule_line: Option<usize>,
    /// The status it was answered with; 0 while none was sent.
    pub status: u16,
    body: Arc<[u8]>,
}

impl LoggedRequest {
    /// The body as it came; empty when the log had no room for it any more.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// The body as JSON; `Null` when it is none.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or(serde_json::Value::Null)
    }
}

/// The log.
#[derive(Debug)]
pub(crate) struct Log {}

impl Log {
    pub(crate) fn requests(&self) -> Vec<LoggedRequest> {
        todo!()
    }

    pub(crate) fn wait_for(
        &self,
        _wanted: &dyn Fn(&LoggedRequest) -> bool,
        _within: Duration,
    ) -> Option<LoggedRequest> {
        todo!()
    }
}
