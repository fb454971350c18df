//! Arithmetic of totals: tokens by class, and dollars.

use crate::rows::Tokens;
use claude_wire::{ModelUsage, plain_model};
use std::collections::BTreeMap;

/// Totals of one model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Total {
    pub(super) tokens: Tokens,
    pub(super) usd: f64,
}

impl Total {
    pub(super) fn of(usage: &ModelUsage) -> Self {
        let tokens = Tokens {
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write_5m: usage.cache_write_5m,
            cache_write_1h: usage.cache_write_1h,
        };
        Self { tokens, usd: usage.cost_usd.unwrap_or(0.0) }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self { tokens: self.tokens.plus(other.tokens), usd: self.usd + other.usd }
    }

    /// Never negative: a total that jumps back is a child's fault, not a refund.
    pub(super) fn less(self, other: Self) -> Self {
        Self { tokens: self.tokens.less(other.tokens), usd: (self.usd - other.usd).max(0.0) }
    }
}

/// How far a reading of totals is from what was metered, in tokens of every class and model: `totals − base` against
/// `metered`, whose model ids are plain.
pub(super) fn distance(
    totals: &BTreeMap<String, Total>,
    base: &BTreeMap<String, Total>,
    metered: &BTreeMap<String, Tokens>,
) -> u64 {
    let mut own: BTreeMap<&str, Tokens> = BTreeMap::new();
    for (model, total) in totals {
        let less = base.get(model).copied().unwrap_or_default().tokens;
        let sum = own.entry(plain_model(model)).or_default();
        *sum = sum.plus(total.tokens.less(less));
    }
    let models = own.keys().copied().chain(metered.keys().map(String::as_str));
    let models: std::collections::BTreeSet<&str> = models.collect();
    let of_model = |model: &str| {
        let own = own.get(model).copied().unwrap_or_default();
        let metered = metered.get(model).copied().unwrap_or_default();
        own.less(metered).sum().saturating_add(metered.less(own).sum())
    };
    models.into_iter().fold(0, |sum, model| sum.saturating_add(of_model(model)))
}
