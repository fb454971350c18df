//! A line of the child's is applied.

use super::child::{Activity, Alone, CANCEL, ChildState, InterruptStatus};
use super::outcome::{Verdict, classify};
use super::{Machine, poison};
use crate::rows::Turn;
use claude_wire::{
    Assistant, Block, ControlResponse, Event, Frame, Init, Legacy, Message, RateLimit, ResultLine,
    StreamEvent, UserLine,
};
use serde_json::value::RawValue;

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
        child.observed.line |= !matches!(message, Message::Noise);
        child.last_line = now;
        child.watch.heard(now);
        if !matches!(message, Message::SessionState(_) | Message::ControlRequest(_)) {
            child.watch.answered(true);
        }
        // A replay carries the uuid of the message that it repeats: the same one in each process that gets it.
        let replay = matches!(message, Message::User(line) if line.is_replay);
        if let Some(uuid) = message.common().and_then(|c| c.uuid.as_deref()).filter(|_| !replay)
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

    /// The unterminated rest of a dead child's `out`; said again, it counts once.
    pub fn torn(&mut self) {
        let said = self.child.as_mut().is_none_or(|c| std::mem::replace(&mut c.torn, true));
        if !said {
            self.mark_garbled();
        }
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
            Message::ControlResponse(line) => self.on_response(line, now),
            Message::ConversationReset(_) => self.on_reset(),
            Message::PermissionDenied(_) => {
                self.with_child(|c| c.denied_by_child += 1);
                self.count_denials();
            }
            Message::BackgroundTasks(line) => {
                self.with_child(|c| c.tasks.list(line, c.segment_open, now));
            }
            Message::TaskStarted(line) => self.with_child(|c| c.tasks.started(line, now)),
            Message::TaskUpdated(line) => self.with_child(|c| c.tasks.updated(line, now)),
            Message::TaskNotification(line) => self.with_child(|c| {
                let in_call = line.tool_use_id.as_deref().is_some_and(|id| c.tools.is_under_way(id));
                c.tasks.notified(line, in_call, now);
            }),
            Message::ApiRetry(line) => self.with_child(|c| {
                c.passing = Some(Activity::Retrying);
                c.watch.streams_no_more();
                c.watch.waits_until(now.saturating_add(milliseconds(line.retry_delay_ms)));
            }),
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
        self.renamed(line.common.session_id.as_deref());
        self.tools_are(&line.tools);
        self.segment_began();
        let cancel_queued = line.capabilities.iter().any(|c| c == "interrupt_cancel_queued_v1");
        self.with_child(|c| {
            c.observed.init = true;
            c.observed.cancel_queued |= cancel_queued;
        });
    }

    /// The model is at work: opens the segment, and notes a turn that no delivery of ours began.
    fn segment_began(&mut self) {
        self.note_alone();
        self.with_child(|c| {
            c.passing = None;
            c.watch.streams_no_more();
            c.segment_open = true;
            c.quiet_expired = false;
        });
        self.interrupt_outrun();
    }

    fn note_alone(&mut self) {
        if self.open_turn().is_none() {
            self.with_child(|c| {
                if c.alone.is_none() {
                    c.verdict = None;
                    c.alone = Some(Alone::default());
                }
            });
        }
    }

    /// A turn begins though an interrupt was confirmed. One that was confirmed with this turn still queued did nothing
    /// (protocol page, "interrupt"), and is sent once more. Where the confirmation lists nothing it may yet take effect
    /// (it does on 2.1.200, seen behind the lab): then only what the model says shows that it did nothing.
    pub(super) fn interrupt_outrun(&mut self) {
        self.with_child(|c| {
            if let Some(interrupt) = c.interrupt.as_mut().filter(|i| i.confirmed) {
                interrupt.outrun = true;
                interrupt.again |= interrupt.listed;
            }
        });
    }

    /// The model writes in the main lane.
    fn model_speaks(&mut self, lane: Option<&str>) {
        self.with_child(|c| {
            if let Some(interrupt) = c.interrupt.as_mut().filter(|i| i.outrun && lane.is_none()) {
                interrupt.again = true;
            }
        });
    }

    /// An interrupt that found nothing to break off is over, and nothing has to wait for it.
    pub(super) fn interrupt_over_at_rest(&mut self) {
        let all_final = self.all_final();
        self.with_child(|c| {
            let idle = all_final && !c.segment_open && c.state != ChildState::Running;
            if idle && c.interrupt.as_ref().is_some_and(|i| i.confirmed) {
                c.interrupt = None;
            }
        });
    }

    fn on_state(&mut self, state: &str) {
        self.with_child(|c| {
            c.observed.state = true;
            c.state = match state {
                "idle" => ChildState::Idle,
                "requires_action" => ChildState::RequiresAction,
                _ => ChildState::Running,
            };
            c.watch.answered(false);
        });
        if state == "idle" {
            // Whatever was under way is over, even where its result could not be read.
            self.settle_early_receipts();
            self.drop_unanswered();
            let stalled = self.child.as_ref().filter(|c| c.watch.is_stalled()).map(|c| c.watch.passed());
            let stalled = stalled.map(|deadline| self.stalled_by(deadline));
            self.with_child(|c| {
                if std::mem::take(&mut c.segment_open) {
                    c.verdict = stalled;
                }
                c.watch.forgive();
                c.interrupt.take_if(|i| i.confirmed);
            });
        }
    }

    fn on_user(&mut self, line: &UserLine) {
        if line.is_replay {
            self.replayed(line);
            return;
        }
        self.with_child(|c| {
            c.passing = None;
            c.watch.streams_no_more();
            for block in &line.blocks {
                if let Block::ToolResult { tool_use_id, .. } = block {
                    c.tools.ended(tool_use_id);
                }
            }
        });
    }

    /// A message of ours is taken up, or the child tells the model of a background task inside the running turn.
    fn replayed(&mut self, line: &UserLine) {
        let delivery = line.common.uuid.as_deref().and_then(|uuid| self.delivery_of(uuid)).map(|row| row.id);
        if let Some(id) = delivery {
            self.on_replay(id);
            return;
        }
        self.with_child(|c| {
            for block in &line.blocks {
                if let Block::Text(text) = block {
                    c.tasks.replayed(text);
                }
            }
        });
    }

    fn on_assistant(&mut self, line: &Assistant) {
        let lane = line.common.parent_tool_use_id.as_deref();
        self.model_speaks(lane);
        self.request_seen(line);
        self.with_child(|c| {
            c.passing = None;
            c.observed.answer |= line.error.is_none() && !line.is_synthetic();
            if let Some(error) = line.error.as_ref().filter(|_| lane.is_none()) {
                c.api_error = Some((line.api_error_status, error.clone()));
            }
            if lane.is_none() {
                c.watch.block_of(line.message_id.as_deref());
            }
            if let (Some(id), Some(model)) = (&line.message_id, &line.model) {
                c.meter.message(id, model, line.usage.as_ref());
            }
            for block in &line.blocks {
                if let Block::ToolUse { id, name, input } = block {
                    c.tools.began(id, name, input.as_deref().map(RawValue::get), lane);
                }
            }
        });
    }

    fn on_stream(&mut self, line: &StreamEvent) {
        self.model_speaks(line.common.parent_tool_use_id.as_deref());
        let lane = line.common.parent_tool_use_id.as_deref().unwrap_or_default();
        if let Event::MessageStart { usage: Some(usage), .. } = &line.event
            && lane.is_empty()
        {
            self.found(usage);
        }
        self.with_child(|c| {
            c.passing = None;
            if lane.is_empty() {
                c.watch.streams(&line.event);
            }
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
        self.renamed(line.common.session_id.as_deref());
        self.note_alone();
        let outstanding = self.child.as_ref().is_some_and(super::child::Child::being_stopped);
        let verdict = poison::with_kind(classify(line, outstanding), line, self.child.as_ref());
        let verdict = self.stalled_verdict(verdict);
        let print = poison::fingerprint(&verdict, line, self.child.as_ref());
        self.refused.lives();
        let denied = u32::try_from(line.permission_denials.len()).unwrap_or(u32::MAX);
        let rounds = u32::try_from(line.num_turns.unwrap_or(0)).unwrap_or(u32::MAX);
        self.with_child(|c| {
            c.meter.result(line);
            c.print = print;
            c.api_error = None;
            c.had_error |= line.is_error;
            if let Some(alone) = &mut c.alone {
                alone.rounds = alone.rounds.saturating_add(rounds);
                alone.denials = alone.denials.max(denied);
            }
        });
        self.with_open_turn(|t| {
            t.rounds = t.rounds.saturating_add(rounds);
            t.denials = t.denials.max(denied);
        });
        let local = line.num_turns == Some(0);
        self.segment_ended(verdict, &line.user_message_uuids, local, span, now);
    }

    /// Shapes of old transports: a top-level `stop_reason` ends a turn only where no `init` was ever sent, and only
    /// if the model doesn't go on behind it.
    fn on_legacy(&mut self, line: &Legacy, span: Span, now: u64) {
        let init = self.child.as_ref().is_some_and(|c| c.observed.init);
        if let (Some(id), Some(model)) = (&line.message_id, &line.model) {
            self.with_child(|c| c.meter.message(id, model, line.usage.as_ref()));
        }
        let ends = line.stop_reason.as_deref().is_some_and(|r| !matches!(r, "tool_use" | "pause_turn"));
        if ends && line.role == "assistant" && !init {
            self.note_alone();
            self.segment_ended(Verdict::completed(), &[], false, span, now);
        }
    }

    /// `local`: the result of a command that the child ran without the model.
    fn segment_ended(
        &mut self,
        verdict: Verdict,
        uuids: &[String],
        local: bool,
        (start, end): Span,
        now: u64,
    ) {
        let answer = (start, end.saturating_sub(1));
        let any =
            self.answered(uuids, answer, &verdict) || (local && self.answered_locally(answer, &verdict));
        self.settle_early_receipts();
        self.with_child(|c| c.since_result.clear());
        let aborted = verdict.outcome == crate::rows::Outcome::Interrupted;
        self.with_open_turn(|t| {
            t.results = t.results.saturating_add(1);
            t.answer = Some(answer);
        });
        self.with_child(|c| {
            if !any {
                c.tasks.told();
            }
            if let Some(alone) = &mut c.alone {
                alone.results = alone.results.saturating_add(1);
                alone.answer = Some(answer);
            }
            c.segment_open = false;
            c.watch.streams_no_more();
            c.watch.forgive();
            c.verdict = Some(verdict);
            c.last_result = now;
            c.passing = None;
            c.tools.result();
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

    fn on_response(&mut self, line: &ControlResponse, now: u64) {
        let behind = self.runs_behind_interrupt(&line.still_queued);
        let Some(child) = &mut self.child else { return };
        let Some(asked) = child.asked.remove(&line.request_id) else { return };
        child.read_all |= asked.write > child.last_user_write;
        match asked.subtype.as_str() {
            "interrupt" => {
                let status = if line.ok {
                    InterruptStatus::Confirmed(behind)
                } else {
                    InterruptStatus::Refused(line.error.clone().unwrap_or_default())
                };
                if let Some(interrupt) = child.interrupt.as_mut().filter(|i| i.request_id == line.request_id)
                {
                    interrupt.confirmed = line.ok;
                    interrupt.listed = !line.still_queued.is_empty();
                    interrupt.since = now;
                    if !line.ok {
                        child.interrupt = None;
                        // One that stalled and can't be interrupted is killed.
                        child.interrupt_expired |= child.watch.is_stalled();
                    }
                }
                child.remember_answer(&line.request_id, status);
                self.given_back(&line.cancelled);
                self.interrupt_over_at_rest();
            }
            CANCEL => {
                self.cancel_answered(asked.about, line.ok && line.was_cancelled == Some(true));
                self.interrupt_over_at_rest();
            }
            "initialize" => self.relisted(line),
            _ => {}
        }
    }

    /// `/clear`. The id in this line is not that of the new conversation (2.1.200 and 2.1.332, seen behind the lab):
    /// the next `init` says it.
    fn on_reset(&mut self) {
        self.with_child(|c| {
            c.reset = true;
            c.meter.clear();
        });
    }

    /// After `/clear`, the first turn's lines say which conversation it is now.
    fn renamed(&mut self, session_id: Option<&str>) {
        let reset = self.child.as_mut().is_some_and(|c| std::mem::take(&mut c.reset));
        if let Some(id) = session_id.filter(|_| reset).and_then(|id| id.parse().ok()) {
            self.conversation = id;
        }
    }

    fn on_rate_limit(&mut self, line: &RateLimit) {
        let limited = !line.status.is_empty() && !line.status.starts_with("allowed");
        let until = line.resets_at;
        self.with_child(|c| {
            c.limit_until = until.filter(|_| limited);
            if limited {
                c.passing = Some(Activity::RateLimited(until));
            }
        });
    }
}

/// A delay as the child writes it; nonsense is none.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a float is cut to what fits")]
fn milliseconds(delay: f64) -> u64 {
    delay.clamp(0.0, 24.0 * 3_600_000.0) as u64
}
