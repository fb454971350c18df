//! What the API takes and gives. Never the stored types, so that either can change alone; fields are only ever added, and
//! one that means the same as in the command line's JSON has its name (docs/json.md).

mod deeds;
mod delivery;
mod detail;
mod ledger;
mod question;
mod rows;
mod rule;
mod session;
mod timeline;

pub(crate) use deeds::{CloseBody, InterruptBody, ResumeBody, StopBody};
pub(crate) use delivery::{AcceptedBody, DeliveryBody, DeliveryDetail, StartedBody};
pub(crate) use detail::SessionDetail;
pub(crate) use ledger::LedgerBody;
pub(crate) use question::{DecidedBody, QuestionBody};
pub(crate) use rows::{
    CacheBody, GenerationBody, PermissionBody, SpendBody, SpendPage, TokensBody, TurnBody, decision_word,
};
pub(crate) use rule::{ExplainedBody, RuleBody, RulesBody};
pub(crate) use session::SessionBody;
pub(crate) use timeline::{Happened, HappenedBody};

use ostler_core::ids::Millis;
use serde::Serialize;
use utoipa::ToSchema;

/// A page of something.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Page<T> {
    /// What is on it.
    pub(crate) items: Vec<T>,
    /// What `after` is for the next page; null: this is the last.
    pub(crate) next: Option<String>,
}

/// A time as RFC 3339 has it, UTC, with milliseconds.
pub(crate) fn rfc3339(at: Millis) -> String {
    let time = jiff::Timestamp::from_millisecond(at.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    format!("{time:.3}")
}

/// The word that an enum without fields is stored as.
pub(crate) fn word_of(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        other => other.map(|value| value.to_string()).unwrap_or_default(),
    }
}
