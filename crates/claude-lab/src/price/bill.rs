//! The bill: one charge a request, and sums over them.

use std::collections::{BTreeMap, VecDeque};
use std::ops::AddAssign;
use std::sync::Mutex;

use serde_json::{Value, json};

use super::PriceList;

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

impl Tokens {
    /// All input, whatever the cache did with it.
    pub fn whole_input(&self) -> u64 {
        self.input + self.cache_read + self.cache_write_5m + self.cache_write_1h
    }
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
    /// The answer was sent to its end. Otherwise `output` is only what the start of the stream announced.
    pub complete: bool,
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

impl Bill {
    /// Adds up charges.
    pub fn of(charges: Vec<Charge>) -> Bill {
        let mut bill = Bill::default();
        for charge in &charges {
            let key = (charge.session_id.clone(), charge.model.clone());
            *bill.per_session.entry(charge.session_id.clone()).or_default() += charge;
            *bill.per_model.entry(key).or_default() += charge;
        }
        bill.per_request = charges;
        bill
    }

    /// The bill as one JSON document.
    pub fn to_json(&self) -> Value {
        let requests = self.per_request.iter().map(|charge| {
            let mut row = row(charge.tokens, charge.usd);
            row["request"] = Value::from(charge.seq);
            row["session_id"] = Value::from(charge.session_id.as_str());
            row["model"] = Value::from(charge.model.as_str());
            row["lane"] = Value::from(charge.lane.as_str());
            row["complete"] = Value::from(charge.complete);
            row
        });
        let total = self.total();
        let mut document = row(total.tokens, total.usd);
        document["requests"] = requests.collect();
        document
    }

    /// The sum of everything.
    pub fn total(&self) -> Total {
        let mut total = Total::default();
        for charge in &self.per_request {
            total += charge;
        }
        total
    }
}

fn row(tokens: Tokens, usd: f64) -> Value {
    json!({
        "input": tokens.input,
        "output": tokens.output,
        "cache_read": tokens.cache_read,
        "cache_write_5m": tokens.cache_write_5m,
        "cache_write_1h": tokens.cache_write_1h,
        "usd": usd,
    })
}

impl AddAssign<&Charge> for Total {
    fn add_assign(&mut self, charge: &Charge) {
        self.requests += 1;
        self.tokens += charge.tokens;
        self.usd += charge.usd;
    }
}

impl AddAssign for Tokens {
    fn add_assign(&mut self, other: Tokens) {
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write_5m += other.cache_write_5m;
        self.cache_write_1h += other.cache_write_1h;
    }
}

impl Lane {
    /// The lane's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Lane::Main => "main",
            Lane::Sub => "sub",
            Lane::Side => "side",
        }
    }
}

/// Charges held; the oldest go first.
const MAX_CHARGES: usize = 200_000;

/// The charges of a running lab.
#[derive(Debug, Default)]
pub(crate) struct Charges(Mutex<VecDeque<(Charge, PriceList)>>);

impl Charges {
    /// Begins a charge when the first byte of an answer goes out.
    pub(crate) fn begin(&self, mut charge: Charge, price: PriceList) {
        charge.usd = price.usd(&charge.tokens);
        let mut charges = self.lock();
        if charges.len() == MAX_CHARGES {
            charges.pop_front();
        }
        charges.push_back((charge, price));
    }

    /// The answer's end goes out.
    pub(crate) fn complete(&self, seq: u64, output: u64) {
        let mut charges = self.lock();
        if let Some((charge, price)) = charges.iter_mut().rev().find(|(charge, _)| charge.seq == seq) {
            charge.tokens.output = output;
            charge.usd = price.usd(&charge.tokens);
            charge.complete = true;
        }
    }

    pub(crate) fn bill(&self) -> Bill {
        Bill::of(self.lock().iter().map(|(charge, _)| charge.clone()).collect())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<(Charge, PriceList)>> {
        // A panic while the lock was held left whole charges behind.
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
