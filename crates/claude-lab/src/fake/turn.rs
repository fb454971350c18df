//! A turn: from a prompt, or a task that wakes it, to its result.

use std::collections::HashSet;
use std::time::Instant;

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::engine::{Engine, Flow, Halt, Why};
use super::message::{Open, usage_of};
use super::prompts::Prompt;
use super::script::{Ending, Piece, Receipts, ResultKind, Step, Usage, When};
use super::tasks::Task;

/// The running turn.
#[derive(Debug, Default)]
pub(super) struct Live {
    /// What it answers: its prompt, and those steered into it.
    pub(super) prompts: Vec<Prompt>,
    pub(super) open: Option<Open>,
    pub(super) in_tools: bool,
    /// Messages of the model that are complete.
    pub(super) calls: u64,
    /// `user` lines that were written.
    pub(super) user_lines: u64,
    pub(super) denials: Vec<Value>,
    /// Calls that have their result.
    pub(super) answered_calls: HashSet<String>,
    pub(super) usd: f64,
    pub(super) usage: Usage,
    /// The script's own figure for the turn.
    pub(super) cost: Option<f64>,
    pub(super) text: String,
    pub(super) stop_reason: Option<&'static str>,
    pub(super) receipts: Receipts,
    /// An `assistant` line was written.
    pub(super) spoke: bool,
    /// Its result is written; nothing interrupts it any more.
    pub(super) over: bool,
}

/// What a result line says.
struct Verdict {
    subtype: &'static str,
    is_error: bool,
    reason: Option<&'static str>,
    stop_reason: Value,
    turns: u64,
    /// Successes have a text, failures have errors.
    text: Result<String, String>,
    receipt: &'static str,
    more: Map<String, Value>,
}

impl Engine {
    /// Plays one turn.
    pub(super) fn turn(&mut self, prompt: Option<Prompt>, task: Option<Task>) -> Flow {
        self.stop = None;
        self.running();
        let steps = self.choose(prompt.as_ref(), task.as_ref());
        let clears = prompt.as_ref().is_some_and(|prompt| prompt.text().trim() == "/clear");
        self.live = Some(Live { prompts: prompt.into_iter().collect(), ..Live::default() });
        self.start_prompts(0);
        if clears {
            return self.clear();
        }
        self.init();
        let played = match self.steps(&steps) {
            Ok(()) => self.close_message(),
            halted => halted,
        };
        let ended = match played {
            Ok(()) => self.conclude(Ending::Result { kind: ResultKind::Success, fields: Map::new() }),
            Err(Halt::Ended(ending)) => {
                self.live_mut(|live| live.open = None);
                self.conclude(ending)
            }
            Err(Halt::Interrupted) => self.abort(),
            Err(exit @ Halt::Exit(_)) => return Err(exit),
        };
        ended?;
        self.settle()
    }

    /// The steps that answer this.
    fn choose(&mut self, prompt: Option<&Prompt>, task: Option<&Task>) -> Vec<Step> {
        let turns = &self.script.turns;
        let found = if let Some(task) = task {
            let named = When::Wake(Some(task.what.name.clone()));
            turns
                .iter()
                .position(|turn| turn.when == named)
                .or_else(|| turns.iter().position(|turn| turn.when == When::Wake(None)))
        } else {
            let text = prompt.map_or("", Prompt::text);
            let wanted = |when: &When| matches!(when, When::Contains(part) if text.contains(part.as_str()));
            turns
                .iter()
                .position(|turn| wanted(&turn.when))
                .or_else(|| {
                    turns
                        .iter()
                        .enumerate()
                        .find(|(at, turn)| turn.when == When::Next && !self.played.contains(at))
                        .map(|(at, _)| at)
                })
                .or_else(|| turns.iter().position(|turn| turn.when == When::Otherwise))
        };
        if let Some(at) = found {
            self.played.insert(at);
            return self.script.turns[at].steps.clone();
        }
        let text = if task.is_some() { "The background task has ended." } else { "You said: $text" };
        vec![Step::Say(vec![Piece::Text(text.to_owned())])]
    }

    /// Announces the turn's prompts from that index on, and writes their rows.
    fn start_prompts(&mut self, from: usize) {
        let prompts = self.live.as_ref().map_or(&[][..], |live| &live.prompts[from..]).to_vec();
        for prompt in prompts {
            self.out.note(|| json!({"started": prompt.uuid}));
            self.receipt(&prompt, "started");
            let uuid = prompt.uuid.clone().unwrap_or_else(|| Uuid::new_v4().to_string());
            let message = json!({"role": "user", "content": prompt.content});
            if self.options.replays {
                self.emit(json!({
                    "type": "user", "message": message, "parent_tool_use_id": null, "uuid": uuid, "isReplay": true,
                }));
            }
            self.transcript.message("user", &uuid, &message, Map::new());
        }
    }

