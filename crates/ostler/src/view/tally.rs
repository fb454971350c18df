//! What is going on right now, for the status line.

use super::{amount, one_line};
use claude_wire::{Block, Event, Message, Usage};
use std::collections::BTreeMap;

/// What a turn does and what it used so far.
#[derive(Debug, Default)]
pub struct Tally {
    phase: Phase,
    /// Tools that run, by call, in the order they began.
    tools: Vec<(String, String)>,
    /// Questions that are open, by request.
    questions: Vec<String>,
    tasks: usize,
    /// Tokens of finished messages of this turn, and of the running one.
    done: Tokens,
    running: BTreeMap<String, Tokens>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tokens {
    input: u64,
    output: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// Nothing runs.
    #[default]
    Waiting,
    /// A child is being started.
    Starting,
    Thinking,
    Writing,
    /// The model writes a call of this tool.
    Calling(String),
    Compacting,
    Retrying,
    /// The result is there.
    Finishing,
}

/// How many messages of one turn are told apart; older ones are summed up.
const MESSAGES: usize = 64;

impl Tally {
    /// In a few words.
    #[must_use]
    pub fn activity(&self) -> String {
        if !self.questions.is_empty() {
            return "waiting for a decision".to_owned();
        }
        if let Some((_, name)) = self.tools.last() {
            return match self.tools.len() {
                1 => format!("running {name}"),
                more => format!("running {more} tools"),
            };
        }
        match &self.phase {
            Phase::Finishing if self.tasks == 1 => "a background task is running".to_owned(),
            Phase::Finishing if self.tasks > 1 => format!("{} background tasks are running", self.tasks),
            Phase::Waiting => "waiting".to_owned(),
            Phase::Starting => "starting claude".to_owned(),
            Phase::Thinking => "thinking".to_owned(),
            Phase::Writing => "writing".to_owned(),
            Phase::Calling(name) => format!("preparing {name}"),
            Phase::Compacting => "compacting".to_owned(),
            Phase::Retrying => "waiting for the API".to_owned(),
            Phase::Finishing => "finishing".to_owned(),
        }
    }

    /// Tokens so far, None before there were any.
    #[must_use]
    pub fn tokens(&self) -> Option<String> {
        let mut all = self.done;
        for tokens in self.running.values() {
            all.input += tokens.input;
            all.output += tokens.output;
        }
        (all.input + all.output > 0)
            .then(|| format!("{} in, {} out", amount::tokens(all.input), amount::tokens(all.output)))
    }

    pub(super) fn starting(&mut self) {
        self.phase = Phase::Starting;
    }

    pub(super) fn settled(&mut self) {
        self.phase = Phase::Waiting;
        self.tools.clear();
        self.questions.clear();
        self.running.clear();
        self.done = Tokens::default();
    }

    pub(super) fn ended(&mut self) {
        self.phase = Phase::Waiting;
        self.tools.clear();
        self.questions.clear();
        self.tasks = 0;
    }

    pub(super) fn note(&mut self, message: &Message) {
        match message {
            Message::Init(_) => self.phase = Phase::Thinking,
            Message::Status(line) => match line.status.as_deref() {
                Some("compacting") => self.phase = Phase::Compacting,
                Some(_) => self.phase = Phase::Thinking,
                None => {}
            },
            Message::ApiRetry(_) => self.phase = Phase::Retrying,
            Message::StreamEvent(line) => {
                let lane = line.common.parent_tool_use_id.as_deref();
                self.event(&line.event, lane);
            }
            Message::Assistant(line) => {
                self.calls(&line.blocks);
                if let (Some(id), Some(usage)) = (&line.message_id, &line.usage) {
                    self.count(id, usage);
                }
            }
            Message::User(line) => {
                for block in &line.blocks {
                    if let Block::ToolResult { tool_use_id, .. } = block {
                        self.tools.retain(|(id, _)| id != tool_use_id);
                        self.phase = Phase::Thinking;
                    }
                }
            }
            Message::ControlRequest(line) => self.questions.push(line.request_id.clone()),
            Message::ControlCancel(line) => self.questions.retain(|id| *id != line.request_id),
            Message::BackgroundTasks(line) => self.tasks = line.tasks.iter().filter(|t| !t.ambient).count(),
            Message::Result(_) => {
                self.phase = Phase::Finishing;
                self.tools.clear();
                self.questions.clear();
            }
            _ => {}
        }
    }

    /// A question was answered.
    pub(super) fn answered(&mut self, request_id: &str) {
        self.questions.retain(|id| id != request_id);
    }

    fn event(&mut self, event: &Event, lane: Option<&str>) {
        match event {
            Event::MessageStart { message_id: Some(id), usage: Some(usage), .. } => self.count(id, usage),
            Event::MessageDelta { usage: Some(usage), .. } if lane.is_none() => {
                // Which message it belongs to is not said; the newest one of the main lane is the one that streams.
                if let Some(tokens) = self.running.values_mut().next_back() {
                    tokens.output = tokens.output.max(usage.output);
                }
            }
            Event::BlockStart { kind, name, .. } if lane.is_none() => {
                self.phase = match (kind.as_str(), name) {
                    ("text", _) => Phase::Writing,
                    ("tool_use", Some(name)) => Phase::Calling(one_line(name)),
                    _ => Phase::Thinking,
                };
            }
            _ => {}
        }
    }

    fn calls(&mut self, blocks: &[Block]) {
        for block in blocks {
            if let Block::ToolUse { id, name, .. } = block {
                self.tools.push((id.clone(), one_line(name)));
            }
        }
    }

    fn count(&mut self, id: &str, usage: &Usage) {
        if self.running.len() >= MESSAGES && !self.running.contains_key(id) {
            for tokens in std::mem::take(&mut self.running).into_values() {
                self.done.input += tokens.input;
                self.done.output += tokens.output;
            }
        }
        let tokens = self.running.entry(id.to_owned()).or_default();
        tokens.input = usage.input + usage.cache_read + usage.cache_write();
        tokens.output = tokens.output.max(usage.output);
    }
}
