//! What a line of the child's shows.

use super::page::Part;
use super::speech::Kind;
use super::tools::Lane;
use super::{Detail, Style, View, amount, one_line};
use claude_wire::{
    Assistant, BackgroundTasks, Block, CompactBoundary, Event, Legacy, Message, RateLimit, Request,
    ResultLine, Status, StreamEvent, TaskNotification,
};
use ostler_core::ids::Millis;
use std::collections::BTreeMap;

/// What was said already and need not be said again.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// The rate limit's last status.
    limit: String,
    /// MCP servers that are not well were told.
    servers_told: bool,
    /// The running generation gave a failed result: its exit status says nothing new.
    pub(super) failed: bool,
}

/// How much of a line that can't be read is shown.
const QUOTE: usize = 60;

impl View {
    pub(super) fn show(&mut self, message: &Message, raw: &[u8]) {
        match message {
            Message::StreamEvent(line) => self.stream_event(line),
            Message::Assistant(line) => self.assistant(line),
            Message::User(line) => {
                let lane = Lane::of(line.common.parent_tool_use_id.as_ref());
                line.blocks.iter().for_each(|block| self.tool_result(lane, block));
            }
            Message::Legacy(line) => self.legacy(line),
            Message::Result(line) => self.result(line),
            Message::ControlRequest(line) => match &line.request {
                Request::CanUseTool(ask) => self.question(&line.request_id, ask),
                Request::Elicitation(ask) => {
                    self.warn(&format!(
                        "{} asks: {}",
                        one_line(&ask.mcp_server_name),
                        one_line(&ask.message)
                    ));
                }
                _ => {}
            },
            Message::ControlCancel(_) => self.note("the question was withdrawn"),
            Message::PermissionDenied(line) => {
                let why =
                    line.decision_reason.as_deref().or(line.message.as_deref()).unwrap_or("not allowed");
                let text = format!("{} was not allowed: {}", one_line(&line.tool_name), one_line(why));
                self.warn(&self.fit(&text, 2));
            }
            Message::ApiRetry(_) | Message::RateLimit(_) => self.trouble(message),
            Message::Status(line) => self.status(line),
            Message::CompactBoundary(line) => self.compacted(line),
            Message::BackgroundTasks(line) => self.tasks(line),
            Message::TaskNotification(line) => self.task_ended(line),
            Message::ConversationReset(_) => {
                self.speech.end();
                self.note("the conversation was cleared; what follows is a new one");
            }
            Message::Init(line) => self.servers(&line.mcp_servers),
            Message::WritesLost(line) => {
                let what = if line.lost.is_empty() { "something".to_owned() } else { line.lost.join(", ") };
                let code = line.error_code.as_deref().unwrap_or("disk trouble");
                self.bad(&format!("claude could not write {} ({})", one_line(&what), one_line(code)));
            }
            Message::Noise => self.noise(raw),
            _ => {}
        }
    }

    fn stream_event(&mut self, line: &StreamEvent) {
        if line.common.parent_tool_use_id.is_some() {
            return;
        }
        match &line.event {
            Event::MessageStart { .. } => {
                let was_cut = self.speech.message();
                if was_cut {
                    self.note("that was cut off; the model begins again");
                }
            }
            Event::BlockStart { .. } => self.speech.block(),
            Event::TextDelta { text, .. } => self.speech.delta(&mut self.page, Kind::Text, text),
            Event::ThinkingDelta { thinking, .. } => {
                self.speech.delta(&mut self.page, Kind::Thinking, thinking);
            }
            _ => {}
        }
    }

    fn assistant(&mut self, line: &Assistant) {
        let lane = Lane::of(line.common.parent_tool_use_id.as_ref());
        let said = if line.is_synthetic() || line.error.is_some() { Kind::Error } else { Kind::Text };
        // What the CLI puts where the model said nothing.
        let nothing = |block: &Block| matches!(block, Block::Text(text) if text == "(no content)");
        if line.is_synthetic() && line.blocks.iter().all(nothing) {
            return;
        }
        self.blocks(lane, said, &line.blocks);
    }

    fn legacy(&mut self, line: &Legacy) {
        if line.role == "assistant" {
            self.blocks(Lane::Main, Kind::Text, &line.blocks);
        } else {
            line.blocks.iter().for_each(|block| self.tool_result(Lane::Main, block));
        }
    }

    fn blocks(&mut self, lane: Lane, said: Kind, blocks: &[Block]) {
        for block in blocks {
            match (block, lane) {
                (Block::Text(text), Lane::Main) => self.speech.whole(&mut self.page, said, text),
                (Block::Thinking(text), Lane::Main) => {
                    self.speech.whole(&mut self.page, Kind::Thinking, text)
                }
                (Block::Text(text), Lane::Agent) if !text.trim().is_empty() => {
                    let text = format!("{}{}", lane.indent(), self.fit(text, 4));
                    self.page.line(Part::Tool, &[(Style::Dim, &text)]);
                    self.interrupt_call();
                }
                (Block::ToolUse { id, name, input }, _) => self.call(lane, id, name, input.as_deref()),
                _ => {}
            }
        }
    }

    /// A result is the end of something that was shown as it came; only what was not shown is left to tell.
    fn result(&mut self, line: &ResultLine) {
        let aborted = line.terminal_reason.as_deref().is_some_and(|r| r.starts_with("aborted"));
        self.forget_calls();
        if aborted {
            self.page.line(Part::Notice, &[(Style::Warn, "■ interrupted")]);
        } else if line.is_error || line.subtype != "success" {
            self.line.failed = true;
            self.failure(line);
        } else if let Some(text) = line.result.as_deref().filter(|t| !t.is_empty() && !self.speech.spoke()) {
            // The answer of a slash command is on no assistant line.
            let text = text.to_owned();
            self.speech.whole(&mut self.page, Kind::Text, &text);
        }
        self.speech.end();
        self.page.set_apart();
    }

