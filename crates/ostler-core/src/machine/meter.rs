//! What the running generation spends: own spend = total − restored total.
//!
//! A child reports cumulative totals per model on every `result`. A process that was started on a conversation with a
//! `cost-state` row in its transcript restores that total first (CLI 2.1.277 and later, protocol page "Cost and
//! cache"); an older one starts from 0. `/clear` starts the totals again on newer CLIs and leaves them on older ones
//! (2.1.200). Which it was is decided at the next result with totals, by tokens: of the two readings the one that
//! fits better to what the messages themselves said they used.
//!
//! Between results, usage is metered from the messages, so that a killed child is never free. What a result's totals
//! don't cover stays metered: 2.1.200 leaves an interrupted request out of them (seen behind the lab).

use super::spent::{Total, distance};
use crate::ctl::Baseline;
use crate::ids::GenerationNo;
use crate::rows::{Spend, SpendMethod, Tokens};
use claude_wire::{ResultLine, Usage, plain_model};
use std::collections::BTreeMap;

/// The model of what no message named.
const UNKNOWN: &str = "unknown";
/// Lines that the child writes itself carry this model; they cost nothing.
const SYNTHETIC: &str = "<synthetic>";

/// The meter of one generation.
#[derive(Clone, Debug)]
pub(super) struct Meter {
    /// What the conversation had cost before.
    baseline: BTreeMap<String, Total>,
    /// What the totals began with; None until the first result showed which it is.
    base: Option<BTreeMap<String, Total>>,
    restored: bool,
    /// The last totals reported.
    reported: BTreeMap<String, Total>,
    /// Own spend from before the totals began again in this same process.
    banked: BTreeMap<String, Total>,
    /// `/clear` was announced; the next totals show what it did to them.
    cleared: bool,
    /// The child reports a sum of dollars and no models.
    sum_only: bool,
    /// The totals jumped back without a reason that we know.
    jumped: bool,
    /// Usage of messages that no result has covered yet, by message id.
    open: BTreeMap<String, (String, Tokens)>,
    /// Usage that was metered and that the totals left out, by model.
    uncovered: BTreeMap<String, Tokens>,
    /// The message that stream events belong to, per lane.
    streaming: BTreeMap<String, String>,
    /// The model that ran last.
    model: Option<String>,
}

