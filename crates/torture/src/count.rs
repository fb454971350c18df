//! What happened, counted; and what was wrong.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Counts by name, and failures in words.
#[derive(Default)]
pub(crate) struct Counts {
    counts: Mutex<BTreeMap<&'static str, u64>>,
    failures: Mutex<Vec<String>>,
}

impl Counts {
    pub(crate) fn add(&self, name: &'static str) {
        self.add_many(name, 1);
    }

    pub(crate) fn add_many(&self, name: &'static str, n: u64) {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_default() += n;
    }

    pub(crate) fn fail(&self, what: String) {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }

    pub(crate) fn failures(&self) -> Vec<String> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn into_map(self) -> BTreeMap<&'static str, u64> {
        self.counts.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A Markdown table of them.
pub(crate) fn table(counts: &BTreeMap<&'static str, u64>) -> String {
    let head = "| what | how often |\n| --- | ---: |\n".to_owned();
    counts.iter().fold(head, |text, (name, n)| text + &format!("| {name} | {n} |\n"))
}
