//! A line of the child's is applied.

use super::Machine;
use super::child::{Activity, ChildState, InterruptStatus};
use super::outcome::{Verdict, classify};
use crate::rows::Turn;
use claude_wire::{
    Assistant, Block, ControlResponse, Event, Frame, Init, Legacy, Message, RateLimit, ResultLine,
    StreamEvent, UserLine,
};

/// Where a line stands in `out`: its first byte, and the byte after its newline.
pub type Span = (u64, u64);

impl Machine {
    /// Applies a complete line of the current generation's `out`. `now`: monotonic milliseconds.
    pub fn out(&mut self, (start, end): Span, frame: &Frame, now: u64) {
        let Some(child) = &mut self.child else { return };
        child.consumed = end;
        let message = frame.message();
        if matches!(message, Message::Blank) {
            return;
        }
        child.observed.line = true;
        child.last_line = now;
        if let Some(uuid) = message.common().and_then(|c| c.uuid.as_deref())
            && !self.seen.first_time(uuid)
        {
            return;
        }
        self.message(message, (start, end), now);
    }

    /// A line that could not be held in memory: it is in the journal, and what it said is unknown.
    pub fn garbled(&mut self, end: u64) {
        if let Some(child) = &mut self.child {
            child.consumed = end;
            self.mark_garbled();
        }
    }

    /// The unterminated rest of a dead child's `out`.
    pub fn torn(&mut self) {
        self.mark_garbled();
    }

    fn mark_garbled(&mut self) {
        if let Some(generation) = self.rows.generations.last_mut() {
            generation.garbled += 1;
        }
        let generation = self.generation();
        if let Some(turn) = self.rows.turns.last_mut().filter(|t| t.generation == generation) {
            turn.garbled = true;
        }
    }

    fn message(&mut self, message: &Message, span: Span, now: u64) {
        match message {
            Message::Noise => self.mark_garbled(),
            Message::Init(line) => self.on_init(line),
            Message::SessionState(line) => self.on_state(&line.state),
            Message::Lifecycle(line) => self.on_lifecycle(line),
            Message::User(line) => self.on_user(line),
            Message::Assistant(line) => self.on_assistant(line),
            Message::StreamEvent(line) => self.on_stream(line),
            Message::Result(line) => self.on_result(line, span, now),
            Message::Legacy(line) => self.on_legacy(line, span, now),
            Message::ControlRequest(line) => self.on_request(line, span),
            Message::ControlCancel(line) => self.withdraw(&line.request_id, "cancelled"),
            Message::ControlResponse(line) => self.on_response(line),
            Message::ConversationReset(line) => self.on_reset(line.new_conversation_id.as_deref()),
            Message::PermissionDenied(_) => {
                self.with_child(|c| c.denied_by_child += 1);
                self.count_denials();
            }
            Message::BackgroundTasks(line) => self.with_child(|c| c.tasks.list(line, now)),
            Message::TaskStarted(line) => self.with_child(|c| c.tasks.started(line, now)),
            Message::TaskNotification(line) => self.with_child(|c| c.tasks.notified(line, now)),
            Message::ApiRetry(_) => self.with_child(|c| c.passing = Some(Activity::Retrying)),
            Message::RateLimit(line) => self.on_rate_limit(line),
            Message::Status(line) => {
                let compacting = line.status.as_deref() == Some("compacting");
                self.with_child(|c| c.passing = compacting.then_some(Activity::Compacting));
            }
            _ => {}
        }
    }

    pub(super) fn with_child(&mut self, f: impl FnOnce(&mut super::child::Child)) {
        if let Some(child) = &mut self.child {
            f(child);
        }
    }

    fn on_init(&mut self, line: &Init) {
        if let Some(generation) = self.rows.generations.last_mut() {
            if let Some(version) = &line.version {
                generation.version.clone_from(version);
            }
            generation.model.clone_from(&line.model);
            generation.credential.clone_from(&line.api_key_source);
        }
        self.segment_began();
        self.with_child(|c| {
            c.observed.init = true;
            c.tasks.turn_began();
        });
    }

    /// The model is at work: opens the segment, and notes a turn that no delivery of ours began.
    fn segment_began(&mut self) {
        let alone = self.open_turn().is_none();
        self.with_child(|c| {
            c.passing = None;
            c.segment_open = true;
            c.quiet_expired = false;
            c.began_alone |= alone;
            if let Some(interrupt) = c.interrupt.as_mut().filter(|i| i.early && i.confirmed) {
                interrupt.again = true;
            }
        });
    }

    fn on_state(&mut self, state: &str) {
        // A local command (`/clear`, …) may end without a result: then `idle` behind its receipt is the end.
        let receipts_in = self.open_turn().is_some() && self.all_final();
        self.with_child(|c| {
            c.observed.state = true;
            c.state = match state {
                "idle" => ChildState::Idle,
                "requires_action" => ChildState::RequiresAction,
                _ => ChildState::Running,
            };
            if c.state == ChildState::Idle && c.observed.lifecycle && receipts_in {
                c.segment_open = false;
                c.verdict.get_or_insert_with(Verdict::completed);
            }
            if c.state == ChildState::Idle && c.interrupt.as_ref().is_some_and(|i| i.confirmed) {
                c.interrupt = None;
            }
        });
    }

