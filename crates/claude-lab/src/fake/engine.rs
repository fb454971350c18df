//! The loop of a scripted fake child.

use std::collections::{HashSet, VecDeque};
use std::time::Instant;

use ostler_os::signals::Signal;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::args::Options;
use super::gates::{Gates, LOOK};
use super::habits::Habits;
use super::input::{Event, Input};
use super::output::{Output, complain};
use super::prompts::Prompt;
use super::script::{FakeScript, Ignored, Pause};
use super::tasks::Task;
use super::tools::Asked;
use super::transcript::{self, Past, Transcript};
use super::turn::Live;
use super::{Refusal, stamp};

/// Why something stops before its steps are done.
#[derive(Debug)]
pub(super) enum Halt {
    /// The turn was interrupted.
    Interrupted,
    /// The script ended the turn.
    Ended(super::script::Ending),
    /// The process is over.
    Exit(i32),
}

pub(super) type Flow = Result<(), Halt>;

/// Who wants the running turn to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    Request,
    /// A prompt with `priority: "now"`.
    Now,
    EndSession,
    Signal,
}

/// What the conversation has cost.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) usd: f64,
    /// `modelUsage`.
    pub(super) models: Map<String, Value>,
}

#[derive(Debug)]
pub(super) struct Engine {
    pub(super) options: Options,
    pub(super) script: FakeScript,
    pub(super) habits: Habits,
    pub(super) out: Output,
    pub(super) input: Input,
    pub(super) gates: Gates,
    pub(super) transcript: Transcript,
    pub(super) past: Past,
    pub(super) session: String,
    pub(super) cwd: String,
    pub(super) queue: VecDeque<Prompt>,
    /// Uuids that this process has read.
    pub(super) seen: HashSet<String>,
    pub(super) asked: Vec<Asked>,
    pub(super) tasks: Vec<Task>,
    /// Background tasks that ended and have not woken a turn yet.
    pub(super) woken: VecDeque<Task>,
    pub(super) live: Option<Live>,
    pub(super) stop: Option<Why>,
    pub(super) ending: bool,
    /// `end_session` came in the middle of a turn: what is queued does not run.
    pub(super) discards: bool,
    /// Since when stdin is at its end.
    pub(super) eof: Option<Instant>,
    pub(super) idle: bool,
    /// The last result was an error.
    pub(super) failed: bool,
    pub(super) totals: Totals,
    pub(super) results: u64,
    pub(super) initialized: bool,
    /// Which `turn` blocks were played.
    pub(super) played: HashSet<usize>,
}

impl Engine {
    pub(super) fn new(options: Options, script: FakeScript) -> Result<Self, Refusal> {
        let habits = script.habits();
        for name in &script.forbidden {
            if std::env::var_os(name).is_some() {
                return Err(Refusal::new(format!("Error: {name} is set in the environment")));
            }
        }
        let cwd = std::env::current_dir()
            .map_err(|error| Refusal::new(format!("fake-claude: no working directory: {error}")))?;
        let cwd = cwd.to_string_lossy().into_owned();
        let mut out = Output::open()?;
        let (session, transcript, past) = conversation(&options, &habits, &cwd, &mut out)?;
        let mut totals = Totals::default();
        if let (true, Some(cost)) = (habits.restores_totals, &past.cost) {
            totals.usd = cost["totalCostUSD"].as_f64().unwrap_or(0.0);
            totals.models = cost["modelUsage"].as_object().cloned().unwrap_or_default();
        }
        Ok(Self {
            input: Input::start()?,
            gates: Gates::find(),
            out,
            transcript,
            past,
            session,
            cwd,
            options,
            script,
            habits,
            queue: VecDeque::new(),
            seen: HashSet::new(),
            asked: Vec::new(),
            tasks: Vec::new(),
            woken: VecDeque::new(),
            live: None,
            stop: None,
            ending: false,
            discards: false,
            eof: None,
            idle: true,
            failed: false,
            totals,
            results: 0,
            initialized: false,
            played: HashSet::new(),
        })
    }

    /// Plays until the child exits; gives its status.
    pub(super) fn run(mut self) -> Result<i32, Refusal> {
        let status = loop {
            match self.live_out() {
                Err(Halt::Exit(status)) => break status,
                // Nothing runs, so nothing can be interrupted or ended.
                Err(Halt::Interrupted | Halt::Ended(_)) | Ok(()) => {}
            }
        };
        self.transcript.flush();
        Ok(status)
    }

    fn live_out(&mut self) -> Flow {
        let start = self.script.start.clone();
        self.steps(&start)?;
        loop {
            self.pump(Some(Instant::now()))?;
            self.end_tasks()?;
            if self.ending && (self.discards || self.queue.is_empty()) {
                self.drop_queue("discarded");
                self.kill_tasks();
                return self.leave();
            }
            if let Some(prompt) = self.queue.pop_front() {
                self.turn(Some(prompt), None)?;
            } else if let Some(task) = self.woken.pop_front() {
                self.turn(None, Some(task))?;
            } else if self.eof.is_some() && !self.script.ignores(Ignored::Eof) && self.nothing_left() {
                return self.leave();
            } else if self.tasks.is_empty() {
                self.pump(None)?;
            } else {
                self.pump(Some(Instant::now() + LOOK))?;
            }
        }
    }