impl Meter {
    pub(super) fn new(baseline: Baseline) -> Self {
        let total = |m: crate::ctl::ModelBaseline| (m.model, Total { tokens: m.tokens, usd: m.usd });
        let baseline: BTreeMap<_, _> = baseline.models.into_iter().map(total).collect();
        Self {
            base: baseline.is_empty().then(BTreeMap::new),
            baseline,
            restored: false,
            reported: BTreeMap::new(),
            banked: BTreeMap::new(),
            cleared: false,
            sum_only: false,
            jumped: false,
            open: BTreeMap::new(),
            uncovered: BTreeMap::new(),
            streaming: BTreeMap::new(),
            model: None,
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
        let Some(usage) = usage.filter(|_| model != SYNTHETIC) else { return };
        self.model = Some(model.to_owned());
        let slot = self.open.entry(id.to_owned()).or_insert_with(|| (model.to_owned(), Tokens::default()));
        slot.1 = merged(slot.1, usage);
    }

    /// The final usage of the message that streams in `lane`.
    pub(super) fn message_delta(&mut self, lane: &str, usage: &Usage) {
        if let Some(slot) = self.streaming.get(lane).and_then(|id| self.open.get_mut(id)) {
            slot.1 = merged(slot.1, usage);
        }
    }

    /// A `result`: cumulative totals, and what its own turn used in the main loop.
    pub(super) fn result(&mut self, line: &ResultLine) {
        let mut metered = self.metered();
        if metered.is_empty()
            && let Some(usage) = &line.usage
        {
            // A child that streams nothing: the result's own turn is all there is to compare with.
            let model = line.model_usage.first().map_or(UNKNOWN, |m| plain_model(&m.model));
            metered.insert(model.to_owned(), merged(Tokens::default(), usage));
        }
        let totals = self.totals_of(line);
        if self.cleared {
            self.after_clear(&totals, line.total_cost_usd, &metered);
        } else if self.base.is_none() && !totals.is_empty() {
            self.first_totals(&totals, &metered);
        } else if jumped_back(&self.reported, &totals) {
            self.jumped = true;
            self.begin_again();
        }
        let from = if self.reported.is_empty() {
            self.base.clone().unwrap_or_default()
        } else {
            self.reported.clone()
        };
        // A model that isn't listed any more keeps what it had.
        self.reported.extend(totals);
        self.cover(&from);
    }

    /// `/clear`: another conversation. Whether the totals begin again is seen at the next result.
    pub(super) fn clear(&mut self) {
        self.cleared = true;
    }

    fn after_clear(
        &mut self,
        totals: &BTreeMap<String, Total>,
        usd: Option<f64>,
        metered: &BTreeMap<String, Tokens>,
    ) {
        if totals.is_empty() && usd.is_some_and(|usd| usd > 0.0) {
            return;
        }
        self.cleared = false;
        let before = if self.reported.is_empty() {
            self.base.clone().unwrap_or_else(|| self.baseline.clone())
        } else {
            self.reported.clone()
        };
        let goes_on = !before.is_empty()
            && covers(totals, &before)
            && distance(totals, &before, metered) <= distance(totals, &BTreeMap::new(), metered);
        if !goes_on {
            self.begin_again();
        } else if self.base.is_none() {
            self.first_totals(totals, metered);
        }
    }

    fn first_totals(&mut self, totals: &BTreeMap<String, Total>, metered: &BTreeMap<String, Tokens>) {
        let fits = covers(totals, &self.baseline)
            && distance(totals, &self.baseline, metered) <= distance(totals, &BTreeMap::new(), metered);
        self.restored = fits;
        self.base = Some(if fits { self.baseline.clone() } else { BTreeMap::new() });
    }

    /// The totals begin again from 0: what was own so far is kept aside.
    fn begin_again(&mut self) {
        for (model, own) in self.own() {
            let bank = self.banked.entry(model).or_default();
            *bank = bank.plus(own);
        }
        self.reported.clear();
        self.restored = false;
        self.base = Some(BTreeMap::new());
    }

    /// Totals per model; a result with nothing but a sum is booked on the model that ran last.
    fn totals_of(&mut self, line: &ResultLine) -> BTreeMap<String, Total> {
        if !line.model_usage.is_empty() {
            return line.model_usage.iter().map(|m| (m.model.clone(), Total::of(m))).collect();
        }
        let Some(usd) = line.total_cost_usd.filter(|usd| *usd > 0.0) else { return BTreeMap::new() };
        let known = match (self.reported.len(), self.sum_only) {
            (0, _) => None,
            (_, true) => self.reported.first_key_value(),
            _ => return BTreeMap::new(),
        };
        self.sum_only = true;
        let used = self.open.values().fold(Tokens::default(), |sum, (_, t)| sum.plus(*t));
        let (model, tokens) = match known {
            Some((model, total)) => (model.clone(), total.tokens.plus(used)),
            None => (self.model.clone().unwrap_or_else(|| UNKNOWN.to_owned()), used),
        };
        BTreeMap::from([(model, Total { tokens, usd })])
    }

    /// Tokens that the messages since the last result used, by plain model id.
    fn metered(&self) -> BTreeMap<String, Tokens> {
        let mut sums: BTreeMap<String, Tokens> = BTreeMap::new();
        for (model, tokens) in self.open.values() {
            let sum = sums.entry(plain_model(model).to_owned()).or_default();
            *sum = sum.plus(*tokens);
        }
        sums
    }

    /// What was metered and is more than the totals grew by since `from` stays uncovered.
    fn cover(&mut self, from: &BTreeMap<String, Total>) {
        let mut owed = std::mem::take(&mut self.uncovered);
        for (model, tokens) in self.metered() {
            let sum = owed.entry(model).or_default();
            *sum = sum.plus(tokens);
        }
        self.open.clear();
        self.streaming.clear();
        for (model, tokens) in owed {
            let of = |totals: &BTreeMap<String, Total>| {
                let same = totals.iter().filter(|(m, _)| plain_model(m) == model);
                same.fold(Tokens::default(), |sum, (_, t)| sum.plus(t.tokens))
            };
            let left = tokens.less(of(&self.reported).less(of(from)));
            // A message's first output count is a placeholder: alone it is nothing that was left out.
            if (Tokens { output: 0, ..left }) != Tokens::default() {
                self.uncovered.insert(model, left);
            }
        }
    }

    /// The rows of this generation so far; an estimate is part of them while messages are not covered by a result.
    pub(super) fn rows(&self, generation: GenerationNo) -> Vec<Spend> {
        let mut rows: BTreeMap<String, Spend> = BTreeMap::new();
        let parts = self.own().into_iter().chain(self.banked.iter().map(|(m, t)| (m.clone(), *t)));
        for (model, total) in parts {
            let row = rows.entry(model.clone()).or_insert_with(|| self.row(generation, model));
            row.tokens = row.tokens.plus(total.tokens);
            row.usd = row.usd.map(|usd| usd + total.usd);
        }
        let open = self.metered().into_iter().chain(self.uncovered.clone());
        for (model, tokens) in open.filter(|(_, t)| *t != Tokens::default()) {
            let name = rows.keys().find(|m| plain_model(m) == model).cloned().unwrap_or(model);
            let row = rows.entry(name.clone()).or_insert_with(|| self.row(generation, name));
            row.tokens = row.tokens.plus(tokens);
            // The reported part, where there is one, is the least that it can be; nothing is not the same as free.
            row.usd = row.usd.filter(|usd| *usd > 0.0);
            row.method = SpendMethod::Estimated;
        }
        // Differences of dollars leave dust; a model that was only restored has no row.
        let dust = |usd: Option<f64>| usd.is_some_and(|usd| usd < 1e-9);
        rows.into_values().filter(|r| r.tokens != Tokens::default() || !dust(r.usd)).collect()
    }

    fn row(&self, generation: GenerationNo, model: String) -> Spend {
        let baseline_usd = if self.restored { self.baseline.get(&model).map_or(0.0, |t| t.usd) } else { 0.0 };
        let method = match (self.jumped, self.restored) {
            (true, _) => SpendMethod::Estimated,
            (_, true) => SpendMethod::RestoredDifference,
            _ => SpendMethod::Reported,
        };
        Spend { generation, model, tokens: Tokens::default(), usd: Some(0.0), method, baseline_usd }
    }

    fn own(&self) -> BTreeMap<String, Total> {
        let base =
            |model: &String| self.base.as_ref().and_then(|b| b.get(model)).copied().unwrap_or_default();
        self.reported.iter().map(|(model, total)| (model.clone(), total.less(base(model)))).collect()
    }
}

/// The larger of what is known and what a line says. Only the first of a message's lines splits cache writes by their
/// time to live: a later one that doesn't is no second write.
fn merged(known: Tokens, usage: &Usage) -> Tokens {
    let written = known.cache_write_5m.saturating_add(known.cache_write_1h);
    let more = usage.cache_write() > written;
    Tokens {
        input: known.input.max(usage.input),
        output: known.output.max(usage.output),
        cache_read: known.cache_read.max(usage.cache_read),
        cache_write_5m: if more { usage.cache_write_5m } else { known.cache_write_5m },
        cache_write_1h: if more { usage.cache_write_1h } else { known.cache_write_1h },
    }
}

/// Every model has at least what it had in `base`.
fn covers(totals: &BTreeMap<String, Total>, base: &BTreeMap<String, Total>) -> bool {
    base.iter().all(|(model, base)| totals.get(model).is_some_and(|t| t.tokens.covers(base.tokens)))
}

/// Every model that is still listed has less than it had.
fn jumped_back(before: &BTreeMap<String, Total>, totals: &BTreeMap<String, Total>) -> bool {
    let mut both = totals.iter().filter_map(|(model, t)| before.get(model).map(|b| (b, t))).peekable();
    both.peek().is_some() && both.all(|(b, t)| !t.tokens.covers(b.tokens))
}
