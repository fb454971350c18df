//! From a session's journal to what a task's clients read. Pure.
//!
//! Chunks are the text of the main lane, each piece once: what came in deltas does not come again with the whole block,
//! and a line whose id was there before says nothing. Between them stand tool calls and what they gave:
//!
//! ```xml
//! <tool_use name="Bash" id="toolu_1">{"command":"make"}</tool_use>
//! <tool_result id="toolu_1">built</tool_result>
//! ```
//!
//! each on a line of its own, `&`, `<` and `>` (in attributes `"` too) as entities. A failed call has `is_error="true"`; of a
//! result longer than 4 KiB the beginning is there, and its whole `length` in bytes. A task's part of a session begins
//! where its message is written to a child, and ends where that turn settles; it goes on when ostler goes on with it by a
//! message of its own.

use super::record::Seconds;
use claude_wire::{Assistant, Block, Event, Message, ResultLine, StreamEvent, UserLine};
use ostler_core::ctl;
use ostler_core::ids::DeliveryId;
use ostler_store::Entry;
use std::collections::{HashSet, VecDeque};

/// How many ids of lines are remembered.
const REMEMBERED: usize = 2000;

/// One thing that a client reads.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    /// What the model says.
    Said(String),
    /// A block of the model's ends, or something else comes: what is said next is another one.
    Break,
    /// A tool call, or its result.
    Markup(String),
    /// A tool still runs.
    Progress(String, Seconds),
}

/// Where a reader of one task's journal stands.
#[derive(Debug)]
pub(super) struct Mapping {
    /// The task's message, and those with which ostler goes on with it.
    ours: HashSet<DeliveryId>,
    /// The journal is about the task.
    ours_now: bool,
    seen: HashSet<String>,
    order: VecDeque<String>,
    /// What deltas have shown of blocks whose own line has not come.
    shown: Vec<String>,
    /// The next delta begins a block.
    fresh: bool,
    /// The model has said something since the last result.
    spoke: bool,
}

impl Mapping {
    pub(super) fn new(delivery: DeliveryId) -> Self {
        Self {
            ours: HashSet::from([delivery]),
            ours_now: false,
            seen: HashSet::new(),
            order: VecDeque::new(),
            shown: Vec::new(),
            fresh: true,
            spoke: false,
        }
    }

    /// The message whose beginning an entry is, where nobody said yet whether it belongs to the task.
    pub(super) fn asks_about(&self, entry: &Entry) -> Option<DeliveryId> {
        match begun(entry) {
            Some(delivery) if !self.ours_now && !self.ours.contains(&delivery) => Some(delivery),
            _ => None,
        }
    }

    /// The message that this one goes on with is the task's: so is this one.
    pub(super) fn goes_on(&mut self, delivery: DeliveryId, with: Option<DeliveryId>) {
        if with.is_some_and(|with| self.ours.contains(&with)) {
            self.ours.insert(delivery);
        }
    }

    /// What an entry says to the task's clients.
    pub(super) fn take(&mut self, entry: &Entry) -> Vec<Piece> {
        let mut out = Vec::new();
        match entry {
            Entry::Ctl { row, .. } => match &row.ev {
                ctl::Event::Begin { .. } => {
                    self.ours_now |= begun(entry).is_some_and(|delivery| self.ours.contains(&delivery));
                }
                ctl::Event::Settled { .. } => self.ours_now = false,
                // A child that is gone finishes no block.
                ctl::Event::Dead { .. } => self.shown.clear(),
                _ => {}
            },
            Entry::Out { bytes, .. } if self.ours_now => {
                let (message, _) = Message::parse(bytes);
                self.line(&message, &mut out);
            }
            _ => {}
        }
        out
    }

    fn line(&mut self, message: &Message, out: &mut Vec<Piece>) {
        let common = match message {
            Message::StreamEvent(line) => &line.common,
            Message::Assistant(line) => &line.common,
            Message::User(line) => &line.common,
            Message::Result(line) => &line.common,
            Message::ToolProgress(line) => {
                out.push(Piece::Progress(line.tool_name.clone(), Seconds(line.elapsed_seconds)));
                return;
            }
            _ => return,
        };
        // Subagents speak to their agent.
        if common.parent_tool_use_id.is_some() || !self.is_new(common.uuid.as_ref()) {
            return;
        }
        match message {
            Message::StreamEvent(line) => self.event(line, out),
            Message::Assistant(line) => self.assistant(line, out),
            Message::User(line) if !line.is_replay => results(line, out),
            Message::Result(line) => self.result(line, out),
            _ => {}
        }
    }