    /// Takes what is queued into the running turn.
    pub(super) fn steer(&mut self) {
        let queued: Vec<Prompt> = self.queue.drain(..).collect();
        if let (Some(live), false) = (&mut self.live, queued.is_empty()) {
            let from = live.prompts.len();
            live.prompts.extend(queued);
            self.start_prompts(from);
        }
    }

    /// Names the prompts that a line answers.
    pub(super) fn name_prompts(&self, line: &mut Value, first_too: bool) {
        let prompts = self.live.as_ref().map_or(&[][..], |live| &live.prompts);
        let uuids: Vec<&str> = prompts.iter().filter_map(|prompt| prompt.uuid.as_deref()).collect();
        if !self.habits.names_prompts || uuids.is_empty() {
            return;
        }
        if first_too {
            line["user_message_uuid"] = json!(uuids[0]);
        }
        line["user_message_uuids"] = json!(uuids);
    }

    /// Ends the turn when the flag's number of turns is reached.
    pub(super) fn over_turns(&self) -> Flow {
        let calls = self.live.as_ref().map_or(0, |live| live.calls);
        match self.options.max_turns {
            Some(max) if calls >= max => {
                Err(Halt::Ended(Ending::Result { kind: ResultKind::MaxTurns, fields: Map::new() }))
            }
            _ => Ok(()),
        }
    }

    /// Ends the turn when the flag's amount is spent.
    pub(super) fn over_budget(&self) -> Flow {
        let spent = self.totals.usd + self.live.as_ref().map_or(0.0, |live| live.cost.unwrap_or(live.usd));
        match self.options.max_budget {
            Some(max) if spent >= max => {
                Err(Halt::Ended(Ending::Result { kind: ResultKind::Budget, fields: Map::new() }))
            }
            _ => Ok(()),
        }
    }

    fn live_mut(&mut self, change: impl FnOnce(&mut Live)) {
        if let Some(live) = &mut self.live {
            change(live);
        }
    }

    fn turns(&self) -> u64 {
        1 + self.live.as_ref().map_or(0, |live| live.user_lines)
    }

    /// The end that the script or its last step gives the turn.
    fn conclude(&mut self, ending: Ending) -> Flow {
        let (kind, more) = match ending {
            Ending::Nothing => return self.without_result(),
            Ending::Result { kind, fields } => (kind, fields),
        };
        let turns = self.turns();
        let (text, reason) = match &self.live {
            Some(live) => (live.text.clone(), live.stop_reason),
            None => (String::new(), None),
        };
        let failure = |subtype, reason, text: String, receipt| Verdict {
            subtype,
            is_error: true,
            reason: Some(reason),
            stop_reason: json!("tool_use"),
            turns,
            text: Err(text),
            receipt,
            more: Map::new(),
        };
        let mut verdict = match kind {
            ResultKind::Success => Verdict {
                subtype: "success",
                is_error: false,
                reason: Some("completed"),
                stop_reason: json!(reason.unwrap_or("end_turn")),
                turns,
                text: Ok(text),
                receipt: "completed",
                more: Map::new(),
            },
            ResultKind::Api(status, text) => self.api_error(status, &text, turns),
            ResultKind::MaxTurns => {
                let max = self.options.max_turns.unwrap_or(1);
                let text = format!("Reached maximum number of turns ({max})");
                failure("error_max_turns", "max_turns", text, "completed")
            }
            ResultKind::Budget => {
                let max = self.options.max_budget.unwrap_or(0.0);
                let text = format!("Reached maximum budget (${max})");
                let mut verdict = failure("error_max_budget_usd", "budget_exhausted", text, "cancelled");
                verdict.reason = verdict.reason.filter(|_| self.habits.tells_reasons);
                if !self.habits.budget_has_stop {
                    verdict.stop_reason = Value::Null;
                }
                verdict
            }
            ResultKind::Execution => {
                failure("error_during_execution", "error", "something went wrong".to_owned(), "cancelled")
            }
        };
        verdict.more.extend(more);
        self.verdict(verdict)
    }

