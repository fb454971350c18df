//! Questions of the child: put to the person at the terminal, or denied where nobody can be asked.
//!
//! The store is what counts: a question is asked while its row is open, and the prompt goes away when somebody else was
//! first.

use crate::cli::face::now;
use crate::cli::question;
use crate::failure::{Failure, Kind};
use crate::view::one_line;
use ostler_controller::client::{Choice, ClientError, Decider, Ostler, Question, Verdict};
use ostler_core::ids::{GenerationNo, SessionId};
use ostler_core::machine::BY_PIPE;
use ostler_core::question::Answers;
use ostler_os::poll::{Pollable, Source};
use ostler_os::term::{Key, RawMode};
use ostler_store::db::PermissionRow;
use std::time::Instant;

/// Who answers questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Asking {
    /// The person at this terminal.
    Person,
    /// Nobody is there: no.
    Deny,
    /// Not we: a policy, or somebody else.
    Others,
}

/// What a child is told when nobody can be asked.
const NOBODY: &str = "Nobody can be asked: this run has no terminal. Do without it.";

/// The one who asks.
pub(super) struct Asker {
    asking: Asking,
    open: Option<Open>,
}

/// A question that a person looks at.
struct Open {
    name: (GenerationNo, String),
    keys: RawMode,
    question: Question,
    step: Step,
}

/// What is expected from the person.
enum Step {
    /// A letter.
    YesNo,
    /// The reason for a no, as far as it is typed.
    Reason(String),
    /// The answer to the question with this number, as far as it is typed.
    Words { at: usize, text: String, answers: Answers },
}

impl Open {
    fn new(row: &PermissionRow, question: Question, keys: RawMode) -> Self {
        let mut open = Self { name: name(row), keys, question, step: Step::YesNo };
        open.begin();
        open
    }

    fn begin(&mut self) {
        self.step = match self.question.questions.is_empty() {
            true => Step::YesNo,
            false => Step::Words { at: 0, text: String::new(), answers: Answers::new() },
        };
    }

    fn may_remember(&self) -> bool {
        let none = |s: &&str| matches!(s.trim(), "null" | "[]");
        self.question.suggestions.as_ref().map(|s| s.get()).filter(|s| !none(s)).is_some()
    }

    fn key(&mut self, key: Key) -> Option<Choice> {
        let always = self.may_remember();
        match (&mut self.step, key) {
            (Step::YesNo, Key::Char('y' | 'Y')) => return Some(Choice::allow()),
            (Step::YesNo, Key::Char('a' | 'A')) if always => {
                return Some(Choice::Allow { input: None, always: true });
            }
            (Step::YesNo, Key::Char('n' | 'N')) => self.step = Step::Reason(String::new()),
            (Step::Reason(reason), Key::Enter) => {
                let reason = reason.trim().to_owned();
                return Some(Choice::deny((!reason.is_empty()).then_some(reason)));
            }
            (Step::Reason(_), Key::Escape) => self.begin(),
            (Step::Words { .. }, Key::Escape) => self.step = Step::Reason(String::new()),
            (Step::Words { at, text, answers }, Key::Enter) => {
                let ask = self.question.questions.get(*at).filter(|_| !text.trim().is_empty())?;
                let said: Vec<String> = match ask.multi {
                    true => text.split(',').map(|t| t.trim().to_owned()).filter(|t| !t.is_empty()).collect(),
                    false => vec![text.trim().to_owned()],
                };
                answers.insert((*at + 1).to_string(), said);
                text.clear();
                *at += 1;
                if *at == self.question.questions.len() {
                    return Some(Choice::Answer(std::mem::take(answers)));
                }
            }
            (Step::Reason(text) | Step::Words { text, .. }, Key::Char(c)) => text.push(c),
            (Step::Reason(text) | Step::Words { text, .. }, Key::Backspace) => drop(text.pop()),
            (Step::Reason(text) | Step::Words { text, .. }, Key::Control('u')) => text.clear(),
            _ => {}
        }
        None
    }

