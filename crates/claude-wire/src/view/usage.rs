//! Tokens and dollars.

use crate::read::object;

/// Tokens of one message, or of one turn's main loop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Uncached input.
    pub input: u64,
    /// Output, thinking included. A placeholder on `assistant` lines (protocol page, "Turn anatomy").
    pub output: u64,
    /// Read from the cache.
    pub cache_read: u64,
    /// Written to the cache for five minutes. What the child doesn't split counts here.
    pub cache_write_5m: u64,
    /// Written to the cache for an hour.
    pub cache_write_1h: u64,
    /// The part of `output` that was thinking, where the child says so.
    pub thinking: Option<u64>,
}

impl Usage {
    /// Tokens written to the cache.
    #[must_use]
    pub const fn cache_write(&self) -> u64 {
        self.cache_write_5m.saturating_add(self.cache_write_1h)
    }
}

object! {
    pub(crate) struct UsageBody {
        input: u64 = "input_tokens",
        output: u64 = "output_tokens",
        cache_read: u64 = "cache_read_input_tokens",
        cache_write: Option<u64> = "cache_creation_input_tokens",
        split: Option<SplitBody> = "cache_creation",
        details: DetailsBody = "output_tokens_details",
    }
    skip: ["server_tool_use", "service_tier", "inference_geo", "iterations", "speed"];
}

object! {
    struct SplitBody {
        five_minutes: Option<u64> = "ephemeral_5m_input_tokens",
        hour: Option<u64> = "ephemeral_1h_input_tokens",
    }
}

object! {
    struct DetailsBody {
        thinking: Option<u64> = "thinking_tokens",
    }
}

impl From<UsageBody> for Usage {
    fn from(body: UsageBody) -> Self {
        let split = body.split.unwrap_or_default();
        let (cache_write_5m, cache_write_1h) = split_writes(body.cache_write, split.five_minutes, split.hour);
        Self {
            input: body.input,
            output: body.output,
            cache_read: body.cache_read,
            cache_write_5m,
            cache_write_1h,
            thinking: body.details.thinking,
        }
    }
}

/// The two classes of cache writes. Whatever of the total the split doesn't name counts as five minutes: that is the
/// API's default, and the cheaper class must not swallow tokens.
fn split_writes(total: Option<u64>, five_minutes: Option<u64>, hour: Option<u64>) -> (u64, u64) {
    let hour = hour.unwrap_or(0);
    let five_minutes = five_minutes.unwrap_or(0);
    (five_minutes.max(total.unwrap_or(0).saturating_sub(hour)), hour)
}

/// What a process says it spent on one model, cumulative: restored totals of earlier processes are in it where the
/// CLI restores them (protocol page, "Cost and cache").
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelUsage {
    /// The model id as the child reports it; see [`plain_model`].
    pub model: String,
    /// Uncached input tokens.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Tokens read from the cache.
    pub cache_read: u64,
    /// Tokens written to the cache for five minutes. What the child doesn't split counts here.
    pub cache_write_5m: u64,
    /// Tokens written to the cache for an hour.
    pub cache_write_1h: u64,
    /// Dollars; `None` is unknown, never free.
    pub cost_usd: Option<f64>,
    /// Web searches, which cost extra.
    pub web_searches: u64,
    /// The model's context window in tokens.
    pub context_window: Option<u64>,
}

object! {
    pub(crate) struct ModelUsageBody {
        input: u64 = "inputTokens",
        output: u64 = "outputTokens",
        cache_read: u64 = "cacheReadInputTokens",
        cache_write: Option<u64> = "cacheCreationInputTokens",
        cache_write_5m: Option<u64> = "cacheCreationEphemeral5mInputTokens",
        cache_write_1h: Option<u64> = "cacheCreationEphemeral1hInputTokens",
        cost_usd: Option<f64> = "costUSD",
        web_searches: u64 = "webSearchRequests",
        context_window: Option<u64> = "contextWindow",
    }
    skip: ["maxOutputTokens", "thinkingTokens", "canonicalModel", "provider", "costBasis"];
}

impl ModelUsageBody {
    pub(crate) fn named(self, model: String) -> ModelUsage {
        let (cache_write_5m, cache_write_1h) =
            split_writes(self.cache_write, self.cache_write_5m, self.cache_write_1h);
        ModelUsage {
            model,
            input: self.input,
            output: self.output,
            cache_read: self.cache_read,
            cache_write_5m,
            cache_write_1h,
            cost_usd: self.cost_usd,
            web_searches: self.web_searches,
            context_window: self.context_window,
        }
    }
}

/// A model id without its context-window mark: `[1m]` stays on `init` and `modelUsage` but not on `assistant` lines
/// (protocol page, "Starting it"), so it goes before two ids are compared.
#[must_use]
pub fn plain_model(id: &str) -> &str {
    id.strip_suffix("[1m]").unwrap_or(id)
}
