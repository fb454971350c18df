//! The bill: one charge a request, and sums over them.

use std::collections::BTreeMap;

/// Who asked: the conversation itself, one of its subagents, or a side request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lane {
    /// The main conversation.
    Main,
    /// A subagent.
    Sub,
    /// A title, a classifier, a compaction: no turn of anybody.
    Side,
}

/// Tokens by price class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Input that was neither read from the cache nor written to it.
    pub input: u64,
    /// Output.
    pub output: u64,
    /// Input read from the cache.
    pub cache_read: u64,
    /// Input written to the cache for five minutes.
    pub cache_write_5m: u64,
    /// Input written to the cache for one hour.
    pub cache_write_1h: u64,
}

/// What one request cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Charge {
    /// The request's number in the log.
    pub seq: u64,
    /// Claude's session id; empty when the client named none.
    pub session_id: String,
    /// The model asked for.
    pub model: String,
    /// Who asked.
    pub lane: Lane,
    /// Tokens by class.
    pub tokens: Tokens,
    /// Dollars at list price.
    pub usd: f64,
}

/// What everything cost.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bill {
    /// One charge a request, oldest first.
    pub per_request: Vec<Charge>,
    /// Sums by session.
    pub per_session: BTreeMap<String, Total>,
    /// Sums by (session, model).
    pub per_model: BTreeMap<(String, String), Total>,
}

/// A sum of charges.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Total {
    /// Requests.
    pub requests: u64,
    /// Tokens by class.
    pub tokens: Tokens,
    /// Dollars at list price.
    pub usd: f64,
}
