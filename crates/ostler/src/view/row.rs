//! What a row of ours shows.

use super::closing::cache_line;
use super::page::Part;
use super::{Detail, Style, Texts, View, one_line};
use ostler_core::ctl::{Deadline, Event, Exit, KillReason, Line, Row};
use ostler_core::ids::{DeliveryId, GenerationNo};
use ostler_core::rows::{CacheSeen, CacheVerdict};
use std::collections::BTreeSet;

/// What rows said before.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// A turn runs that had a delivery: the next one is a steer.
    turn_open: bool,
    /// Deliveries that were shown; a repeated write is no second message.
    shown: BTreeSet<DeliveryId>,
    /// A kill of ours was announced, so the signal is no surprise.
    killed: bool,
    /// Teardown was asked for.
    ending: bool,
}

impl View {
    pub(super) fn generation(&mut self, no: GenerationNo) {
        self.row = Memory { shown: std::mem::take(&mut self.row.shown), ..Memory::default() };
        self.line.failed = false;
        self.speech.end();
        self.forget_calls();
        if self.look.detail == Detail::Session && no > 1 {
            self.note(&format!("generation {no}"));
        }
    }

    pub(super) fn row(&mut self, _no: GenerationNo, row: &Row, texts: &Texts<'_>) {
        match &row.ev {
            Event::Begin { line, .. } => self.begun(line, texts),
            Event::Decided { request_id, decision, by, message, .. } => {
                self.tally.answered(request_id);
                self.decided(request_id, *decision, by, message.as_deref());
            }
            Event::Adopted { .. } => self.quiet("a new controller took over"),
            Event::Expired { deadline } => self.expired(*deadline),
            Event::Ending { .. } => self.row.ending = true,
            Event::Kill { why } => self.kill(*why),
            Event::Dead { exit, proven, killed, said } => self.dead(*exit, *proven, *killed, said.as_deref()),
            Event::Settled { turn, gave_up_tasks } => {
                self.row.turn_open = false;
                self.tally.settled();
                self.quiet(&format!("turn {turn} has settled"));
                if *gave_up_tasks > 0 {
                    self.warn(&format!("{gave_up_tasks} background tasks were given up"));
                }
            }
            Event::TurnBegan { .. } => self.quiet("the model goes on by itself"),
            Event::Cancelled { .. } => self.quiet("a message that waited was taken back"),
            Event::Parked { reason, .. } => self.bad(&format!("parked: {}", one_line(reason))),
            Event::Slow { silent } => {
                self.warn(&format!("claude has said nothing for {} s", silent / 1000));
            }
            Event::Foreign { .. } => {
                self.warn("somebody else has written to this conversation since the last turn");
            }
            Event::Declared { declaration, note, .. } => {
                let note = note.as_deref().map(|n| format!(": {}", one_line(n))).unwrap_or_default();
                self.note(&format!("declared {}{note}", declaration.word()));
            }
            Event::Closed => self.quiet("closed; what waited was taken back"),
            Event::Note { text } => self.quiet(&one_line(text)),
            Event::Cache { seen } => self.cache(*seen),
            Event::Forks { .. } => self.quiet("it begins as a copy of another conversation"),
            Event::Spawn { .. } => self.tally.starting(),
            Event::Exhausted { .. } => {
                self.warn("ostler has answered five questions of this turn itself; this one waits for you");
            }
            Event::Child { .. } | Event::Done { .. } | Event::Asked { .. } | Event::Unknown => {}
        }
    }

    fn cache(&mut self, seen: CacheSeen) {
        let text = format!("prompt cache {}", cache_line(seen));
        if seen.verdict() == CacheVerdict::Hit { self.quiet(&text) } else { self.warn(&text) }
    }

    /// For whoever looks on, not for whoever waits for one turn.
    fn quiet(&mut self, text: &str) {
        if self.look.detail == Detail::Session {
            self.note(text);
        }
    }

    fn begun(&mut self, line: &Line, texts: &Texts<'_>) {
        match line {
            Line::User { delivery } => {
                let steers = std::mem::replace(&mut self.row.turn_open, true);
                if self.row.shown.insert(*delivery) && self.own != Some(*delivery) {
                    self.prompt(*delivery, steers, texts);
                }
            }
            Line::Request { subtype, .. } if subtype == "interrupt" => self.quiet("interrupting"),
            _ => {}
        }
    }

    fn prompt(&mut self, delivery: DeliveryId, steers: bool, texts: &Texts<'_>) {
        let text = texts(delivery).unwrap_or_else(|| "a message".to_owned());
        let text = self.fit(&text, 14);
        let how = if steers { "» (steered) " } else { "» " };
        self.page.line(Part::Notice, &[(Style::Bold, how), (Style::Bold, &text)]);
        self.interrupt_call();
    }

    fn expired(&mut self, deadline: Deadline) {
        match deadline {
            Deadline::Start => self.warn("claude gave no sign of life in time"),
            Deadline::Shells => self.warn("a background shell outlived its limit"),
            Deadline::Agents => self.warn("a background agent outlived its limit"),
            Deadline::Interrupt => self.warn("the interrupt was not confirmed in time"),
            Deadline::End => self.warn("claude did not leave in time"),
            Deadline::Write => self.warn("claude did not read its input in time"),
            Deadline::Answer => self.warn("claude does not answer any more"),
            Deadline::Stalled => self.warn("claude says nothing any more; it is interrupted"),
            Deadline::Compaction => self.warn("the compaction takes too long; it is interrupted"),
            Deadline::WakeWait => {
                self.warn("the old claude does not leave; it is ended for the next message")
            }
            Deadline::Notification | Deadline::Quiet => {}
        }
    }

    fn kill(&mut self, why: KillReason) {
        self.row.killed = true;
        match why {
            KillReason::SpoiledPipe => self.warn("a message was written in part; the child is replaced"),
            KillReason::DiskFull => self.bad("the disk is full"),
            KillReason::EndDeadline | KillReason::StartDeadline | KillReason::Deaf | KillReason::Stalled => {
                self.warn("the child is killed");
            }
            KillReason::Leftovers => {}
        }
    }

    fn dead(&mut self, exit: Exit, proven: bool, killed: u32, said: Option<&str>) {
        let expected = self.row.killed || (self.row.ending && matches!(exit, Exit::Code(0 | 1)));
        match exit {
            Exit::Code(0) | Exit::Unknown => {}
            _ if expected || self.line.failed => {}
            Exit::Code(code) => self.bad(&format!("claude ended with exit status {code}")),
            Exit::Signal(signal) => self.bad(&format!("claude was ended by signal {signal}")),
            Exit::NotStarted => self.bad("claude could not be started"),
        }
        if let Some(said) = said.map(str::trim).filter(|s| !s.is_empty()) {
            for line in last_lines(said) {
                let line = self.fit(line, 4);
                self.page.line(Part::Notice, &[(Style::Dim, &format!("    {line}"))]);
            }
        }
        if killed > 0 {
            let what = if killed == 1 { "process that it left was" } else { "processes that it left were" };
            self.quiet(&format!("{killed} {what} killed"));
        }
        if !proven {
            self.warn("not proven that all of its processes are gone");
        }
        self.speech.end();
        self.forget_calls();
        self.forget_questions();
        self.tally.ended();
    }
}

/// The last words, eight lines of them.
fn last_lines(said: &str) -> Vec<&str> {
    let lines: Vec<&str> = said.lines().filter(|l| !l.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(8)..].to_vec()
}
