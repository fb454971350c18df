//! What was spent.

use super::TokensBody;
use ostler_store::db::LedgerSum;
use serde::Serialize;
use utoipa::ToSchema;

/// A sum of what was spent.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SumBody {
    /// Of what: a session's id, a label, a model, a day; null: of sessions without a label, or of everything.
    key: Option<String>,
    /// Sessions that it has something of.
    sessions: u64,
    /// Their processes.
    generations: u64,
    /// Tokens.
    tokens: TokensBody,
    /// Dollars; null: some of it is not known.
    usd: Option<f64>,
    /// The dollars that are known: at least so many.
    known_usd: f64,
}

impl From<&LedgerSum> for SumBody {
    fn from(sum: &LedgerSum) -> Self {
        let known_usd = sum.known_usd + 0.0;
        Self {
            key: sum.key.clone(),
            sessions: sum.sessions,
            generations: sum.generations,
            tokens: sum.tokens.into(),
            usd: (sum.unpriced == 0).then_some(known_usd),
            known_usd,
        }
    }
}

/// A page of sums.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LedgerBody {
    /// By key.
    pub(crate) items: Vec<SumBody>,
    /// What `after` is for the next page; null: this is the last.
    pub(crate) next: Option<String>,
    /// Of everything that fits, on whatever page.
    pub(crate) total: SumBody,
}