    /// Exits by itself: what it has spent is written down.
    fn leave(&mut self) -> Flow {
        let steps = self.script.exit.clone();
        self.steps(&steps)?;
        if self.habits.restores_totals {
            self.transcript.row(json!({
                "type": "cost-state", "totalCostUSD": self.totals.usd, "modelUsage": self.totals.models,
                "startTime": stamp::millis(), "hasUnknownModelCost": false,
            }));
        }
        if self.script.ignores(Ignored::Leave) {
            self.transcript.flush();
            loop {
                self.pump(None)?;
            }
        }
        Err(Halt::Exit(i32::from(self.failed)))
    }

    /// Handles what has arrived, and waits for something until the deadline (`None`: for ever).
    pub(super) fn pump(&mut self, deadline: Option<Instant>) -> Flow {
        let mut next = self.input.next(deadline);
        while let Some(event) = next {
            self.handle(event)?;
            next = self.input.next(Some(Instant::now()));
        }
        if self.out.broken {
            return Err(Halt::Exit(1));
        }
        Ok(())
    }

    fn handle(&mut self, event: Event) -> Flow {
        match event {
            Event::Lines(lines) => {
                for line in lines {
                    self.out.log(&line);
                    self.line(&line)?;
                }
            }
            Event::End => self.eof = Some(Instant::now()),
            Event::Signal(Signal::Interrupt) if self.script.ignores(Ignored::Sigint) => {}
            Event::Signal(Signal::Interrupt) if self.live.is_some() => self.stop = Some(Why::Signal),
            Event::Signal(Signal::Interrupt) => return Err(Halt::Exit(0)),
            Event::Signal(Signal::Terminate) if self.script.ignores(Ignored::Sigterm) => {}
            // The real one has a handler too: it returns 143, no signal ends it (protocol page, "Ending a process").
            Event::Signal(Signal::Terminate) => return Err(Halt::Exit(143)),
            Event::Signal(_) => {}
        }
        Ok(())
    }

    /// Waits, and goes on reading meanwhile.
    pub(super) fn wait(&mut self, pause: &Pause) -> Flow {
        self.transcript.flush();
        let end = match pause {
            Pause::For(time) => Some(Instant::now() + *time),
            Pause::Gate(_) => None,
        };
        loop {
            let now = Instant::now();
            let open = match pause {
                Pause::Gate(gate) => self.gates.is_open(gate),
                Pause::For(_) => end.is_some_and(|end| end <= now),
            };
            if open {
                return Ok(());
            }
            self.pump(Some(end.unwrap_or(now + LOOK)))?;
            self.check()?;
        }
    }

    /// Stops the running turn if somebody asked for it.
    pub(super) fn check(&self) -> Flow {
        match (&self.live, self.stop) {
            (Some(live), Some(_)) if !live.over => Err(Halt::Interrupted),
            _ => Ok(()),
        }
    }

    /// Writes a line with the fields that every line has.
    pub(super) fn emit(&mut self, mut line: Value) {
        if let Value::Object(fields) = &mut line {
            fields.entry("uuid").or_insert_with(|| json!(Uuid::new_v4()));
            fields.entry("session_id").or_insert_with(|| json!(self.session));
        }
        self.out.line(&line);
    }

    /// Says what the session is doing, if that was asked for.
    pub(super) fn state(&mut self, state: &str) {
        self.idle = state == "idle";
        if std::env::var("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS").is_ok_and(|value| value == "1") {
            self.emit(json!({"type": "system", "subtype": "session_state_changed", "state": state}));
        }
    }

    /// Says that it runs, unless it has said so.
    pub(super) fn running(&mut self) {
        if self.idle {
            self.state("running");
        }
    }
}

/// Which conversation it is, where it is written, and what it holds.
fn conversation(
    options: &Options,
    habits: &Habits,
    cwd: &str,
    out: &mut Output,
) -> Result<(String, Transcript, Past), Refusal> {
    let fresh = |id: &str| {
        let path = transcript::project_dir(cwd).join(format!("{id}.jsonl"));
        Transcript::new(path, id, cwd, &habits.version)
    };
    if let Some(id) = &options.session_id
        && transcript::find(id, cwd, true).is_some()
    {
        return Err(Refusal::new(format!("Error: Session ID {id} is already in use.")));
    }
    let Some(from) = &options.resume else {
        let id = options.session_id.clone().unwrap_or_else(|| Uuid::new_v4().to_string());
        let transcript = fresh(&id);
        return Ok((id, transcript, Past::default()));
    };
    let Some(path) = transcript::find(from, cwd, habits.resumes_anywhere) else {
        return Err(no_conversation(from, habits, out));
    };
    let mut past = transcript::read(&path);
    if options.fork {
        let id = options.session_id.clone().unwrap_or_else(|| Uuid::new_v4().to_string());
        let mut transcript = fresh(&id);
        transcript.copy(&past.rows);
        past.rows.clear();
        return Ok((id, transcript, past));
    }
    let mut transcript = Transcript::new(path, from, cwd, &habits.version);
    transcript.goes_on(&past);
    past.rows.clear();
    Ok((from.clone(), transcript, past))
}

fn no_conversation(id: &str, habits: &Habits, out: &mut Output) -> Refusal {
    let text = format!("No conversation found with session ID: {id}");
    let mut line = json!({
        "type": "result", "subtype": "error_during_execution", "duration_ms": 0, "duration_api_ms": 0,
        "is_error": true, "num_turns": 0, "stop_reason": null, "session_id": id, "total_cost_usd": 0, "usage": {},
        "modelUsage": {}, "permission_denials": [], "uuid": Uuid::new_v4(), "errors": [text],
    });
    if habits.names_prompts {
        line["result_index"] = json!(0);
    }
    complain(&text);
    out.line(&line);
    // The text is out already, and before the line, as in the real one.
    Refusal { status: 1, text: String::new() }
}