    fn api_error(&mut self, status: u16, text: &str, turns: u64) -> Verdict {
        if self.options.partial && self.live.as_ref().is_some_and(|live| live.calls == 0) {
            self.requesting();
        }
        let said = match status {
            429 => format!("API Error: Request rejected (429) · {text}"),
            _ => format!("API Error: {status} {text}"),
        };
        let message = json!({
            "id": Uuid::new_v4(), "type": "message", "role": "assistant", "model": "<synthetic>",
            "content": [{"type": "text", "text": said}], "stop_reason": "stop_sequence", "stop_sequence": "",
            "usage": usage_of(Usage::default(), 0, 0),
        });
        let mut line = json!({
            "type": "assistant", "message": message, "parent_tool_use_id": null,
            "error": if status == 429 { "rate_limit" } else { "unknown" },
        });
        if self.habits.lifecycle {
            line["is_api_error_message"] = json!(true);
            line["api_error_status"] = json!(status);
        }
        self.assistant(line, true);
        self.live_mut(|live| live.usd = 0.0);
        let mut more = Map::new();
        more.insert("api_error_status".to_owned(), json!(status));
        Verdict {
            subtype: "success",
            is_error: true,
            reason: Some(if self.habits.tells_reasons { "api_error" } else { "completed" }),
            stop_reason: json!("stop_sequence"),
            turns,
            text: Ok(said),
            receipt: "cancelled",
            more,
        }
    }

    /// Ends an interrupted turn.
    fn abort(&mut self) -> Flow {
        let why = self.stop.take().unwrap_or(Why::Request);
        let open = self.live.as_mut().and_then(|live| live.open.take());
        let (in_tools, streamed) = (self.live.as_ref().is_some_and(|live| live.in_tools), open.is_some());
        let partial = open.as_ref().and_then(|open| open.partial.clone()).unwrap_or_default();
        self.live_mut(|live| live.open = open);
        if !partial.is_empty() {
            self.block(&json!({"type": "text", "text": partial}), true);
            self.live_mut(|live| live.text = partial);
        }
        self.live_mut(|live| live.open = None);
        if why != Why::Now {
            self.note_interrupt(in_tools);
        }
        if self.habits.finishes_stream && streamed {
            self.stream(&json!({"type": "content_block_stop", "index": 0}));
            self.stream_end("end_turn", 2);
            self.pay();
        }
        let stop_reason = if in_tools { json!("tool_use") } else { Value::Null };
        let said = stop_reason.as_str().unwrap_or("null");
        let error = format!("[ede_diagnostic] result_type=user last_content_type=n/a stop_reason={said}");
        let now = why == Why::Now;
        let said_last = self.live.as_ref().map(|live| live.text.clone()).unwrap_or_default();
        self.verdict(Verdict {
            subtype: if now { "success" } else { "error_during_execution" },
            is_error: !now,
            reason: Some(if in_tools { "aborted_tools" } else { "aborted_streaming" }),
            turns: self.turns(),
            text: if now { Ok(said_last) } else { Err(error) },
            stop_reason,
            receipt: "cancelled",
            more: Map::new(),
        })?;
        if why == Why::Signal { Err(Halt::Exit(0)) } else { Ok(()) }
    }

    fn note_interrupt(&mut self, in_tools: bool) {
        let text = if in_tools {
            "[Request interrupted by user for tool use]"
        } else {
            "[Request interrupted by user]"
        };
        let message = json!({"role": "user", "content": [{"type": "text", "text": text}]});
        let uuid = Uuid::new_v4().to_string();
        self.emit(json!({"type": "user", "message": message, "parent_tool_use_id": null, "uuid": uuid}));
        self.transcript.message("user", &uuid, &message, Map::new());
        self.live_mut(|live| live.user_lines += 1);
    }

    fn note_result(&mut self, kind: &str) {
        let prompts = self.live.as_ref().map_or(&[][..], |live| &live.prompts);
        let uuids: Vec<&str> = prompts.iter().filter_map(|prompt| prompt.uuid.as_deref()).collect();
        self.out.note(|| json!({"result": kind, "uuids": uuids}));
    }

    /// A turn that ends without a result: only its receipts come.
    fn without_result(&mut self) -> Flow {
        self.note_result("none");
        self.last_receipts(0, "completed")
    }

    /// Writes the result and the receipts around it.
    fn verdict(&mut self, verdict: Verdict) -> Flow {
        let receipt = verdict.receipt;
        if receipt == "completed" {
            // What was steered in is completed before the result, the turn's own prompt after it.
            let steered = self.live.as_ref().map(|live| live.prompts.clone()).unwrap_or_default();
            for prompt in steered.iter().skip(1) {
                self.receipt(prompt, receipt);
            }
        }
        self.failed = verdict.is_error;
        let aborted = verdict.reason.is_some_and(|reason| reason.starts_with("aborted"));
        let kind = match (aborted, verdict.is_error) {
            (true, _) => "aborted",
            (false, true) => "error",
            (false, false) => "success",
        };
        let line = self.result_line(verdict);
        self.live_mut(|live| live.over = true);
        self.note_result(kind);
        self.emit_ending(line);
        self.transcript.flush();
        self.last_receipts(if receipt == "completed" { 1 } else { usize::MAX }, receipt)
    }

