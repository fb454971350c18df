//! The request log on disk: a line for each request, and one for each answer. A full file is renamed to `….old`.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::LoggedRequest;

/// An open log file.
#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    file: File,
    size: u64,
    max: u64,
}

impl LogFile {
    pub(super) fn open(path: &Path, max: u64) -> io::Result<LogFile> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let size = file.metadata()?.len();
        Ok(LogFile { path: path.to_owned(), file, size, max })
    }

    pub(super) fn request(&mut self, request: &LoggedRequest) {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
        self.line(&json!({
            "request": request.seq,
            "at_ms": request.at_ms,
            "method": request.method,
            "path": request.path,
            "script": request.script.as_ref().map(|script| script.as_str()),
            "session_id": request.session_id,
            "model": request.model,
            "lane": request.lane.as_str(),
            "text": request.text,
            "headers": request.headers,
            "body": body,
        }));
    }

    pub(super) fn answer(&mut self, seq: u64, status: u16, rule_line: Option<usize>) {
        self.line(&json!({"answer": seq, "status": status, "rule_line": rule_line}));
    }

    /// The log is for people to read; that it can't be written must not fail a request.
    fn line(&mut self, value: &Value) {
        let line = format!("{value}\n");
        let size = line.len() as u64;
        if self.size > 0 && self.size + size > self.max {
            drop(self.rotate());
        }
        if self.file.write_all(line.as_bytes()).is_ok() {
            self.size += size;
        }
    }

    fn rotate(&mut self) -> io::Result<()> {
        std::fs::rename(&self.path, self.path.with_extension("ndjson.old"))?;
        *self = LogFile::open(&self.path, self.max)?;
        Ok(())
    }
}
