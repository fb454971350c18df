//! What was spent.

use super::Tokens;
use crate::cli::Named;
use serde::Serialize;

#[derive(Debug, Serialize)]
pub(crate) struct CostDocument {
    by: &'static str,
    rows: Vec<CostBody>,
    usd: Option<f64>,
    at_least: bool,
}

#[derive(Debug, Serialize)]
struct CostBody {
    key: Option<String>,
    name: Option<String>,
    sessions: u64,
    forks: u64,
    tokens: Tokens,
    usd: Option<f64>,
    at_least: bool,
    own_usd: f64,
    forks_usd: f64,
    unknown: u64,
    estimated: u64,
}

impl CostDocument {
    pub(crate) fn of(by: &'static str, rows: &[Named]) -> Self {
        let known = rows.iter().any(|row| row.usd().is_some()) || rows.is_empty();
        Self {
            by,
            usd: known.then(|| rows.iter().map(|row| row.cost.usd).sum::<f64>() + 0.0),
            at_least: rows.iter().any(Named::at_least),
            rows: rows.iter().map(body).collect(),
        }
    }
}

fn body(row: &Named) -> CostBody {
    let c = &row.cost;
    CostBody {
        key: c.key.clone(),
        name: row.name.clone(),
        sessions: c.sessions,
        forks: c.forks,
        tokens: c.tokens.into(),
        usd: row.usd(),
        at_least: row.at_least(),
        own_usd: c.own_usd,
        forks_usd: c.forks_usd,
        unknown: c.unknown,
        estimated: c.estimated,
    }
}
