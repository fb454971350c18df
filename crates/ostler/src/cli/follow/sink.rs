//! Entries of the journal become text for people, events for programs, or nothing.

use super::screen::Screen;
use super::{Answer, Goal};
use crate::cli::face::{Face, now};
use crate::cli::found;
use crate::failure::Failure;
use crate::json::JournalEvent;
use crate::view::{self, Look, Style, View};
use claude_wire::{Message, Request, ResultLine};
use ostler_controller::client::Ostler;
use ostler_core::ctl::{Event, Line};
use ostler_core::ids::{DeliveryId, Millis};
use ostler_store::Entry;
use std::collections::BTreeSet;

/// Where entries go.
pub(super) struct Sink {
    form: Form,
    own: Option<DeliveryId>,
    /// The own delivery was written to a child.
    own_written: bool,
    /// Questions of the child that have no answer yet, as far as the journal says.
    questions: BTreeSet<String>,
    answer: Option<Answer>,
}

enum Form {
    People(Box<People>),
    Events,
    Nothing,
}

struct People {
    view: View,
    screen: Screen,
    look: Look,
    live: bool,
    /// When the running turn began.
    since: Option<Millis>,
}

/// Drawn one after the other while something runs.
const FRAMES: [&str; 8] = ["⠋", "⠙", "⠸", "⠴", "⠦", "⠇", "⠏", "⠹"];
/// Milliseconds for each.
const FRAME: i64 = 120;

impl Sink {
    pub(super) fn new(face: &Face, goal: &Goal) -> Self {
        let form = if face.json {
            Form::Events
        } else if face.quiet {
            Form::Nothing
        } else {
            let look = Look { paint: face.paint, columns: face.columns(), detail: goal.detail };
            let mut view = View::new(look);
            if let Some(own) = goal.own {
                view = view.without_prompt(own);
            }
            let live = face.is_live();
            Form::People(Box::new(People { view, screen: Screen::default(), look, live, since: None }))
        };
        Self { form, own: goal.own, own_written: false, questions: BTreeSet::new(), answer: None }
    }

    /// Takes an entry. Events are printed at once, text at the next [`Self::flush`].
    pub(super) fn entry(&mut self, face: &mut Face, ostler: &Ostler, entry: &Entry) -> Result<(), Failure> {
        self.note(entry);
        match &mut self.form {
            Form::Events => face.event(&JournalEvent::of(entry))?,
            Form::People(people) => {
                people.note(entry);
                people.view.entry(entry, &|delivery| found::said(ostler, delivery));
            }
            Form::Nothing => {}
        }
        Ok(())
    }

    fn note(&mut self, entry: &Entry) {
        match entry {
            Entry::Generation { .. } => self.questions.clear(),
            Entry::Ctl { row, .. } => match &row.ev {
                Event::Begin { line: Line::User { delivery }, .. } if self.own == Some(*delivery) => {
                    self.own_written = true;
                }
                Event::Begin { line: Line::Answer { request_id }, .. }
                | Event::Decided { request_id, .. } => {
                    self.questions.remove(request_id);
                }
                Event::Dead { .. } => self.questions.clear(),
                _ => {}
            },
            Entry::Out { bytes, .. } => match Message::parse(bytes).0 {
                Message::ControlRequest(ask) if is_question(&ask.request) => {
                    self.questions.insert(ask.request_id);
                }
                Message::ControlCancel(cancel) => {
                    self.questions.remove(&cancel.request_id);
                }
                Message::Result(line) => {
                    self.questions.clear();
                    self.note_result(&line);
                }
                _ => {}
            },
            _ => {}
        }
    }

