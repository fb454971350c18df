//! A small simulated CLI: a queue, turns, tools that ask, background tasks that wake turns, interrupts, `end_session`.
//! It behaves as the protocol page says, in the dialect of its version.

use super::lines::{Lines, ResultLine};
use super::truth::{Amount, End, Totals, Truth};
use ostler_core::rows::Tokens;
use std::collections::{BTreeSet, VecDeque};
use uuid::Uuid;

/// What versions differ in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dialect {
    /// Receipts, whole task lists, results that name what they answer.
    pub(super) lifecycle: bool,
    /// `session_state_changed`.
    pub(super) states: bool,
    /// Totals go on from the transcript's.
    pub(super) restores: bool,
}

/// What came of letting the child go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Moved,
    /// Waits for its stdin.
    Blocked,
    Exited(i32),
}

#[derive(Clone, Debug)]
enum Effect {
    Run(Uuid),
    Answered(Vec<Uuid>),
    Bill(&'static str, Amount),
    Total(&'static str, Amount),
    Ended(Vec<Uuid>, End),
    Dropped(Uuid),
    GivenBack(Vec<Uuid>),
    Renamed(Uuid),
}

#[derive(Clone, Debug)]
enum At {
    Open,
    Request,
    Streaming { id: String, model: &'static str, tokens: Tokens, tool: bool },
    Tool { call: String },
    Asking { call: String, request: String },
    Waiting { call: String },
    Finish,
}

/// How a segment ends, on the wire and in truth.
struct How {
    subtype: &'static str,
    is_error: bool,
    reason: Option<&'static str>,
    end: End,
    receipt: &'static str,
}

const SUCCESS: How = How {
    subtype: "success",
    is_error: false,
    reason: Some("completed"),
    end: End::Success,
    receipt: "completed",
};
const API_ERROR: How = How {
    subtype: "success",
    is_error: true,
    reason: Some("api_error"),
    end: End::Failed,
    receipt: "cancelled",
};
const MAX_TURNS: How = How {
    subtype: "error_max_turns",
    is_error: true,
    reason: Some("max_turns"),
    end: End::Failed,
    receipt: "completed",
};
const ABORTED: How = How {
    subtype: "error_during_execution",
    is_error: true,
    reason: Some("aborted_tools"),
    end: End::Aborted,
    receipt: "cancelled",
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Goes {
    On,
    Waits,
    Over,
}

#[derive(Clone, Debug)]
struct Segment {
    messages: Vec<Uuid>,
    steered: Vec<Uuid>,
    at: At,
    used: Tokens,
    rounds: u8,
    clear: bool,
}

/// One process.
#[derive(Clone, Debug)]
pub(super) struct Child {
    pub(super) generation: u32,
    dialect: Dialect,
    conversation: Uuid,
    out: VecDeque<(String, Vec<Effect>)>,
    queue: VecDeque<(Uuid, bool)>,
    read: BTreeSet<Uuid>,
    segment: Option<Segment>,
    tasks: Vec<String>,
    untold: Vec<String>,
    totals: Totals,
    running: bool,
    leaving: Option<i32>,
    leaves_when_idle: bool,
    had_error: bool,
    /// Reads nothing any more.
    pub(super) deaf: bool,
    /// Does nothing at all any more.
    pub(super) stuck: bool,
    /// The API says nothing more: its turn doesn't go on until it is broken off.
    pub(super) mute: bool,
    made: u32,
    lines: Lines,
    /// Answers that it read: request, allowed.
    pub(super) answers: Vec<(String, bool)>,
    /// `end_session` came while something was still to be done: what it was.
    pub(super) ended_early: Option<&'static str>,
}

impl Child {
    pub(super) fn new(generation: u32, dialect: Dialect, truth: &mut Truth) -> Self {
        let totals = if dialect.restores { truth.transcript().cost.clone() } else { Totals::new() };
        Self {
            generation,
            dialect,
            conversation: truth.conversation,
            out: VecDeque::new(),
            queue: VecDeque::new(),
            read: BTreeSet::new(),
            segment: None,
            tasks: Vec::new(),
            untold: Vec::new(),
            totals,
            running: false,
            leaving: None,
            leaves_when_idle: false,
            had_error: false,
            deaf: false,
            stuck: false,
            mute: false,
            made: generation * 10_000,
            lines: Lines::of_process(generation),
            answers: Vec::new(),
            ended_early: None,
        }
    }

    /// Goes on by one line, or one decision. `out`: its stdout.
    pub(super) fn go_on(
        &mut self,
        choice: u32,
        stdin: &mut VecDeque<Vec<u8>>,
        out: &mut Vec<u8>,
        truth: &mut Truth,
    ) -> Progress {
        if self.stuck {
            return Progress::Blocked;
        }
        if let Some((line, effects)) = self.out.pop_front() {
            out.extend_from_slice(line.as_bytes());
            out.push(b'\n');
            effects.into_iter().for_each(|e| self.effect(e, truth));
            return Progress::Moved;
        }
        if let Some(code) = self.leaving {
            truth.transcript().cost = self.totals.clone();
            self.gone(truth, &BTreeSet::new());
            return Progress::Exited(code);
        }
        let reads = !self.deaf && !stdin.is_empty();
        let waits = self.mute && self.segment.is_some() && !self.in_tool();
        if (!reads || choice & 1 == 1) && !waits && self.progress(choice >> 1) {
            return Progress::Moved;
        }
        if reads && let Some(line) = stdin.pop_front() {
            self.understand(&line, choice >> 1, truth);
            return Progress::Moved;
        }
        Progress::Blocked
    }

    /// A tool is under way, as far as anybody was told: nobody can tell how long that takes.
    pub(super) fn in_tool(&self) -> bool {
        let at = self.segment.as_ref().map(|s| &s.at);
        let untold = || self.out.iter().any(|(line, _)| line.contains(r#""type":"tool_result""#));
        matches!(at, Some(At::Tool { .. } | At::Asking { .. } | At::Waiting { .. })) || untold()
    }

    /// It is no more; what it was doing was cut off. `unwanted`: messages that somebody had wanted broken off.
    pub(super) fn gone(&self, truth: &mut Truth, unwanted: &BTreeSet<Uuid>) {
        if self.segment.is_some() || !self.out.is_empty() {
            truth.vague.insert(self.generation);
        }
        for (message, runs) in &mut truth.runs {
            for run in runs.iter_mut().filter(|r| r.generation == self.generation && r.end == End::Open) {
                (run.end, run.unwanted) = (End::Cut, unwanted.contains(message));
            }
        }
    }

    /// The first half of what it would have written next.
    pub(super) fn torn_line(&self) -> Option<&str> {
        self.out.front().map(|(line, _)| &line[..line.len() / 2])
    }

    /// What would be lost if it were ended now.
    fn work(&self) -> Option<&'static str> {
        match () {
            () if self.segment.is_some() => Some("a turn"),
            () if !self.queue.is_empty() => Some("a queued message"),
            () if !self.untold.is_empty() => Some("a notification"),
            () if !self.tasks.is_empty() => Some("a background task"),
            () => None,
        }
    }

    fn effect(&mut self, effect: Effect, truth: &mut Truth) {
        match effect {
            Effect::Run(message) => truth.run(message, self.generation),
            Effect::Answered(messages) => {
                for message in messages {
                    truth.transcript().messages.insert(message, true);
                }
            }
            Effect::Bill(model, amount) => {
                truth.bills.entry((self.generation, model)).or_default().add(amount);
            }
            Effect::Total(model, amount) => self.totals.entry(model).or_default().add(amount),
            Effect::Ended(messages, end) => {
                *truth.results.entry(self.generation).or_default() += 1;
                for message in messages {
                    truth.run_ended(message, self.generation, end);
                    match end {
                        End::Success => drop(truth.answered.insert(message)),
                        End::Failed => drop(truth.failed.insert(message)),
                        _ => {}
                    }
                }
            }
            Effect::Dropped(message) => drop(truth.dropped.insert(message)),
            Effect::GivenBack(messages) => truth.given_back.extend(messages),
            Effect::Renamed(conversation) => truth.conversation = conversation,
        }
    }

    fn say(&mut self, line: String, effects: Vec<Effect>) {
        self.out.push_back((line, effects));
    }

    fn set_running(&mut self) {
        if !self.running && self.dialect.states {
            let line = self.lines.state("running");
            self.say(line, vec![]);
        }
        self.running = true;
    }

    fn receipt(&mut self, message: Uuid, state: &str, effects: Vec<Effect>) {
        if self.dialect.lifecycle {
            let line = self.lines.receipt(message, state);
            self.say(line, effects);
        }
    }

    fn name(&mut self, what: &str) -> String {
        self.made += 1;
        format!("{what}{}", self.made)
    }

    /// The next thing of its own; false when there is none.
    fn progress(&mut self, choice: u32) -> bool {
        let Some(mut segment) = self.segment.take() else { return self.at_rest(choice) };
        let goes = self.segment_goes_on(&mut segment, choice);
        if goes != Goes::Over {
            self.segment = Some(segment);
        }
        goes != Goes::Waits
    }

    fn at_rest(&mut self, choice: u32) -> bool {
        if let Some((first, clear)) = self.queue.pop_front() {
            let mut messages = vec![first];
            if !self.dialect.lifecycle && !clear {
                // Older CLIs put everything that is queued into one prompt.
                while let Some(next) = self.next_plain() {
                    messages.push(next);
                }
            }
            self.begin(messages, clear);
            return true;
        }
        if !self.untold.is_empty() {
            self.untold.clear();
            self.begin(vec![], false);
            return true;
        }
        if self.leaves_when_idle {
            self.leaving = Some(i32::from(self.had_error));
            return true;
        }
        if !self.tasks.is_empty() && choice.is_multiple_of(3) {
            self.end_task();
            return true;
        }
        if self.running {
            self.running = false;
            if self.dialect.states {
                let line = self.lines.state("idle");
                self.say(line, vec![]);
                return true;
            }
        }
        false
    }

    fn next_plain(&mut self) -> Option<Uuid> {
        self.queue.front().filter(|(_, clear)| !clear)?;
        self.queue.pop_front().map(|(message, _)| message)
    }

    fn end_task(&mut self) {
        let task = self.tasks.remove(0);
        let line = self.lines.system(
            "task_notification",
            &format!(r#""task_id":"{task}","tool_use_id":"bg","status":"completed","#),
        );
        self.say(line, vec![]);
        if self.dialect.lifecycle {
            let line = self.task_list();
            self.say(line, vec![]);
        }
        self.untold.push(task);
    }

    fn task_list(&mut self) -> String {
        let tasks: Vec<_> =
            self.tasks.iter().map(|t| format!(r#"{{"task_id":"{t}","task_type":"local_bash"}}"#)).collect();
        self.lines.system("background_tasks_changed", &format!(r#""tasks":[{}],"#, tasks.join(",")))
    }

    fn begin(&mut self, messages: Vec<Uuid>, clear: bool) {
        self.set_running();
        if self.dialect.lifecycle {
            for message in &messages {
                self.receipt(*message, "started", vec![]);
            }
        }
        if !clear {
            let line = self.lines.init(self.conversation, self.dialect.lifecycle);
            self.say(line, vec![]);
            if !self.dialect.lifecycle {
                messages.iter().for_each(|m| self.say(Lines::replay(*m), vec![]));
            }
        }
        self.segment = Some(Segment {
            messages,
            steered: vec![],
            at: At::Open,
            used: Tokens::default(),
            rounds: 0,
            clear,
        });
    }

    fn segment_goes_on(&mut self, segment: &mut Segment, choice: u32) -> Goes {
        match segment.at.clone() {
            At::Open if segment.clear => {
                self.clear(segment);
                return Goes::Over;
            }
            At::Open => segment.at = At::Request,
            At::Request if choice % 11 == 10 => {
                self.result(segment, &API_ERROR, choice);
                return Goes::Over;
            }
            At::Request => self.request(segment, choice),
            At::Streaming { id, model, tokens, tool } => {
                self.stream(segment, (&id, model, tokens), tool, choice)
            }
            At::Tool { call } => self.tool(segment, call, choice),
            At::Asking { call, request } => {
                if choice % 41 != 7 {
                    return Goes::Waits;
                }
                // It takes the question back by itself.
                self.say(format!(r#"{{"type":"control_cancel_request","request_id":"{request}"}}"#), vec![]);
                segment.at = At::Waiting { call };
            }
            At::Waiting { call } => self.tool_result(segment, &call),
            At::Finish => {
                self.result(segment, if choice % 13 == 5 { &MAX_TURNS } else { &SUCCESS }, choice);
                return Goes::Over;
            }
        }
        Goes::On
    }

    fn request(&mut self, segment: &mut Segment, choice: u32) {
        let tokens = Tokens {
            input: u64::from(choice % 17),
            output: 2 + u64::from(choice % 5),
            cache_read: u64::from(choice % 301),
            cache_write_5m: u64::from(choice % 2) * 40,
            cache_write_1h: u64::from(1 - choice % 2) * 30,
        };
        let id = self.name("msg");
        let model = if choice.is_multiple_of(7) { "model-b" } else { "model-a" };
        let sent = Amount::of(Tokens { output: 0, ..tokens });
        let mut effects: Vec<Effect> =
            segment.messages.iter().filter(|_| segment.rounds == 0).map(|m| Effect::Run(*m)).collect();
        effects.push(Effect::Bill(model, sent));
        if self.dialect.lifecycle {
            effects.push(Effect::Total(model, sent));
        }
        let line = self.lines.message_start(&id, model, tokens);
        self.say(line, effects);
        let tool = segment.rounds < 4 && choice.is_multiple_of(2);
        segment.at = At::Streaming { id, model, tokens, tool };
    }

    fn stream(
        &mut self,
        segment: &mut Segment,
        (id, model, tokens): (&str, &'static str, Tokens),
        tool: bool,
        choice: u32,
    ) {
        let call = self.name("call");
        let content = match tool {
            true => format!(r#"{{"type":"tool_use","id":"{call}","name":"Bash","input":{{}}}}"#),
            false => r#"{"type":"text","text":"hi"}"#.to_owned(),
        };
        let line = self.lines.assistant(id, model, tokens, None, &content);
        self.say(line, vec![Effect::Answered(segment.messages.clone())]);
        if choice % 9 == 4 {
            // A subagent's message: its output is never streamed.
            let id = self.name("sub");
            let used = Amount::of(Tokens { input: 3, output: 1, cache_read: 11, ..Tokens::default() });
            let line = self.lines.assistant(
                &id,
                "model-b",
                used.tokens,
                Some(&call),
                r#"{"type":"text","text":"s"}"#,
            );
            self.say(line, vec![Effect::Bill("model-b", used), Effect::Total("model-b", used)]);
        }
        let output = Tokens { output: tokens.output, ..Tokens::default() };
        let total = if self.dialect.lifecycle { output } else { tokens };
        segment.used = segment.used.plus(tokens);
        let line = self.lines.message_delta(tokens.output);
        self.say(
            line,
            vec![Effect::Bill(model, Amount::of(output)), Effect::Total(model, Amount::of(total))],
        );
        segment.at = if tool { At::Tool { call } } else { At::Finish };
    }

    fn tool(&mut self, segment: &mut Segment, call: String, choice: u32) {
        match choice % 4 {
            0 => {
                let request = self.name("ask");
                if self.dialect.states {
                    let line = self.lines.state("requires_action");
                    self.say(line, vec![]);
                }
                self.say(question(&request, &call), vec![]);
                segment.at = At::Asking { call, request };
            }
            1 if self.tasks.len() < 3 => {
                let task = self.name("task");
                self.tasks.push(task.clone());
                if self.dialect.lifecycle {
                    let line = self.task_list();
                    self.say(line, vec![]);
                }
                let background = if self.dialect.lifecycle { r#""is_backgrounded":true,"# } else { "" };
                let rest = format!(
                    r#""task_id":"{task}","tool_use_id":"{call}",{background}"task_type":"local_bash","#
                );
                let line = self.lines.system("task_started", &rest);
                self.say(line, vec![]);
                segment.at = At::Waiting { call };
            }
            2 if !self.dialect.lifecycle => {
                // In the foreground, and only the order of the lines says so.
                let task = self.name("fg");
                let rest = format!(r#""task_id":"{task}","tool_use_id":"{call}","task_type":"local_bash","#);
                let line = self.lines.system("task_started", &rest);
                self.say(line, vec![]);
                let rest = format!(r#""task_id":"{task}","tool_use_id":"{call}","status":"completed","#);
                let line = self.lines.system("task_notification", &rest);
                self.say(line, vec![]);
                segment.at = At::Waiting { call };
            }
            _ if !self.tasks.is_empty() && choice.is_multiple_of(5) => {
                self.end_task();
                segment.at = At::Waiting { call };
            }
            _ => segment.at = At::Waiting { call },
        }
    }

    /// A tool boundary: what is queued is taken into the running turn, and what ended is told.
    fn tool_result(&mut self, segment: &mut Segment, call: &str) {
        let line = self.lines.tool_result(call);
        self.say(line, vec![]);
        for task in std::mem::take(&mut self.untold) {
            let line = self.lines.told(&task);
            self.say(line, vec![]);
        }
        while let Some(message) = self.next_plain() {
            match self.dialect.lifecycle {
                true => self.receipt(message, "started", vec![Effect::Run(message)]),
                false => self.say(Lines::replay(message), vec![Effect::Run(message)]),
            }
            segment.messages.push(message);
            segment.steered.push(message);
        }
        segment.rounds += 1;
        segment.at = At::Request;
    }

    fn result(&mut self, segment: &mut Segment, how: &How, choice: u32) {
        let (messages, steered) = (segment.messages.clone(), std::mem::take(&mut segment.steered));
        if choice.is_multiple_of(2) {
            steered.iter().for_each(|m| self.receipt(*m, how.receipt, vec![]));
        }
        self.had_error |= how.is_error;
        let named = (self.dialect.lifecycle && !messages.is_empty()).then_some(messages.as_slice());
        let line = self.lines.result(&ResultLine {
            subtype: how.subtype,
            is_error: how.is_error,
            reason: how.reason,
            rounds: if segment.clear { 0 } else { segment.rounds + 1 },
            conversation: self.conversation,
            answers: named,
            used: segment.used,
            totals: &self.totals,
        });
        self.say(line, vec![Effect::Ended(messages.clone(), how.end)]);
        for message in messages {
            if choice % 2 == 1 || !steered.contains(&message) {
                self.receipt(message, how.receipt, vec![]);
            }
        }
    }

    fn clear(&mut self, segment: &mut Segment) {
        let conversation = Uuid::from_u128(0xc1ea_0000_0000 + u128::from(self.made) + 1);
        self.made += 1;
        let message = segment.messages[0];
        let rest = format!(
            r#"{{"type":"conversation_reset","new_conversation_id":"{message}","uuid":"{conversation}"}}"#
        );
        self.say(rest, vec![Effect::Run(message), Effect::Answered(vec![message])]);
        self.conversation = conversation;
        if self.dialect.lifecycle {
            self.totals.clear();
        }
        let line = self.lines.init(conversation, self.dialect.lifecycle);
        self.say(line, vec![Effect::Renamed(conversation)]);
        self.result(segment, &SUCCESS, 1);
    }

    /// Breaks the running turn off.
    fn abort(&mut self, choice: u32, truth: &mut Truth) {
        let Some(mut segment) = self.segment.take() else { return };
        self.mute = false;
        match &segment.at {
            At::Asking { request, .. } if choice.is_multiple_of(2) => {
                self.say(format!(r#"{{"type":"control_cancel_request","request_id":"{request}"}}"#), vec![]);
            }
            At::Streaming { .. } if !self.dialect.lifecycle => drop(truth.vague.insert(self.generation)),
            _ => {}
        }
        let line = self.lines.note();
        self.say(line, vec![]);
        self.result(&mut segment, &ABORTED, choice);
    }

    fn understand(&mut self, line: &[u8], choice: u32, truth: &mut Truth) {
        let line: serde_json::Value = serde_json::from_slice(line).unwrap();
        match line["type"].as_str().unwrap() {
            "user" => {
                let message: Uuid = line["uuid"].as_str().unwrap().parse().unwrap();
                self.message(message, line["message"]["content"] == "/clear", truth);
            }
            "control_response" => {
                let response = &line["response"];
                let request = response["request_id"].as_str().unwrap().to_owned();
                let allowed = response["response"]["behavior"] == "allow";
                self.answers.push((request.clone(), allowed));
                if let Some(segment) = &mut self.segment
                    && let At::Asking { call, request: waiting } = segment.at.clone()
                    && waiting == request
                {
                    segment.at = At::Waiting { call };
                    if self.dialect.states {
                        let line = self.lines.state("running");
                        self.say(line, vec![]);
                    }
                }
            }
            "control_request" => {
                let id = line["request_id"].as_str().unwrap().to_owned();
                self.asked(&id, &line["request"], choice, truth);
            }
            other => panic!("the child was sent a line of type {other}"),
        }
    }

    fn message(&mut self, message: Uuid, clear: bool, truth: &mut Truth) {
        assert!(!self.leaves_when_idle && self.leaving.is_none(), "a message behind end_session");
        if !self.read.insert(message) {
            return;
        }
        let known = truth.transcript().messages.get(&message).copied();
        match (known, self.dialect.lifecycle) {
            (Some(true), true) => self.receipt(message, "completed", vec![]),
            (Some(_), false) => {
                self.say(Lines::replay(message), vec![]);
                if self.segment.is_none() && self.queue.is_empty() && self.dialect.states {
                    let line = self.lines.state("idle");
                    self.say(line, vec![]);
                }
            }
            _ => {
                self.set_running();
                self.receipt(message, "queued", vec![]);
                self.queue.push_back((message, clear));
            }
        }
    }

    /// Takes a message back that is in its queue.
    fn give_back(&mut self, id: &str, message: Uuid) {
        let at = self.queue.iter().position(|(queued, _)| *queued == message);
        let effects = match at.and_then(|at| self.queue.remove(at)) {
            Some(_) => {
                self.receipt(message, "cancelled", vec![]);
                vec![Effect::GivenBack(vec![message])]
            }
            None => vec![],
        };
        let gave = at.is_some();
        self.say(
            format!(
                r#"{{"type":"control_response","response":{{"subtype":"success","request_id":"{id}","response":{{"cancelled":{gave}}}}}}}"#
            ),
            effects,
        );
    }

    /// What is queued, taken back by an interrupt that can; as it says it.
    fn drop_queue(&mut self) -> (String, Vec<Effect>) {
        let dropped: Vec<Uuid> = self.queue.drain(..).map(|(message, _)| message).collect();
        dropped.iter().for_each(|m| self.receipt(*m, "cancelled", vec![]));
        let list: Vec<_> = dropped.iter().map(|m| format!("\"{m}\"")).collect();
        (format!(r#","cancelled":[{}]"#, list.join(",")), vec![Effect::GivenBack(dropped)])
    }

    fn asked(&mut self, id: &str, request: &serde_json::Value, choice: u32, truth: &mut Truth) {
        match request["subtype"].as_str().unwrap() {
            "cancel_async_message" => {
                self.give_back(id, request["message_uuid"].as_str().unwrap().parse().unwrap());
            }
            "initialize" => {
                let pending = match self.segment.as_ref().map(|s| &s.at) {
                    Some(At::Asking { call, request }) => {
                        format!(r#","pending_permission_requests":[{}]"#, question(request, call))
                    }
                    _ => String::new(),
                };
                self.say(
                    format!(
                        r#"{{"type":"control_response","response":{{"subtype":"success","request_id":"{id}","response":{{}}}}{pending}}}"#
                    ),
                    vec![],
                );
                if self.dialect.lifecycle {
                    let line = self.task_list();
                    self.say(line, vec![]);
                }
            }
            "interrupt" => {
                let drops = self.dialect.lifecycle && request["cancel_queued"] == true;
                let (cancelled, effects) = if drops { self.drop_queue() } else { Default::default() };
                let queued: Vec<_> = self.queue.iter().map(|(m, _)| format!("\"{m}\"")).collect();
                let receipt = match self.dialect.lifecycle {
                    true => {
                        format!(r#","response":{{"still_queued":[{}]{cancelled}}}"#, queued.join(","))
                    }
                    false => String::new(),
                };
                self.say(
                    format!(
                        r#"{{"type":"control_response","response":{{"subtype":"success","request_id":"{id}"{receipt}}}}}"#
                    ),
                    effects,
                );
                let started = self.segment.as_ref().is_some_and(|s| !matches!(s.at, At::Open));
                if started {
                    self.abort(choice, truth);
                }
            }
            "end_session" => self.end(id, choice, truth),
            other => panic!("the child was asked {other}"),
        }
    }

    fn end(&mut self, id: &str, choice: u32, truth: &mut Truth) {
        self.ended_early = self.work();
        self.say(
            format!(
                r#"{{"type":"control_response","response":{{"subtype":"success","request_id":"{id}"}}}}"#
            ),
            vec![],
        );
        self.untold.clear();
        self.tasks.clear();
        let busy = self.segment.is_some();
        if busy {
            self.abort(choice, truth);
        }
        if self.dialect.lifecycle {
            for (message, _) in std::mem::take(&mut self.queue) {
                self.receipt(message, "discarded", vec![Effect::Dropped(message)]);
            }
            self.leaving = Some(i32::from(busy || self.had_error));
        } else {
            // Older CLIs run what is queued first.
            self.leaves_when_idle = true;
        }
    }
}

fn question(request: &str, call: &str) -> String {
    format!(
        r#"{{"type":"control_request","request_id":"{request}","request":{{"subtype":"can_use_tool","tool_name":"Bash","input":{{}},"tool_use_id":"{call}"}}}}"#
    )
}
