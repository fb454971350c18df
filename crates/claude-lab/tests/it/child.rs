//! The real `claude` behind a lab, driven over stream-json, with an environment in which it reaches nothing else.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child as Process, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use claude_lab::Tokens;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The versions that every test runs.
pub(crate) const VERSIONS: [&str; 2] = ["2.1.332", "2.1.200"];

const DEADLINE: Duration = Duration::from_secs(60);

/// The executable of a version.
pub(crate) fn claude(version: &str) -> PathBuf {
    let folder = std::env::var_os("OSTLER_TEST_CLAUDE")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/claude"), PathBuf::from);
    let path = folder.join(version).join("claude");
    assert!(path.exists(), "{} is missing; run scripts/get-claude {version}", path.display());
    path.canonicalize().expect("a path")
}

/// A home, a working directory and a temporary folder for children that share a conversation.
pub(crate) struct Surroundings {
    folder: TempDir,
}

impl Surroundings {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["home", "config", "tmp", "work"] {
            std::fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        Self { folder }
    }

    /// Starts a child. `args` come behind the flags of every child.
    pub(crate) fn start(&self, version: &str, base_url: &str, args: &[&str]) -> Child {
        let path = |name: &str| self.folder.path().join(name);
        let mut command = Command::new(claude(version));
        command
            .args(["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"])
            .args(["--permission-mode", "default"])
            .args(args)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", path("home"))
            .env("CLAUDE_CONFIG_DIR", path("config"))
            .env("TMPDIR", path("tmp"))
            .env("ANTHROPIC_BASE_URL", base_url)
            .env("ANTHROPIC_API_KEY", "lab")
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("DISABLE_TELEMETRY", "1")
            .env("DISABLE_ERROR_REPORTING", "1")
            .env("DISABLE_AUTOUPDATER", "1")
            .current_dir(path("work"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // So that the run's search for leftovers knows it.
        if let Some(run) = std::env::var_os("OSTLER_TEST_RUN") {
            command.env("OSTLER_TEST_RUN", run);
        }
        Child::of(command.spawn().expect("claude starts"))
    }
}

pub(crate) struct Child {
    process: Process,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    seen: Vec<Value>,
    uuids: u128,
}

impl Child {
    fn of(mut process: Process) -> Child {
        let stdin = process.stdin.take();
        let stdout = BufReader::new(process.stdout.take().expect("a pipe"));
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if let Ok(value) = serde_json::from_str(&line)
                    && send.send(value).is_err()
                {
                    break;
                }
            }
        });
        Child { process, stdin, lines, seen: Vec::new(), uuids: 0 }
    }

    fn write(&mut self, value: &Value) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        writeln!(stdin, "{value}").expect("the child reads");
    }

    pub(crate) fn say(&mut self, text: &str) {
        self.uuids += 1;
        let uuid = uuid::Uuid::from_u128(uuid::Uuid::new_v4().as_u128() ^ self.uuids);
        self.write(&json!({"type": "user", "uuid": uuid, "session_id": "", "parent_tool_use_id": null,
            "message": {"role": "user", "content": text}}));
    }

    /// Sends a control request and waits for its answer.
    pub(crate) fn control(&mut self, request: Value) {
        self.uuids += 1;
        let id = format!("r{}", self.uuids);
        self.write(&json!({"type": "control_request", "request_id": id, "request": request}));
        let answer = self.until(|line| {
            line["type"] == "control_response" && line["response"]["request_id"] == id.as_str()
        });
        assert_eq!(answer["response"]["subtype"], "success", "{answer}");
    }

    /// Reads on until a line is wanted.
    pub(crate) fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line =
                self.lines.recv_timeout(left).unwrap_or_else(|_| panic!("no such line: {:#?}", self.seen));
            self.seen.push(line.clone());
            if wanted(&line) {
                return line;
            }
        }
    }

    /// One turn: a prompt and its result.
    pub(crate) fn turn(&mut self, text: &str) -> Value {
        self.say(text);
        self.until(|line| line["type"] == "result")
    }

    /// Every line so far.
    pub(crate) fn seen(&self) -> &[Value] {
        &self.seen
    }

    /// The content blocks of a kind in all assistant lines.
    pub(crate) fn blocks(&self, kind: &str) -> Vec<Value> {
        let lines = self.seen.iter().filter(|line| line["type"] == "assistant");
        let blocks =
            lines.flat_map(|line| line["message"]["content"].as_array().cloned().unwrap_or_default());
        blocks.filter(|block| block["type"] == kind).collect()
    }

    /// Closes stdin and waits for the end.
    pub(crate) fn end(mut self) {
        drop(self.stdin.take());
        // The reader's end is the child's: stdout is closed.
        let deadline = Instant::now() + DEADLINE;
        while self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())).is_ok() {}
        assert!(Instant::now() < deadline, "claude did not end");
        self.process.wait().expect("claude ended");
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// The tokens of one model in a result's `modelUsage`. It does not split what was written to the cache.
pub(crate) fn model_tokens(result: &Value, model: &str) -> Tokens {
    let usage = &result["modelUsage"][model];
    let count =
        |name: &str| usage[name].as_u64().unwrap_or_else(|| panic!("no {name} for {model}: {result}"));
    Tokens {
        input: count("inputTokens"),
        output: count("outputTokens"),
        cache_read: count("cacheReadInputTokens"),
        cache_write_5m: count("cacheCreationInputTokens"),
        cache_write_1h: 0,
    }
}