    /// The answer is the result that names the delivery; a CLI that names none gives it with the first one after the
    /// delivery was written.
    fn note_result(&mut self, line: &ResultLine) {
        let Some(own) = self.own.filter(|_| self.answer.is_none() && self.own_written) else { return };
        let names = &line.user_message_uuids;
        if !names.is_empty() && !names.contains(&own.to_string()) {
            return;
        }
        let interrupted = line.terminal_reason.as_deref().is_some_and(|r| r.starts_with("aborted"));
        let failed = !interrupted && (line.is_error || line.subtype != "success");
        let kind = match line.subtype.as_str() {
            "success" => line.terminal_reason.clone().unwrap_or_else(|| "api_error".to_owned()),
            "error_max_budget_usd" => "max_budget".to_owned(),
            other => other.trim_start_matches("error_").to_owned(),
        };
        self.answer = Some(Answer {
            text: line.result.clone(),
            failure: failed.then_some(kind),
            interrupted,
            denials: u32::try_from(line.permission_denials.len()).unwrap_or(u32::MAX),
            rounds: line.num_turns.and_then(|n| u32::try_from(n).ok()),
            ms: line.duration_ms,
        });
    }

    /// The own delivery's answer, once.
    pub(super) fn answer(&mut self) -> Option<Answer> {
        self.answer.take()
    }

    pub(super) fn has_questions(&self) -> bool {
        !self.questions.is_empty()
    }

    pub(super) fn set_columns(&mut self, columns: usize) {
        if let Form::People(people) = &mut self.form {
            people.look.columns = columns;
            people.view.set_columns(columns);
        }
    }

    /// Something that a person should know now: in the view where there is one, else on standard error.
    pub(super) fn remark(&mut self, face: &Face, text: &str) {
        match &mut self.form {
            Form::People(people) if people.live => people.view.say(Style::Warn, text),
            _ => face.remark(text),
        }
    }

    /// Writes what there is; `prompt` is what a person is asked right now.
    pub(super) fn flush(&mut self, face: &Face, prompt: Option<&str>) -> Result<(), Failure> {
        match &mut self.form {
            Form::People(people) => people.flush(face, prompt),
            Form::Events | Form::Nothing => Ok(()),
        }
    }

    /// Ends the last line and takes the status line away.
    pub(super) fn close(&mut self, face: &Face) -> Result<(), Failure> {
        match &mut self.form {
            Form::People(people) => {
                people.view.end_line();
                let text = people.view.take();
                people.screen.put(face, &text, None)
            }
            Form::Events | Form::Nothing => Ok(()),
        }
    }
}

impl People {
    fn note(&mut self, entry: &Entry) {
        if let Entry::Ctl { row, .. } = entry {
            match row.ev {
                Event::Spawn { .. } | Event::Begin { line: Line::User { .. }, .. }
                    if self.since.is_none() =>
                {
                    self.since = Some(row.at);
                }
                Event::Settled { .. } | Event::Dead { .. } => self.since = None,
                _ => {}
            }
        }
    }

    fn flush(&mut self, face: &Face, prompt: Option<&str>) -> Result<(), Failure> {
        if prompt.is_some() {
            self.view.end_line();
        }
        let text = self.view.take();
        let status = match prompt {
            Some(prompt) => {
                Some(self.look.paint.apply(Style::Bold, &view::clip(prompt, self.look.columns - 1)))
            }
            None => self.status(),
        };
        self.screen.put(face, &text, status.filter(|_| self.live && self.view.at_line_start()))
    }

    fn status(&self) -> Option<String> {
        let since = self.since?;
        let ms = now().since(since).max(0);
        let frame = FRAMES[usize::try_from(ms / FRAME).unwrap_or(0) % FRAMES.len()];
        let mut text = format!("{frame} {}", self.view.tally().activity());
        // Tenths would make it restless.
        let seconds = u64::try_from(ms / 1000).unwrap_or(0);
        if seconds > 0 {
            let elapsed = if seconds < 10 { format!("{seconds} s") } else { view::duration(seconds * 1000) };
            text.push_str(&format!(" · {elapsed}"));
        }
        if let Some(tokens) = self.view.tally().tokens() {
            text.push_str(&format!(" · {tokens}"));
        }
        Some(self.look.paint.apply(Style::Dim, &view::clip(&text, self.look.columns.saturating_sub(1))))
    }
}

/// What a face may be asked to answer.
fn is_question(request: &Request) -> bool {
    matches!(request, Request::CanUseTool(_) | Request::Elicitation(_) | Request::HookCallback(_))
}