    fn on_user(&mut self, line: &UserLine) {
        if line.is_replay {
            if let Some(uuid) = &line.common.uuid {
                self.on_replay(uuid);
            }
            return;
        }
        self.with_child(|c| {
            c.passing = None;
            for block in &line.blocks {
                if let Block::ToolResult { tool_use_id, .. } = block {
                    c.tools.remove(tool_use_id);
                }
            }
        });
    }

    fn on_assistant(&mut self, line: &Assistant) {
        self.with_child(|c| {
            c.passing = None;
            if let (Some(id), Some(model)) = (&line.message_id, &line.model) {
                c.meter.message(id, model, line.usage.as_ref());
            }
            for block in &line.blocks {
                if let Block::ToolUse { id, name, .. } = block {
                    c.tools.insert(id.clone(), name.clone());
                }
            }
        });
    }

    fn on_stream(&mut self, line: &StreamEvent) {
        let lane = line.common.parent_tool_use_id.as_deref().unwrap_or_default();
        self.with_child(|c| {
            c.passing = None;
            match &line.event {
                Event::MessageStart { message_id: Some(id), model: Some(model), usage } => {
                    c.meter.message_start(lane, id, model, usage.as_ref());
                }
                Event::MessageDelta { usage: Some(usage), .. } => c.meter.message_delta(lane, usage),
                _ => {}
            }
        });
    }

    fn on_result(&mut self, line: &ResultLine, span: Span, now: u64) {
        let outstanding = self.child.as_ref().is_some_and(super::child::Child::being_stopped);
        let verdict = classify(line, outstanding);
        self.with_child(|c| c.meter.result(&line.model_usage, line.usage.as_ref()));
        let denied = u32::try_from(line.permission_denials.len()).unwrap_or(u32::MAX);
        let rounds = u32::try_from(line.num_turns.unwrap_or(0)).unwrap_or(u32::MAX);
        self.with_open_turn(|t| {
            t.rounds = t.rounds.saturating_add(rounds);
            t.denials = t.denials.max(denied);
        });
        self.segment_ended(verdict, &line.user_message_uuids, span, now);
    }

    /// Shapes of old transports: a top-level `stop_reason` ends a turn only where no `init` was ever sent.
    fn on_legacy(&mut self, line: &Legacy, span: Span, now: u64) {
        let init = self.child.as_ref().is_some_and(|c| c.observed.init);
        if line.stop_reason.is_some() && !init {
            self.segment_ended(Verdict::completed(), &[], span, now);
        }
    }

    fn segment_ended(&mut self, verdict: Verdict, uuids: &[String], (start, end): Span, now: u64) {
        let answer = (start, end.saturating_sub(1));
        self.answered(uuids, answer, &verdict);
        let aborted = verdict.outcome == crate::rows::Outcome::Interrupted;
        self.with_open_turn(|t| {
            t.results += 1;
            t.answer = Some(answer);
        });
        self.with_child(|c| {
            c.segment_open = false;
            c.began_alone = false;
            c.verdict = Some(verdict);
            c.last_result = now;
            c.passing = None;
            c.tools.clear();
            c.interrupt = None;
        });
        if aborted {
            self.withdraw_all("interrupted");
        }
    }

    pub(super) fn with_open_turn(&mut self, f: impl FnOnce(&mut Turn)) {
        if let Some(turn) = self.rows.turns.last_mut().filter(|t| t.settled_at.is_none()) {
            f(turn);
        }
    }

    fn on_response(&mut self, line: &ControlResponse) {
        let Some(child) = &mut self.child else { return };
        let Some(asked) = child.asked.remove(&line.request_id) else { return };
        match asked.subtype.as_str() {
            "interrupt" => {
                let status = if line.ok {
                    InterruptStatus::Confirmed(line.still_queued.clone())
                } else {
                    InterruptStatus::Refused(line.error.clone().unwrap_or_default())
                };
                if let Some(interrupt) = child.interrupt.as_mut().filter(|i| i.request_id == line.request_id)
                {
                    interrupt.confirmed = line.ok;
                    if !line.ok {
                        child.interrupt = None;
                    }
                }
                child.remember_answer(&line.request_id, status);
            }
            "initialize" => self.relisted(line),
            _ => {}
        }
    }

    fn on_reset(&mut self, id: Option<&str>) {
        if let Some(id) = id.and_then(|id| id.parse().ok()) {
            self.conversation = id;
        }
        self.with_child(|c| c.meter.reset());
    }

    fn on_rate_limit(&mut self, line: &RateLimit) {
        let limited = !line.status.is_empty() && !line.status.starts_with("allowed");
        let until = line.resets_at;
        self.with_child(|c| {
            if limited {
                c.passing = Some(Activity::RateLimited(until));
            }
        });
    }
}
