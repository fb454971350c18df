//! What the running generation spends: own spend = total − restored total.
//!
//! A child reports cumulative totals per model on every `result`. A process that was started on a conversation with a
//! `cost-state` row in its transcript restores that total first (CLI 2.1.277 and later, protocol page "Cost and
//! cache"); an older one starts from 0. Which of the two happened is decided by tokens at the first result: totals
//! that don't hold both the restored tokens and the ones this turn used can't have been restored.
//!
//! Between results, usage is metered from the messages themselves, so that a killed child is never free.

use crate::ctl::Baseline;
use crate::ids::GenerationNo;
use crate::rows::{Spend, SpendMethod, Tokens};
use claude_wire::{ModelUsage, Usage};
use std::collections::BTreeMap;

/// Totals of one model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Total {
    tokens: Tokens,
    usd: f64,
}

/// The meter of one generation.
#[derive(Clone, Debug)]
pub(super) struct Meter {
    baseline: BTreeMap<String, Total>,
    /// None until the first result showed which it is.
    restored: Option<bool>,
    /// The last totals reported.
    reported: BTreeMap<String, Total>,
    /// Own spend from before a `/clear` in this same process.
    banked: BTreeMap<String, Total>,
    /// Usage of messages that no result has covered yet, by message id.
    open: BTreeMap<String, (String, Tokens)>,
    /// The message that stream events belong to, per lane.
    streaming: BTreeMap<String, String>,
}

impl Meter {
    pub(super) fn new(baseline: Baseline) -> Self {
        let total = |m: crate::ctl::ModelBaseline| (m.model, Total { tokens: m.tokens, usd: m.usd });
        Self {
            restored: baseline.models.is_empty().then_some(false),
            baseline: baseline.models.into_iter().map(total).collect(),
            reported: BTreeMap::new(),
            banked: BTreeMap::new(),
            open: BTreeMap::new(),
            streaming: BTreeMap::new(),
        }
    }

    /// A message of the model began to stream in `lane`.
    pub(super) fn message_start(&mut self, lane: &str, id: &str, model: &str, usage: Option<&Usage>) {
        self.streaming.insert(lane.to_owned(), id.to_owned());
        self.message(id, model, usage);
    }

    /// A message of the model; several lines may share one id. Its output count is a placeholder until
    /// [`Meter::message_delta`] or the result says more.
    pub(super) fn message(&mut self, id: &str, model: &str, usage: Option<&Usage>) {
        if let Some(usage) = usage {
            let slot =
                self.open.entry(id.to_owned()).or_insert_with(|| (model.to_owned(), Tokens::default()));
            slot.1 = at_least(slot.1, tokens_of(usage));
        }
    }

    /// The final usage of the message that streams in `lane`.
    pub(super) fn message_delta(&mut self, lane: &str, usage: &Usage) {
        if let Some(slot) = self.streaming.get(lane).and_then(|id| self.open.get_mut(id)) {
            slot.1 = at_least(slot.1, tokens_of(usage));
        }
    }

    /// A `result`: cumulative totals, and what its own turn used in the main loop.
    pub(super) fn result(&mut self, totals: &[ModelUsage], usage: Option<&Usage>) {
        self.open.clear();
        self.streaming.clear();
        if totals.is_empty() {
            return;
        }
        self.reported = totals.iter().map(total_of).collect();
        if self.restored.is_none() {
            self.restored = Some(self.looks_restored(usage));
        }
    }

    /// `/clear`: another conversation, totals from 0.
    pub(super) fn reset(&mut self) {
        for (model, own) in self.own() {
            let bank = self.banked.entry(model).or_default();
            *bank = plus(*bank, own);
        }
        self.reported.clear();
        self.baseline.clear();
        self.restored = Some(false);
    }

