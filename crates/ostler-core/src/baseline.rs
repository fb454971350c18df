//! What a conversation had cost, from the `cost-state` rows of its transcript.
//!
//! A clean exit writes one; a process that resumes or forks the conversation starts its totals from the last of them
//! (protocol page, "Cost and cache").

use crate::ctl::{Baseline, ModelBaseline};
use crate::rows::Tokens;
use serde::Deserialize;
use std::collections::BTreeMap;

/// How such a row begins: lets a reader pass over everything else without parsing it.
pub const COST_STATE_PREFIX: &[u8] = br#"{"type":"cost-state""#;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CostState {
    #[serde(rename = "type")]
    kind: String,
    #[serde(rename = "totalCostUSD", default)]
    total: f64,
    #[serde(default)]
    model_usage: BTreeMap<String, Usage>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Usage {
    input_tokens: f64,
    output_tokens: f64,
    cache_read_input_tokens: f64,
    cache_creation_input_tokens: f64,
    cache_creation_ephemeral5m_input_tokens: Option<f64>,
    cache_creation_ephemeral1h_input_tokens: Option<f64>,
    #[serde(rename = "costUSD")]
    cost: f64,
}

/// Reads one row of a transcript; None when it is no `cost-state` row.
#[must_use]
pub fn baseline_of(line: &[u8]) -> Option<Baseline> {
    let row: CostState = serde_json::from_slice(line).ok().filter(|r: &CostState| r.kind == "cost-state")?;
    let models = row.model_usage.into_iter().map(|(model, usage)| ModelBaseline {
        model,
        usd: usage.cost,
        tokens: tokens(&usage),
    });
    Some(Baseline { usd: row.total, models: models.collect() })
}

/// An unsplit cache write counts as one for five minutes, the CLI's default.
fn tokens(usage: &Usage) -> Tokens {
    let long = count(usage.cache_creation_ephemeral1h_input_tokens.unwrap_or(0.0));
    let short = usage.cache_creation_ephemeral5m_input_tokens.map(count);
    Tokens {
        input: count(usage.input_tokens),
        output: count(usage.output_tokens),
        cache_read: count(usage.cache_read_input_tokens),
        cache_write_5m: short
            .unwrap_or_else(|| count(usage.cache_creation_input_tokens).saturating_sub(long)),
        cache_write_1h: long,
    }
}

/// Numbers may be written as floats; a negative or absurd one counts as nothing.
fn count(number: f64) -> u64 {
    const MOST: f64 = 9_007_199_254_740_992.0;
    if (0.0..=MOST).contains(&number) { number as u64 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_as_2_1_332_writes_it() {
        let line = br#"{"type":"cost-state","sessionId":"x","totalCostUSD":0.0005115,"totalAPIDuration":89,"modelUsage":{"claude-sonnet-4-5":{"inputTokens":10,"outputTokens":7,"thinkingTokens":0,"cacheReadInputTokens":5,"cacheCreationInputTokens":100,"cacheCreationEphemeral5mInputTokens":60,"cacheCreationEphemeral1hInputTokens":40,"costUSD":0.0005115}}}"#;
        assert!(line.starts_with(COST_STATE_PREFIX));
        let baseline = baseline_of(line).expect("a cost-state row");
        let tokens = Tokens { input: 10, output: 7, cache_read: 5, cache_write_5m: 60, cache_write_1h: 40 };
        let model = ModelBaseline { model: "claude-sonnet-4-5".into(), tokens, usd: 0.000_511_5 };
        assert_eq!(baseline, Baseline { usd: 0.000_511_5, models: vec![model] });
    }

    #[test]
    fn an_unsplit_write_is_for_five_minutes_and_other_rows_are_none() {
        let line = br#"{"type":"cost-state","modelUsage":{"m":{"cacheCreationInputTokens":7.0}}}"#;
        let baseline = baseline_of(line).expect("a cost-state row");
        assert_eq!(baseline.models[0].tokens.cache_write_5m, 7);
        assert_eq!(baseline_of(br#"{"type":"user"}"#), None);
        assert_eq!(baseline_of(b"cost-state"), None);
    }
}