    /// The receipts after the result, for the first `count` prompts (0: all).
    fn last_receipts(&mut self, count: usize, state: &str) -> Flow {
        if let Receipts::Late(gate) = self.receipts() {
            self.live_mut(|live| live.over = true);
            self.lag(&super::script::Pause::Gate(gate))?;
        }
        let count = if count == 0 { usize::MAX } else { count };
        let prompts = self.live.as_ref().map(|live| live.prompts.clone()).unwrap_or_default();
        for prompt in prompts.iter().take(count) {
            self.receipt(prompt, state);
        }
        self.live = None;
        self.stop = None;
        Ok(())
    }

    /// Writes a line of a turn's end: twice, if the script wants that.
    pub(super) fn emit_ending(&mut self, mut line: Value) {
        line["uuid"] = json!(Uuid::new_v4());
        if self.receipts() == Receipts::Twice {
            self.emit(line.clone());
        }
        self.emit(line);
    }

    fn result_line(&mut self, verdict: Verdict) -> Value {
        let (calls, usd, usage, denials) = match &self.live {
            Some(live) => (live.calls, live.cost.unwrap_or(live.usd), live.usage, live.denials.clone()),
            None => (0, 0.0, Usage::default(), Vec::new()),
        };
        let turn = usage_of(usage, usage.output.unwrap_or(7), calls);
        self.totals.add(&self.options.model, &turn, usd);
        let mut line = json!({
            "type": "result", "subtype": verdict.subtype, "is_error": verdict.is_error, "duration_ms": 1,
            "duration_api_ms": 1, "num_turns": verdict.turns, "stop_reason": verdict.stop_reason,
            "total_cost_usd": self.totals.usd, "usage": turn, "modelUsage": self.totals.models,
            "permission_denials": denials,
        });
        if let Some(reason) = verdict.reason {
            line["terminal_reason"] = json!(reason);
        }
        match verdict.text {
            Ok(text) => {
                line["result"] = json!(text);
                line["api_error_status"] = Value::Null;
            }
            Err(error) => line["errors"] = json!([error]),
        }
        if self.habits.names_prompts {
            line["queued_turn_count"] = json!(0);
            line["result_index"] = json!(self.results);
        }
        self.name_prompts(&mut line, true);
        self.results += 1;
        if let Value::Object(fields) = &mut line {
            fields.extend(verdict.more);
        }
        line
    }

    /// After a turn: idle, unless more is queued.
    fn settle(&mut self) -> Flow {
        self.pump(Some(Instant::now()))?;
        if (self.queue.is_empty() || self.discards) && self.woken.is_empty() && !self.agent_keeps_running() {
            self.state("idle");
        }
        Ok(())
    }

    /// `/clear`: another conversation goes on in this process.
    fn clear(&mut self) -> Flow {
        let id = Uuid::new_v4().to_string();
        let mut reset = json!({"type": "conversation_reset", "new_conversation_id": Uuid::new_v4()});
        if self.habits.names_prompts {
            reset["trigger"] = json!("clear");
        }
        self.emit(reset);
        self.transcript.flush();
        let path = super::transcript::project_dir(&self.cwd).join(format!("{id}.jsonl"));
        self.transcript = super::transcript::Transcript::new(path, &id, &self.cwd, &self.habits.version);
        self.session = id;
        if self.habits.restores_totals {
            self.totals = super::engine::Totals::default();
        }
        if self.habits.clear_lists_tasks {
            self.list_tasks();
        }
        self.init();
        if !self.habits.lifecycle {
            let message = json!({
                "id": Uuid::new_v4(), "type": "message", "role": "assistant", "model": "<synthetic>",
                "content": [{"type": "text", "text": "(no content)"}], "usage": usage_of(Usage::default(), 0, 0),
            });
            self.assistant(
                json!({"type": "assistant", "message": message, "parent_tool_use_id": null}),
                false,
            );
        }
        self.verdict(Verdict {
            subtype: "success",
            is_error: false,
            reason: None,
            stop_reason: Value::Null,
            turns: 0,
            text: Ok(String::new()),
            receipt: "completed",
            more: Map::new(),
        })?;
        self.settle()
    }
}