    fn prompt(&self) -> String {
        match &self.step {
            Step::YesNo if self.may_remember() => "  y: yes · a: yes, always · n: no".to_owned(),
            Step::YesNo => "  y: yes · n: no".to_owned(),
            Step::Reason(reason) => format!("  no, because (Enter: no reason given): {reason}▏"),
            Step::Words { at, text, .. } => {
                let ask = self.question.questions.get(*at);
                let many = if ask.is_some_and(|a| a.multi) { "numbers with commas" } else { "a number" };
                let which = ask.filter(|_| self.question.questions.len() > 1);
                let which = which.map(|a| format!("{} · ", one_line(&a.question))).unwrap_or_default();
                format!("  {which}{many} or words (Esc: no): {text}▏")
            }
        }
    }
}

impl Asker {
    pub(super) const fn new(asking: Asking) -> Self {
        Self { asking, open: None }
    }

    /// Looks at what is open, and at the keys. Gives what is to be said.
    pub(super) fn attend(&mut self, ostler: &Ostler, session: SessionId) -> Result<Vec<String>, Failure> {
        if self.asking == Asking::Others {
            return Ok(Vec::new());
        }
        let rows = ostler.db().pending_permissions(Some(session))?;
        if self.asking == Asking::Deny {
            return rows.iter().map(|row| deny(ostler, row)).collect();
        }
        let still = |open: &Open| rows.iter().any(|row| name(row) == open.name);
        if self.open.as_ref().is_some_and(|open| !still(open)) {
            self.open = None;
        }
        let Some(row) = rows.iter().find(|row| self.open.as_ref().is_none_or(|open| name(row) == open.name))
        else {
            return Ok(Vec::new());
        };
        if self.open.is_none() {
            let keys = RawMode::enter().map_err(|e| Failure::new(Kind::Output, e))?;
            self.open = Some(Open::new(row, ostler.question(row), keys));
        }
        match self.read_keys()? {
            None => Ok(Vec::new()),
            Some(choice) => {
                self.open = None;
                settle(ostler, row, choice, "terminal").map(|said| said.into_iter().collect())
            }
        }
    }

    /// What the person sees below the question.
    pub(super) fn prompt(&self) -> Option<String> {
        self.open.as_ref().map(Open::prompt)
    }

    /// Takes the question off the screen; the terminal is as it was before.
    pub(super) fn close(&mut self) {
        self.open = None;
    }

    /// The keyboard, while somebody is asked.
    pub(super) fn keys(&self) -> Option<Source<'_>> {
        self.open.as_ref().map(|open| open.keys.source())
    }

    fn read_keys(&mut self) -> Result<Option<Choice>, Failure> {
        let Some(open) = &mut self.open else { return Ok(None) };
        let failed = |e| Failure::new(Kind::Output, e);
        while let Some(key) = open.keys.read_key(Some(Instant::now())).map_err(failed)? {
            if let Some(choice) = open.key(key) {
                return Ok(Some(choice));
            }
        }
        Ok(None)
    }
}

fn name(row: &PermissionRow) -> (GenerationNo, String) {
    (row.journal.generation, row.journal.request_id.clone())
}

fn deny(ostler: &Ostler, row: &PermissionRow) -> Result<String, Failure> {
    settle(ostler, row, Choice::deny(Some(NOBODY.to_owned())), BY_PIPE)?;
    let what = question::describe(ostler, row);
    Ok(format!(
        "denied: {what} (no terminal to ask at; --permission allow, deny, rules or ask says otherwise)"
    ))
}

/// Stores the decision. That somebody else was first is no failure, only something to say.
fn settle(ostler: &Ostler, row: &PermissionRow, choice: Choice, by: &str) -> Result<Option<String>, Failure> {
    let verdict = Verdict {
        generation: row.journal.generation,
        request_id: row.journal.request_id.clone(),
        choice,
        by: by.to_owned(),
        decider: Decider::This,
        at: now(),
    };
    match ostler.decide(row.session, &verdict) {
        Ok(()) => Ok(None),
        Err(
            error @ (ClientError::Lost { .. }
            | ClientError::Withdrawn
            | ClientError::NoQuestion
            | ClientError::Answer(_)),
        ) => Ok(Some(format!("! {error}"))),
        Err(error) => Err(error.into()),
    }
}