    fn event(&mut self, line: &StreamEvent, out: &mut Vec<Piece>) {
        match &line.event {
            Event::MessageStart { .. } => {
                self.fresh = true;
                self.shown.clear();
            }
            Event::BlockStart { .. } => self.fresh = true,
            Event::TextDelta { text, .. } => {
                if std::mem::take(&mut self.fresh) || self.shown.is_empty() {
                    self.shown.push(String::new());
                    out.push(Piece::Break);
                }
                if let Some(shown) = self.shown.last_mut() {
                    shown.push_str(text);
                }
                self.spoke = true;
                out.push(Piece::Said(text.clone()));
            }
            _ => {}
        }
    }

    fn assistant(&mut self, line: &Assistant, out: &mut Vec<Piece>) {
        for block in &line.blocks {
            match block {
                // What the CLI puts where the model said nothing.
                Block::Text(text) if line.is_synthetic() && text == "(no content)" => {}
                Block::Text(text) => self.whole(text, out),
                Block::ToolUse { id, name, input } => {
                    let input = input.as_deref().map_or("{}", |raw| raw.get());
                    let (name, id, input) = (attribute(name), attribute(id), content(input));
                    out.push(Piece::Markup(format!(
                        "\n<tool_use name=\"{name}\" id=\"{id}\">{input}</tool_use>\n"
                    )));
                }
                _ => {}
            }
        }
    }

    /// A whole block: of it what the deltas did not show.
    fn whole(&mut self, text: &str, out: &mut Vec<Piece>) {
        self.spoke = true;
        self.fresh = true;
        let rest = match self.shown.iter().position(|shown| text.starts_with(shown.as_str())) {
            Some(at) => &text[self.shown.remove(at).len()..],
            None => {
                out.push(Piece::Break);
                text
            }
        };
        if !rest.is_empty() {
            out.push(Piece::Said(rest.to_owned()));
        }
    }

    fn result(&mut self, line: &ResultLine, out: &mut Vec<Piece>) {
        // The answer of a slash command stands on no other line.
        if let Some(text) = line.result.as_ref().filter(|text| !self.spoke && !text.is_empty()) {
            out.extend([Piece::Break, Piece::Said(text.clone())]);
        }
        self.spoke = false;
        self.shown.clear();
        self.fresh = true;
    }

    /// Remembers a line's id. A line without one is always new.
    fn is_new(&mut self, uuid: Option<&String>) -> bool {
        let Some(uuid) = uuid else { return true };
        if !self.seen.insert(uuid.clone()) {
            return false;
        }
        self.order.push_back(uuid.clone());
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.seen.remove(&oldest);
        }
        true
    }
}

/// The message that is about to be written to a child.
fn begun(entry: &Entry) -> Option<DeliveryId> {
    match entry {
        Entry::Ctl { row, .. } => match &row.ev {
            ctl::Event::Begin { line: ctl::Line::User { delivery }, .. } => Some(*delivery),
            _ => None,
        },
        _ => None,
    }
}

fn results(line: &UserLine, out: &mut Vec<Piece>) {
    for block in &line.blocks {
        let Block::ToolResult { tool_use_id, is_error, text_len, text } = block else { continue };
        let error = if *is_error { " is_error=\"true\"" } else { "" };
        let cut = if text.len() < *text_len { format!(" length=\"{text_len}\"") } else { String::new() };
        let (id, text) = (attribute(tool_use_id), content(text));
        out.push(Piece::Markup(format!("\n<tool_result id=\"{id}\"{error}{cut}>{text}</tool_result>\n")));
    }
}

