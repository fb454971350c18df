//! Scripts of fake children: the parsed form. `docs/fake-claude.md` describes the text.

mod parse;
mod text;
mod words;

use std::time::Duration;

use serde_json::{Map, Value};
use thiserror::Error;

use super::habits::{DEFAULT_VERSION, Habits};

/// Largest script, in bytes.
pub(super) const MAX_SCRIPT: usize = 1 << 20;

/// What a fake child does.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FakeScript {
    pub(super) version: Option<String>,
    pub(super) habits: Vec<(String, bool)>,
    pub(super) ignores: Vec<Ignored>,
    /// Fields that replace those of `init`.
    pub(super) init: Map<String, Value>,
    /// Environment variables that make it refuse to start.
    pub(super) forbidden: Vec<String>,
    /// Before anything is read.
    pub(super) start: Vec<Step>,
    pub(super) turns: Vec<Turn>,
    /// Before it exits by itself.
    pub(super) exit: Vec<Step>,
}

impl FakeScript {
    /// Parses a script; the error names the line.
    pub fn parse(text: &str) -> Result<Self, FakeScriptError> {
        parse::parse(text)
    }

    pub(super) fn habits(&self) -> Habits {
        let mut habits = Habits::of(self.version.as_deref().unwrap_or(DEFAULT_VERSION));
        for (name, on) in &self.habits {
            // The parser has refused unknown names.
            habits.set(name, *on);
        }
        habits
    }

    pub(super) fn ignores(&self, what: Ignored) -> bool {
        self.ignores.contains(&what)
    }
}

/// What is wrong with a script.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("script line {line}: {what}")]
pub struct FakeScriptError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong there and what to write instead.
    pub what: String,
}

/// What the child takes no notice of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ignored {
    Initialize,
    Interrupt,
    EndSession,
    /// Every control request.
    Control,
    Eof,
    Sigterm,
    Sigint,
    /// Answers `end_session`, and stays.
    Leave,
}

/// The steps of a turn and what it is for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Turn {
    pub(super) when: When,
    pub(super) steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum When {
    /// The next prompt that no other turn wants; used once.
    Next,
    /// Every prompt that contains this.
    Contains(String),
    /// Every prompt that nothing else wants.
    Otherwise,
    /// A turn that a background task wakes, that task or any.
    Wake(Option<String>),
}

/// One thing that happens in a turn, or at the start or exit.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    Say(Vec<Piece>),
    Think(String),
    Tool(Tool),
    /// What follows is another message of the model.
    Then,
    Background(Background),
    /// A line with the fields that every line has.
    Line(Map<String, Value>),
    Bytes(Vec<u8>),
    /// A valid line of so many bytes.
    Huge {
        bytes: usize,
        seed: u64,
    },
    /// A known stream of every kind of line, good and bad.
    Flood {
        bytes: usize,
        seed: u64,
    },
    Stderr(Vec<u8>),
    StderrFlood(usize),
    Wait(Pause),
    Mark(String),
    /// Nothing more happens in this turn, and nothing stops it but an interrupt or `end_session`.
    Silence,
    /// stdin is not read until the gate opens.
    Deaf(String),
    Cost(f64),
    Usage(Usage),
    /// Ends the turn with this result.
    End(Ending),
    Receipts(Receipts),
    Exit(i32),
    /// Ends itself with that signal.
    Kill(String),
    Spawn {
        how: Ties,
        command: String,
    },
}

/// A part of a text that streams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    Pause(Pause),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pause {
    Gate(String),
    For(Duration),
}

/// A tool call of the model.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tool {
    pub(super) name: String,
    pub(super) input: Value,
    /// The permission that it needs; `None`: none.
    pub(super) asks: bool,
    /// The child's request is of another kind: subtype and body.
    pub(super) request: Option<Map<String, Value>>,
    pub(super) waits: Vec<Pause>,
    pub(super) outcome: Result<String, String>,
    /// Withdraws its question when this gate opens.
    pub(super) withdrawn: Option<String>,
}

/// A task that goes on behind the turn.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Background {
    pub(super) name: String,
    pub(super) agent: bool,
    /// What an agent says before it ends.
    pub(super) says: Option<String>,
    pub(super) what: String,
    pub(super) waits: Option<Pause>,
    /// Between its last line and the turn that it wakes.
    pub(super) lag: Option<Pause>,
    pub(super) wakes: bool,
    pub(super) status: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Usage {
    pub(super) input: Option<u64>,
    pub(super) output: Option<u64>,
    pub(super) cache_read: Option<u64>,
    pub(super) cache_write_5m: Option<u64>,
    pub(super) cache_write_1h: Option<u64>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Ending {
    Result {
        kind: ResultKind,
        fields: Map<String, Value>,
    },
    /// No `result` line at all.
    Nothing,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ResultKind {
    Success,
    /// An API failure with that status and text: success-shaped, `is_error`.
    Api(u16, String),
    MaxTurns,
    Budget,
    /// `error_during_execution` without an interrupt.
    Execution,
}

/// How a turn's receipts come.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Receipts {
    #[default]
    Normal,
    /// The last ones only when the gate opens.
    Late(String),
    Never,
    /// Each line of the turn's end twice, with the same uuid.
    Twice,
}

/// What still ties a process to the child that starts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ties {
    /// Same process group.
    Group,
    /// Its own process group.
    OwnGroup,
    /// Its own session.
    Session,
    /// Its own session, an empty environment, and init (or a subreaper) for a parent.
    Orphan,
    /// Its own session; and it holds stdout open.
    Stdout,
}
