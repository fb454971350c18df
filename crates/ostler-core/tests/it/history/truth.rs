//! What really happened in a history, whatever ostler thinks: kept by the simulated child.

use ostler_core::rows::Tokens;
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

/// Tokens and dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Amount {
    pub(super) tokens: Tokens,
    pub(super) usd: f64,
}

impl Amount {
    pub(super) fn add(&mut self, other: Self) {
        self.tokens = self.tokens.plus(other.tokens);
        self.usd += other.usd;
    }

    /// Dollars are multiples of a power of two, so that sums are exact.
    pub(super) fn of(tokens: Tokens) -> Self {
        let weight = tokens.input * 8
            + tokens.output * 40
            + tokens.cache_read
            + tokens.cache_write_5m * 10
            + tokens.cache_write_1h * 16;
        Self { tokens, usd: weight as f64 / 1_048_576.0 }
    }
}

/// Amounts by model.
pub(super) type Totals = BTreeMap<&'static str, Amount>;

/// How a run of a message ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Open,
    Success,
    Failed,
    Aborted,
    /// Its process died.
    Cut,
}

/// One run of a message: the model was asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) generation: u32,
    pub(super) end: End,
    /// An interrupt or a stop was under way when it was cut.
    pub(super) unwanted: bool,
}

/// What the generations of a conversation leave behind for the next ones.
#[derive(Clone, Debug, Default)]
pub(super) struct Transcript {
    /// Messages that it has, and whether anything of the model stands behind them.
    pub(super) messages: BTreeMap<Uuid, bool>,
    /// The last `cost-state` row.
    pub(super) cost: Totals,
}

/// Everything that is known for certain.
#[derive(Clone, Debug, Default)]
pub(super) struct Truth {
    pub(super) runs: BTreeMap<Uuid, Vec<Run>>,
    /// What each generation really used.
    pub(super) bills: BTreeMap<(u32, &'static str), Amount>,
    /// Generations whose bill can't be known to the last token: killed, or left out of the totals.
    pub(super) vague: BTreeSet<u32>,
    pub(super) transcripts: BTreeMap<Uuid, Transcript>,
    pub(super) conversation: Uuid,
    /// Messages whose successful result stands complete in `out`.
    pub(super) answered: BTreeSet<Uuid>,
    /// Messages whose failed result does.
    pub(super) failed: BTreeSet<Uuid>,
    /// Messages that were taken back or thrown away by the child.
    pub(super) dropped: BTreeSet<Uuid>,
    /// Messages that the child gave back when it was asked to.
    pub(super) given_back: BTreeSet<Uuid>,
    pub(super) results: BTreeMap<u32, u32>,
}

impl Truth {
    pub(super) fn run(&mut self, message: Uuid, generation: u32) {
        self.runs.entry(message).or_default().push(Run { generation, end: End::Open, unwanted: false });
        self.transcript().messages.entry(message).or_insert(false);
    }

    pub(super) fn run_ended(&mut self, message: Uuid, generation: u32, end: End) {
        let runs = self.runs.entry(message).or_default();
        if let Some(run) = runs.iter_mut().rev().find(|r| r.generation == generation && r.end == End::Open) {
            run.end = end;
        }
    }

    pub(super) fn transcript(&mut self) -> &mut Transcript {
        self.transcripts.entry(self.conversation).or_default()
    }
}