    /// The rows of this generation. `over`: the child is gone, so what no result covered is all there will be.
    pub(super) fn rows(&self, generation: GenerationNo, over: bool) -> Vec<Spend> {
        let mut rows = BTreeMap::new();
        let parts = self.own().into_iter().chain(self.banked.iter().map(|(m, t)| (m.clone(), *t)));
        for (model, total) in parts {
            let row = rows.entry(model.clone()).or_insert_with(|| self.row(generation, model));
            row.tokens = sum(row.tokens, total.tokens);
            row.usd = row.usd.map(|usd| usd + total.usd);
        }
        if over || self.reported.is_empty() {
            for (model, tokens) in self.open.values() {
                let row = rows.entry(model.clone()).or_insert_with(|| self.row(generation, model.clone()));
                row.tokens = sum(row.tokens, *tokens);
                row.usd = None;
                row.method = SpendMethod::Estimated;
            }
        }
        rows.into_values().filter(|r| r.tokens != Tokens::default() || r.usd != Some(0.0)).collect()
    }

    fn row(&self, generation: GenerationNo, model: String) -> Spend {
        let restored = self.restored == Some(true);
        let baseline_usd = if restored { self.baseline.get(&model).map_or(0.0, |t| t.usd) } else { 0.0 };
        let method = if restored { SpendMethod::RestoredDifference } else { SpendMethod::Reported };
        Spend { generation, model, tokens: Tokens::default(), usd: Some(0.0), method, baseline_usd }
    }

    fn own(&self) -> BTreeMap<String, Total> {
        let restored = self.restored == Some(true);
        let less = |(model, total): (&String, &Total)| {
            let base = if restored {
                self.baseline.get(model).copied().unwrap_or_default()
            } else {
                Total::default()
            };
            (model.clone(), minus(*total, base))
        };
        self.reported.iter().map(less).collect()
    }

    fn looks_restored(&self, usage: Option<&Usage>) -> bool {
        let of =
            |map: &BTreeMap<String, Total>| map.values().fold(Tokens::default(), |a, t| sum(a, t.tokens));
        let every_model = self
            .baseline
            .iter()
            .all(|(model, base)| self.reported.get(model).is_some_and(|t| covers(t.tokens, base.tokens)));
        let used = usage.map(tokens_of).unwrap_or_default();
        every_model && covers(of(&self.reported), sum(of(&self.baseline), used))
    }
}

fn total_of(usage: &ModelUsage) -> (String, Total) {
    let tokens = Tokens {
        input: usage.input,
        output: usage.output,
        cache_read: usage.cache_read,
        cache_write_5m: usage.cache_write_5m,
        cache_write_1h: usage.cache_write_1h,
    };
    (usage.model.clone(), Total { tokens, usd: usage.cost_usd.unwrap_or(0.0) })
}

fn tokens_of(usage: &Usage) -> Tokens {
    Tokens {
        input: usage.input,
        output: usage.output,
        cache_read: usage.cache_read,
        cache_write_5m: usage.cache_write_5m,
        cache_write_1h: usage.cache_write_1h,
    }
}

fn each(a: Tokens, b: Tokens, f: impl Fn(u64, u64) -> u64) -> Tokens {
    Tokens {
        input: f(a.input, b.input),
        output: f(a.output, b.output),
        cache_read: f(a.cache_read, b.cache_read),
        cache_write_5m: f(a.cache_write_5m, b.cache_write_5m),
        cache_write_1h: f(a.cache_write_1h, b.cache_write_1h),
    }
}

fn sum(a: Tokens, b: Tokens) -> Tokens {
    each(a, b, u64::saturating_add)
}

fn at_least(a: Tokens, b: Tokens) -> Tokens {
    each(a, b, u64::max)
}

fn covers(a: Tokens, b: Tokens) -> bool {
    each(b, a, u64::saturating_sub) == Tokens::default()
}

fn plus(a: Total, b: Total) -> Total {
    Total { tokens: sum(a.tokens, b.tokens), usd: a.usd + b.usd }
}

/// Never negative: a total that jumps back is a child's fault, not a refund.
fn minus(a: Total, b: Total) -> Total {
    Total { tokens: each(a.tokens, b.tokens, u64::saturating_sub), usd: (a.usd - b.usd).max(0.0) }
}
