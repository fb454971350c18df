//! Scripts: what the lab answers. The format is described in `docs/lab.md`.
//!
//! A script is rules in order. A rule has conditions and *rounds*: the first round answers the prompt, the next one
//! answers the tool results, and so on. A round has *attempts*: what the first request for that place gets, what its
//! retry gets. This module holds the parsed form and knows nothing of HTTP.

mod duration;
pub(crate) mod fill;
mod glob;
mod lines;
mod parse;
pub(crate) mod pick;
mod steps;
mod when;

use std::fmt;
use std::time::Duration;

use serde_json::Value;
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::price::bill::Lane;
use glob::Glob;

/// Largest script, in bytes.
pub const MAX_SCRIPT: usize = 1 << 20;

/// A parsed script; equal texts are equal scripts.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    text: String,
    reference: ScriptRef,
    pub(crate) models: Vec<Glob>,
    pub(crate) pace: Duration,
    pub(crate) rules: Vec<Rule>,
}

impl Script {
    /// Parses a script; the error names the line and says what to write instead.
    pub fn parse(text: &str) -> Result<Script, ScriptError> {
        let parsed = parse::parse(text)?;
        Ok(Script {
            text: text.to_owned(),
            reference: ScriptRef::of(text),
            models: parsed.models,
            pace: parsed.pace,
            rules: parsed.rules,
        })
    }

    /// The script that serves when nobody gave one: it greets, says something sensible to anything, thinks when the
    /// prompt asks it to think, and makes a Bash call of a prompt that begins with `run`.
    pub fn builtin() -> Script {
        Script::parse(include_str!("script/builtin.lab"))
            .expect("the built-in script parses; a test holds it")
    }

    /// The text that was parsed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The name of the script in addresses and in the state folder: a hash of its text.
    pub fn reference(&self) -> ScriptRef {
        self.reference.clone()
    }

    /// Whether this script lets the model run. A script without `models` lets every listed model run.
    pub(crate) fn allows(&self, model: &str) -> bool {
        self.models.is_empty() || self.models.iter().any(|glob| glob.matches(model))
    }
}

/// A script's name: the first 32 hexadecimal digits of the SHA-256 of its text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScriptRef(String);

impl ScriptRef {
    fn of(text: &str) -> ScriptRef {
        let digest = Sha256::digest(text.as_bytes());
        ScriptRef(digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reads a name; anything but 32 lower-case hexadecimal digits is refused.
    pub fn parse(text: &str) -> Option<ScriptRef> {
        let digits = text.len() == 32 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        digits.then(|| ScriptRef(text.to_owned()))
    }
}

impl fmt::Display for ScriptRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What is wrong with a script.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("script line {line}: {what}; {hint}")]
pub struct ScriptError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong there.
    pub what: String,
    /// What to write instead.
    pub hint: String,
}

impl ScriptError {
    pub(crate) fn new(line: usize, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { line, what: what.into(), hint: hint.into() }
    }
}

/// `when …` or `otherwise`, with everything that follows up to the next one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rule {
    pub(crate) line: usize,
    pub(crate) when: Vec<Condition>,
    pub(crate) rounds: Vec<Round>,
}

/// One thing that a request must satisfy.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Condition {
    /// The text contains this, whatever the case of ASCII letters.
    Contains(String),
    /// The text is this.
    Is(String),
    /// The whole text matches; `*` captures.
    Like(Glob),
    /// The conversation's nth prompt, in the main lane.
    Turn(usize),
    Lane(Lane),
    /// A turn that no prompt started: a background task ended.
    Notice,
    Model(Glob),
    /// The system prompt contains this.
    System(String),
}

/// What answers one place of a turn: at least one attempt.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Round {
    pub(crate) attempts: Vec<Reply>,
    /// Serves every later round of the turn too.
    pub(crate) repeat: bool,
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Reply {
    pub(crate) line: usize,
    /// How many requests it serves before the next attempt; the last attempt has none.
    pub(crate) times: Option<u64>,
    /// Before the first byte.
    pub(crate) hold: Option<Hold>,
    pub(crate) status: Option<Status>,
    pub(crate) headers: Vec<(String, HeaderValue)>,
    pub(crate) usage: Usage,
    pub(crate) stop: Option<String>,
    pub(crate) pace: Option<Duration>,
    pub(crate) steps: Vec<Step>,
}

/// What happens inside the stream, in order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    Say(String),
    Think(String),
    Tool {
        name: String,
        input: Value,
    },
    Pause(Hold),
    /// The connection breaks here.
    Cut,
    /// Bytes that are no event.
    Garble(String),
    /// An event as written.
    Event {
        name: String,
        data: Value,
    },
}

/// How long something waits.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Hold {
    For(Duration),
    /// Until somebody opens the gate.
    Gate(String),
    /// Until the client goes away.
    Forever,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Status {
    pub(crate) code: u16,
    pub(crate) kind: Option<String>,
    pub(crate) message: Option<String>,
    pub(crate) retry_after: Option<u64>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum HeaderValue {
    Text(String),
    /// The time so far ahead, in seconds since the Unix epoch.
    In(Duration),
}

/// Numbers that stand in place of the counted ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Usage {
    pub(crate) input: Option<u64>,
    pub(crate) output: Option<u64>,
    pub(crate) cache_read: Option<u64>,
    pub(crate) cache_write_5m: Option<u64>,
    pub(crate) cache_write_1h: Option<u64>,
}