    fn failure(&mut self, line: &ResultLine) {
        let said = line.result.as_deref().filter(|t| !t.is_empty());
        if said.is_some_and(|t| t == self.speech.last_text()) {
            return;
        }
        let kind = match line.subtype.as_str() {
            "success" => "failed".to_owned(),
            "error_max_turns" => "the limit of rounds is reached".to_owned(),
            "error_max_budget_usd" => "the budget is spent".to_owned(),
            other => one_line(&other.replace('_', " ")),
        };
        let more = said.map(str::to_owned).or_else(|| line.errors.first().cloned());
        let text = more.map_or_else(|| kind.clone(), |more| format!("{kind}: {}", one_line(&more)));
        self.bad(&text);
    }

    fn trouble(&mut self, message: &Message) {
        match message {
            Message::ApiRetry(line) => {
                let kind = line.error.as_deref().filter(|kind| *kind != "unknown").map(one_line);
                let answer = match (line.error_status, kind) {
                    (Some(status), Some(kind)) => format!("the API answered {status} {kind}"),
                    (Some(status), None) => format!("the API answered {status}"),
                    (None, Some(kind)) => format!("no answer from the API: {kind}"),
                    (None, None) => "no answer from the API".to_owned(),
                };
                let wait = amount::duration(line.retry_delay_ms.clamp(0.0, 1e15) as u64);
                self.warn(&format!("{answer}; retry {} of {} in {wait}", line.attempt, line.max_retries));
            }
            Message::RateLimit(line) => self.rate_limit(line),
            _ => {}
        }
    }

    fn rate_limit(&mut self, line: &RateLimit) {
        let changed = std::mem::replace(&mut self.line.limit, line.status.clone()) != line.status;
        if !changed || line.status == "allowed" || line.status.is_empty() {
            return;
        }
        let which =
            line.kind.as_deref().map(|k| format!(" {}", one_line(&k.replace('_', " ")))).unwrap_or_default();
        let until = line.resets_at.map_or_else(
            || "until unknown".to_owned(),
            |t| format!("until {}", amount::clock(Millis(t.saturating_mul(1000)))),
        );
        match line.status.as_str() {
            "rejected" => self.warn(&format!("rate limit{which} reached, {until}")),
            "allowed_warning" => {
                let used =
                    line.utilization.map(|u| format!(" ({:.0} % used)", u * 100.0)).unwrap_or_default();
                self.note(&format!("near the rate limit{which}{used}, {until}"));
            }
            other => self.note(&format!("rate limit{which}: {}", one_line(other))),
        }
    }

    fn status(&mut self, line: &Status) {
        if line.compact_result.as_deref() == Some("failed") {
            let why = line.compact_error.as_deref().unwrap_or("no reason given");
            self.warn(&format!("compacting the conversation failed: {}", one_line(why)));
        } else if line.status.as_deref() == Some("compacting") {
            self.note("compacting the conversation");
        }
    }

    fn compacted(&mut self, line: &CompactBoundary) {
        let size = match (line.pre_tokens, line.post_tokens) {
            (Some(before), Some(after)) => {
                format!(": {} → {} tokens", amount::tokens(before), amount::tokens(after))
            }
            (Some(before), None) => format!(": {} tokens before", amount::tokens(before)),
            _ => String::new(),
        };
        self.note(&format!("the conversation was compacted{size}"));
    }

    fn tasks(&mut self, line: &BackgroundTasks) {
        let live: BTreeMap<String, String> = line
            .tasks
            .iter()
            .filter(|t| !t.ambient)
            .map(|t| (t.id.clone(), one_line(&t.description)))
            .collect();
        let new: Vec<String> =
            live.iter().filter(|(id, _)| !self.tasks.contains_key(*id)).map(|(_, d)| d.clone()).collect();
        for description in new {
            let text = self.fit(&description, 24);
            self.note(&format!("in the background: {text}"));
        }
        self.tasks = live;
    }

    fn task_ended(&mut self, line: &TaskNotification) {
        if line.ambient {
            return;
        }
        let summary = line.summary.clone().filter(|s| !s.trim().is_empty());
        let what = summary.or_else(|| self.tasks.get(&line.task_id).cloned());
        let what = self.fit(&what.unwrap_or_else(|| line.task_id.clone()), 30);
        let text = format!("background task {}: {what}", one_line(&line.status));
        if line.status == "completed" { self.note(&text) } else { self.warn(&text) }
    }

    fn servers(&mut self, servers: &[claude_wire::McpServer]) {
        if std::mem::replace(&mut self.line.servers_told, true) && self.look.detail == Detail::Turn {
            return;
        }
        for server in servers {
            if !matches!(server.status.as_str(), "connected" | "pending" | "disabled") {
                self.warn(&format!("MCP server {}: {}", one_line(&server.name), one_line(&server.status)));
            }
        }
    }

    fn noise(&mut self, raw: &[u8]) {
        let text = String::from_utf8_lossy(raw);
        let size = amount::bytes(u64::try_from(raw.len()).unwrap_or(u64::MAX));
        let quote = super::clip(&one_line(&text), QUOTE);
        self.warn(&format!("garbled: {size} on claude's stdout that are no message: {quote}"));
    }
}
