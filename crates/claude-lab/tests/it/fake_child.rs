//! A fake child with a script, driven by a test.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

const DEADLINE: Duration = Duration::from_secs(20);

/// Where fake children of one test live.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn open(&self, gate: &str) {
        std::fs::write(self.path(gate), "").expect("a gate opens");
    }

    /// Waits until a file exists and isn't empty, or is a gate.
    pub(crate) fn wait_for_file(&self, name: &str) -> String {
        let deadline = Instant::now() + DEADLINE;
        loop {
            match std::fs::read_to_string(self.path(name)) {
                Ok(text) => return text,
                Err(_) => assert!(Instant::now() < deadline, "{name} does not appear"),
            }
            std::thread::yield_now();
        }
    }

    /// The command of a child with that script.
    pub(crate) fn command(&self, script: &str, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fake-claude"));
        command
            .args(["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"])
            .args(args)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.folder.path())
            .env("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "1")
            .env("FAKE_CLAUDE_SCRIPT", format!("{script}\n"))
            .env("FAKE_CLAUDE_GATES", self.folder.path())
            .env("FAKE_CLAUDE_LOG", self.path("log"))
            .current_dir(self.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(run) = std::env::var_os("OSTLER_TEST_RUN") {
            command.env("OSTLER_TEST_RUN", run);
        }
        command
    }

    pub(crate) fn start(&self, script: &str, args: &[&str]) -> Fake {
        Fake::of(self.command(script, args).spawn().expect("fake-claude starts"))
    }
}

pub(crate) struct Fake {
    process: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    stderr: Option<std::thread::JoinHandle<String>>,
}

impl Drop for Fake {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

pub(crate) fn uuid(number: u8) -> String {
    format!("11111111-0000-4000-8000-0000000000{number:02}")
}

impl Fake {
    pub(crate) fn of(mut process: Child) -> Self {
        let stdin = process.stdin.take();
        let mut stdout = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut stderr = process.stderr.take().expect("a pipe");
        let (send, lines) = channel();
        std::thread::spawn(move || {
            let mut line = Vec::new();
            while matches!(stdout.read_until(b'\n', &mut line), Ok(1..)) {
                if send.send(std::mem::take(&mut line)).is_err() {
                    return;
                }
            }
        });
        let stderr = Some(std::thread::spawn(move || {
            let mut text = Vec::new();
            stderr.read_to_end(&mut text).expect("stderr is readable");
            String::from_utf8_lossy(&text).into_owned()
        }));
        Self { process, stdin, lines, stderr }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.stdin.as_mut().expect("stdin is open").write_all(bytes).expect("the child reads");
    }

    pub(crate) fn send(&mut self, line: &Value) {
        self.write(format!("{line}\n").as_bytes());
    }

    pub(crate) fn say(&mut self, number: u8, text: &str) {
        self.send(
            &json!({"type": "user", "uuid": uuid(number), "session_id": "", "parent_tool_use_id": null,
            "message": {"role": "user", "content": text}}),
        );
    }

    pub(crate) fn control(&mut self, id: &str, request: Value) {
        self.send(&json!({"type": "control_request", "request_id": id, "request": request}));
    }

    /// The next line, without its end, whatever it is.
    pub(crate) fn line(&self) -> Vec<u8> {
        let mut line = self.lines.recv_timeout(DEADLINE).expect("another line");
        line.pop_if(|byte| *byte == b'\n');
        line
    }

    /// Reads on until a line is wanted.
    pub(crate) fn until(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + DEADLINE;
        loop {
            assert!(Instant::now() < deadline, "no such line");
            let line = serde_json::from_slice(&self.line()).unwrap_or(Value::Null);
            if wanted(&line) {
                return line;
            }
        }
    }

    pub(crate) fn result(&self) -> Value {
        self.until(|line| line["type"] == "result")
    }

    pub(crate) fn idle(&self) {
        self.until(|line| line["state"] == "idle");
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.process.id().to_string();
        let status = Command::new("/bin/sh").args(["-c", "kill -s \"$1\" \"$2\"", "sh", name, &pid]).status();
        assert!(status.expect("kill runs").success());
    }

    pub(crate) fn close(&mut self) {
        drop(self.stdin.take());
    }

    /// Everything up to the end, and how it ended.
    pub(crate) fn rest(mut self) -> (Vec<u8>, ExitStatus, String) {
        let mut bytes = Vec::new();
        let deadline = Instant::now() + DEADLINE;
        while let Ok(line) = self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            bytes.extend(line);
        }
        assert!(Instant::now() < deadline, "fake-claude did not end");
        let status = self.process.wait().expect("it ended");
        let stderr = self.stderr.take().and_then(|thread| thread.join().ok()).expect("its stderr");
        (bytes, status, stderr)
    }

    /// Ends it in-band; gives its status.
    pub(crate) fn end(mut self) -> Option<i32> {
        self.control("end", json!({"subtype": "end_session"}));
        self.rest().1.code()
    }
}

/// The rows of the only transcript below a place.
pub(crate) fn transcript(place: &Path, session: &str) -> Vec<Value> {
    let projects = std::fs::read_dir(place.join(".claude/projects")).expect("projects");
    let path = projects
        .map(|entry| entry.expect("an entry").path().join(format!("{session}.jsonl")))
        .find(|path| path.exists())
        .expect("a transcript");
    let text = std::fs::read_to_string(path).expect("a transcript");
    text.lines().map(|row| serde_json::from_str(row).expect("a row")).collect()
}