fn content(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn attribute(text: &str) -> String {
    content(text).replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_core::ctl::{Event as Ctl, Line, Row};
    use ostler_core::ids::Millis;
    use ostler_store::Cursor;
    use uuid::Uuid;

    fn delivery(n: u128) -> DeliveryId {
        DeliveryId(Uuid::from_u128(n))
    }

    fn ctl(ev: Ctl) -> Entry {
        let row = Row { at: Millis(1), off: 0, ev };
        Entry::Ctl { no: 1, row, raw: Vec::new(), cursor: Cursor::START }
    }

    fn begins(n: u128) -> Entry {
        let line = Line::User { delivery: delivery(n) };
        ctl(Ctl::Begin { write: 1, line, len: 1, hash: String::new() })
    }

    fn settles() -> Entry {
        ctl(Ctl::Settled { turn: 1, gave_up_tasks: 0 })
    }

    fn out(line: &str) -> Entry {
        Entry::Out { no: 1, start: 0, end: 0, bytes: line.as_bytes().to_vec(), cursor: Cursor::START }
    }

    fn delta(text: &str) -> Entry {
        out(&format!(
            r#"{{"type":"stream_event","event":{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":{text:?}}}}}}}"#
        ))
    }

    fn starts(what: &str) -> Entry {
        out(&format!(
            r#"{{"type":"stream_event","event":{{"type":"{what}","index":0,"content_block":{{"type":"text"}}}}}}"#
        ))
    }

    fn says(text: &str, more: &str) -> Entry {
        out(&format!(
            r#"{{"type":"assistant"{more},"message":{{"content":[{{"type":"text","text":{text:?}}}]}}}}"#
        ))
    }

    /// Everything that a client reads, and what was asked on the way.
    fn read(mapping: &mut Mapping, entries: &[Entry]) -> String {
        let pieces = entries.iter().flat_map(|entry| mapping.take(entry));
        let text = |piece| match piece {
            Piece::Said(text) | Piece::Markup(text) => text,
            Piece::Progress(tool, seconds) => format!("[{tool} {}]", seconds.0),
            Piece::Break => String::new(),
        };
        pieces.map(text).collect()
    }

    fn whole(entries: &[Entry]) -> String {
        let mut mapping = Mapping::new(delivery(1));
        read(&mut mapping, &[&[begins(1)], entries].concat())
    }

    #[test]
    fn a_block_comes_once() {
        let streamed = [starts("message_start"), starts("content_block_start"), delta("Hel"), delta("lo")];
        assert_eq!(whole(&[&streamed[..], &[says("Hello", "")]].concat()), "Hello");
        assert_eq!(whole(&[&streamed[..], &[says("Hello there", "")]].concat()), "Hello there");
        assert_eq!(whole(&[says("No deltas", "")]), "No deltas");
        let twice = says("Once", r#","uuid":"u1""#);
        assert_eq!(whole(&[twice.clone(), twice]), "Once");
        // The answer stands on the result again; that of a slash command only there.
        let result = out(r#"{"type":"result","subtype":"success","result":"Hello"}"#);
        assert_eq!(whole(&[says("Hello", ""), result.clone()]), "Hello");
        assert_eq!(whole(&[result]), "Hello");
    }

    #[test]
    fn only_the_tasks_own_turn_is_told() {
        let mut mapping = Mapping::new(delivery(2));
        let other = [begins(1), says("other", ""), settles()];
        assert_eq!(read(&mut mapping, &other), "");
        assert_eq!(read(&mut mapping, &[begins(2), says("own", ""), settles(), says("late", "")]), "own");
        // The next turn is somebody else's, unless ostler goes on with ours in it.
        assert_eq!(mapping.asks_about(&begins(3)), Some(delivery(3)));
        mapping.goes_on(delivery(3), Some(delivery(1)));
        assert_eq!(read(&mut mapping, &[begins(3), says("no", ""), settles()]), "");
        mapping.goes_on(delivery(4), Some(delivery(2)));
        assert_eq!(mapping.asks_about(&begins(4)), None);
        assert_eq!(read(&mut mapping, &[begins(4), says("yes", "")]), "yes");
        // Who speaks into our turn is told in it.
        assert_eq!(mapping.asks_about(&begins(5)), None);
        assert_eq!(read(&mut mapping, &[begins(5), says(" still", "")]), " still");
    }

    #[test]
    fn subagents_and_replays_say_nothing() {
        let lane = r#","parent_tool_use_id":"toolu_1""#;
        let replay = r#"{"type":"user","isReplay":true,"message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}}"#;
        assert_eq!(whole(&[says("agent", lane), out(replay), out("noise"), out("{}")]), "");
    }

    #[test]
    fn tools_stand_between() {
        let call = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t\"1","name":"Bash","input":{"a":"<b>&"}}]}}"#;
        let result = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"1 < 2"}]}}"#;
        let progress =
            r#"{"type":"tool_progress","tool_use_id":"t1","tool_name":"Bash","elapsed_time_seconds":3}"#;
        assert_eq!(
            whole(&[out(call), out(progress), out(result)]),
            "\n<tool_use name=\"Bash\" id=\"t&quot;1\">{\"a\":\"&lt;b&gt;&amp;\"}</tool_use>\n[Bash 3]\
             \n<tool_result id=\"t1\" is_error=\"true\">1 &lt; 2</tool_result>\n"
        );
        let long = "x".repeat(5000);
        let result = format!(
            r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"t1","content":"{long}"}}]}}}}"#
        );
        assert!(whole(&[out(&result)]).starts_with("\n<tool_result id=\"t1\" length=\"5000\">xxx"));
    }
}
