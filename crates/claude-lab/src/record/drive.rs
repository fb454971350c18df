//! Plays a scenario to a child: writes its lines, waits for what it waits for, keeps what the child says.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use thiserror::Error;

use super::scenario::{Act, Scenario, Seen, Version, answer, prompt};
use super::{MODEL, SESSION};
use crate::blocking::LabThread;
use crate::{LabConfig, LabError, Script, ScriptError};

/// How long a line may take.
const DEADLINE: Duration = Duration::from_secs(60);

/// What is started.
#[derive(Debug, Clone)]
pub enum Program {
    /// The real CLI, with the lab for its API.
    Claude(PathBuf),
    /// A fake child, with the scenario's script and a version to play.
    Fake(PathBuf),
}

/// What went wrong in a scenario.
#[derive(Debug, Error)]
pub enum DriveError {
    /// A folder or file of the scenario could not be made.
    #[error("cannot make {path}")]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The program could not be started.
    #[error("cannot start {program}")]
    Start {
        /// Which.
        program: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The lab could not be started.
    #[error("cannot start the lab")]
    Lab(#[from] LabError),
    /// The scenario's script is wrong.
    #[error("the lab's script of {scenario} is wrong")]
    Script {
        /// Which scenario.
        scenario: &'static str,
        /// Why.
        #[source]
        source: ScriptError,
    },
    /// A line that was waited for did not come.
    #[error("{scenario}: no {wanted:?} came; the child said:\n{said}")]
    Silent {
        /// Which scenario.
        scenario: &'static str,
        /// What was waited for.
        wanted: Seen,
        /// All its lines so far.
        said: String,
    },
    /// The scenario has no fake script.
    #[error("{0} has no script for a fake child")]
    NoFake(&'static str),
}

/// What a child said and how it ended.
#[derive(Debug, Clone)]
pub struct Driven {
    /// Every line of stdout of every child of the scenario, without its end.
    pub lines: Vec<Vec<u8>>,
    /// Where in `lines` the last child begins.
    pub last_child: usize,
    /// The last child's exit status; `None` after a signal.
    pub status: Option<i32>,
    /// What the last child wrote to stderr.
    pub stderr: String,
}

/// Plays scenarios in a folder of its own.
#[derive(Debug)]
pub struct Driver {
    scenario: Scenario,
    version: Version,
    program: Program,
    folder: PathBuf,
    lab: Option<LabThread>,
}

struct Running {
    process: Child,
    stdin: Option<ChildStdin>,
    stdout: Receiver<Vec<u8>>,
    stderr: Option<std::thread::JoinHandle<String>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

impl Driver {
    /// Prepares a scenario in an empty folder.
    ///
    /// # Errors
    /// The lab or the folder can't be made.
    pub fn new(
        scenario: Scenario,
        version: Version,
        program: Program,
        folder: &Path,
    ) -> Result<Self, DriveError> {
        for name in ["home", "config", "tmp", "work"] {
            let path = folder.join(name);
            std::fs::create_dir_all(&path).map_err(|source| DriveError::Folder { path, source })?;
        }
        let lab = match program {
            Program::Fake(_) => None,
            Program::Claude(_) => {
                let script = Script::parse(scenario.lab)
                    .map_err(|source| DriveError::Script { scenario: scenario.name, source })?;
                Some(LabThread::start(LabConfig { scripts: vec![script], ..LabConfig::default() })?)
            }
        };
        Ok(Self { scenario, version, program, folder: folder.to_owned(), lab })
    }

    /// Plays it.
    ///
    /// # Errors
    /// A child can't be started, or doesn't say what is waited for in 60 s.
    pub fn play(&self) -> Result<Driven, DriveError> {
        let mut driven = Driven { lines: Vec::new(), last_child: 0, status: None, stderr: String::new() };
        let acts = (self.scenario.acts)(&self.version);
        let resumes = matches!(acts.first(), Some(Act::Resume));
        let mut child = self.start(resumes)?;
        let mut request = Value::Null;
        for act in acts.into_iter().skip(usize::from(resumes)) {
            match act {
                Act::Resume | Act::Again => {
                    self.end(&mut child, &mut driven)?;
                    driven.last_child = driven.lines.len();
                    child = self.start(matches!(act, Act::Resume))?;
                }
                Act::Wait(wanted) => {
                    let line = self.wait(&child, wanted, &mut driven)?;
                    if wanted == Seen::Request {
                        request = line;
                    }
                }
                Act::Open(gate) => self.open(gate)?,
                Act::Close => drop(child.stdin.take()),
                Act::Signal(name) => child.signal(name),
                Act::Prompt(number, text) => child.write(&line_of(&prompt(number, text))),
                Act::Bytes(bytes) => child.write(bytes),
                Act::Answer(kind) => child.write(&line_of(&answer(kind, &request))),
                Act::Control(id, body) => {
                    let line = json!({"type": "control_request", "request_id": id, "request": body});
                    child.write(&line_of(&line));
                }
            }
        }
        self.end(&mut child, &mut driven)?;
        Ok(driven)
    }

    fn wait(&self, child: &Running, wanted: Seen, driven: &mut Driven) -> Result<Value, DriveError> {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match child.stdout.recv_timeout(left) {
                Ok(line) => {
                    let value = serde_json::from_slice(&line).unwrap_or(Value::Null);
                    driven.lines.push(line);
                    if wanted.is(&value) {
                        return Ok(value);
                    }
                }
                Err(RecvTimeoutError::Disconnected) if wanted == Seen::Exit => return Ok(Value::Null),
                Err(_) => {
                    let said: Vec<_> =
                        driven.lines.iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect();
                    return Err(DriveError::Silent {
                        scenario: self.scenario.name,
                        wanted,
                        said: said.join("\n"),
                    });
                }
            }
        }
    }

    /// Waits for the child's exit.
    fn end(&self, child: &mut Running, driven: &mut Driven) -> Result<(), DriveError> {
        self.wait(child, Seen::Exit, driven)?;
        driven.status = child.process.wait().ok().and_then(|status| status.code());
        driven.stderr = child.stderr.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        Ok(())
    }

    fn open(&self, gate: &str) -> Result<(), DriveError> {
        if let Some(lab) = &self.lab {
            lab.release(gate);
        }
        let path = self.folder.join("work").join(gate);
        std::fs::write(&path, "").map_err(|source| DriveError::Folder { path, source })
    }

    fn start(&self, resume: bool) -> Result<Running, DriveError> {
        let program = match &self.program {
            Program::Claude(path) | Program::Fake(path) => path.clone(),
        };
        let mut command = self.command(&program, resume)?;
        let mut process = command.spawn().map_err(|source| DriveError::Start { program, source })?;
        let stdin = process.stdin.take();
        let stdout = process.stdout.take().map(lines).unwrap_or_else(|| channel().1);
        let stderr = process.stderr.take().map(|mut pipe| {
            std::thread::spawn(move || {
                let mut text = Vec::new();
                // What was read before an error still tells something.
                drop(pipe.read_to_end(&mut text));
                String::from_utf8_lossy(&text).into_owned()
            })
        });
        Ok(Running { process, stdin, stdout, stderr })
    }

    fn command(&self, program: &Path, resume: bool) -> Result<Command, DriveError> {
        let path = |name: &str| self.folder.join(name);
        let mut command = Command::new(program);
        command
            .args(["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"])
            .args(["--include-partial-messages", "--permission-prompt-tool", "stdio"])
            .args(["--permission-mode", "default", "--model", MODEL])
            .args([if resume { "--resume" } else { "--session-id" }, SESSION])
            .args(self.scenario.args)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", path("home"))
            .env("CLAUDE_CONFIG_DIR", path("config"))
            .env("TMPDIR", path("tmp"))
            .env("ANTHROPIC_API_KEY", "lab")
            .env("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "1")
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("DISABLE_TELEMETRY", "1")
            .env("DISABLE_ERROR_REPORTING", "1")
            .env("DISABLE_AUTOUPDATER", "1")
            .current_dir(path("work"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(run) = std::env::var_os("OSTLER_TEST_RUN") {
            command.env("OSTLER_TEST_RUN", run);
        }
        match &self.lab {
            Some(lab) => command.env("ANTHROPIC_BASE_URL", lab.base_url()),
            None => {
                let script = self.scenario.fake.ok_or(DriveError::NoFake(self.scenario.name))?;
                let script = format!("version {}\n{script}", self.version.as_str());
                command.env("FAKE_CLAUDE_SCRIPT", script).env("FAKE_CLAUDE_GATES", path("work"))
            }
        };
        Ok(command)
    }
}

impl Running {
    fn write(&mut self, bytes: &[u8]) {
        if let Some(stdin) = &mut self.stdin {
            // A child that is gone shows in what is waited for next.
            drop(stdin.write_all(bytes).and_then(|()| stdin.flush()));
        }
    }
}

impl Running {
    fn signal(&self, name: &str) {
        let pid = self.process.id().to_string();
        // A child that is gone shows in what is waited for next.
        drop(Command::new("/bin/sh").args(["-c", "kill -s \"$1\" \"$2\"", "sh", name, &pid]).status());
    }
}

fn line_of(value: &Value) -> Vec<u8> {
    format!("{value}\n").into_bytes()
}

/// Reads lines on a thread; the channel closes when stdout does.
fn lines(pipe: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (send, lines) = channel();
    std::thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        loop {
            let mut line = Vec::new();
            if !matches!(pipe.read_until(b'\n', &mut line), Ok(1..)) {
                return;
            }
            line.pop_if(|byte| *byte == b'\n');
            if send.send(line).is_err() {
                return;
            }
        }
    });
    lines
}
