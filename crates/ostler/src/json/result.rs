//! How a turn ended: `wait`, `send --wait`, and the last event of `run`, `send --watch`.

use super::event::word_of;
use crate::exit::Exit;
use ostler_controller::client::Summary;
use ostler_core::ids::SessionId;
use ostler_core::rows;
use serde::Serialize;

#[derive(Debug, Serialize)]
pub(crate) struct ResultDocument {
    session: String,
    label: Option<String>,
    state: &'static str,
    reason: Option<String>,
    outcome: Option<String>,
    failure: Option<String>,
    message: Option<String>,
    turn: Option<u32>,
    turns: u32,
    rounds: Option<u32>,
    denials: Option<u32>,
    killed_tasks: Option<u32>,
    unclean: Option<bool>,
    garbled: Option<bool>,
    answer: Option<String>,
    tokens: Tokens,
    usd: Option<f64>,
    turn_usd: Option<f64>,
    cache: Option<super::CacheBody>,
    go_on: String,
    exit: u8,
}

/// Tokens by price class.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Tokens {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write_5m: u64,
    cache_write_1h: u64,
}

impl From<rows::Tokens> for Tokens {
    fn from(t: rows::Tokens) -> Self {
        Self {
            input: t.input,
            output: t.output,
            cache_read: t.cache_read,
            cache_write_5m: t.cache_write_5m,
            cache_write_1h: t.cache_write_1h,
        }
    }
}

/// The same as an event.
#[derive(Debug, Serialize)]
pub(crate) struct ResultEvent {
    event: &'static str,
    result: ResultDocument,
}

impl ResultEvent {
    pub(crate) const fn of(result: ResultDocument) -> Self {
        Self { event: "result", result }
    }
}

/// What a document says beside the summary.
#[derive(Debug)]
pub(crate) struct Ending<'a> {
    /// `settled`, `answered`, `parked`, `running`.
    pub(crate) state: &'static str,
    /// Why it is parked.
    pub(crate) reason: Option<&'a str>,
    /// The answer.
    pub(crate) answer: Option<String>,
    /// The command with which it goes on.
    pub(crate) go_on: String,
    /// The exit status of the command.
    pub(crate) exit: Exit,
}

impl ResultDocument {
    pub(crate) fn of(session: SessionId, label: Option<&str>, summary: &Summary, ending: Ending<'_>) -> Self {
        let turn = summary.turn.as_ref();
        Self {
            session: session.to_string(),
            label: label.map(str::to_owned),
            state: ending.state,
            reason: ending.reason.map(str::to_owned),
            outcome: summary.outcome.as_ref().and_then(word_of),
            failure: turn.and_then(|t| t.failure.clone()),
            message: turn.and_then(|t| t.message.clone()),
            turn: turn.map(|t| t.no),
            turns: summary.turns,
            rounds: turn.map(|t| t.rounds),
            denials: turn.map(|t| t.denials),
            killed_tasks: turn.map(|t| t.killed_tasks),
            unclean: turn.map(|t| t.unclean),
            garbled: turn.map(|t| t.garbled),
            answer: ending.answer,
            tokens: summary.tokens.into(),
            // An empty sum of floats is -0.
            usd: summary.usd.map(|usd| usd + 0.0),
            turn_usd: summary.turn_usd.map(|usd| usd + 0.0),
            cache: summary.cache.map(Into::into),
            go_on: ending.go_on,
            exit: ending.exit.code(),
        }
    }
}
