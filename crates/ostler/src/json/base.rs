//! Bases, forks, and where two differ.

use super::Tokens;
use crate::cli::Sum;
use crate::view::rfc3339;
use ostler_controller::client::Source;
use ostler_core::base::{Base, Facts};
use ostler_core::ids::{DeliveryId, Millis, SessionId};
use ostler_core::rows::{CacheSeen, CacheVerdict};
use ostler_store::db::ForkRow;
use serde::Serialize;

/// A base, and what its forks say of it.
#[derive(Debug)]
pub(crate) struct BaseView {
    pub(crate) base: Base,
    pub(crate) forks: Vec<ForkRow>,
    /// When a fork last read or wrote the whole prefix.
    pub(crate) read_last: Option<Millis>,
    pub(crate) now: Millis,
}

/// Whether the cache holds, as far as can be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Warmth {
    /// Until then, at least.
    Warm(Millis),
    /// It ended then.
    Cold(Millis),
    /// It wrote nothing itself: nobody said how long what it read lives.
    Unknown,
}

impl BaseView {
    pub(crate) fn warmth(&self) -> Option<Warmth> {
        let facts = self.base.facts.as_ref()?;
        Some(match facts.warm_until(self.read_last) {
            None => Warmth::Unknown,
            Some(until) if until > self.now => Warmth::Warm(until),
            Some(until) => Warmth::Cold(until),
        })
    }

    fn verdicts(&self, wanted: CacheVerdict) -> usize {
        self.forks.iter().filter(|f| f.cache.is_some_and(|seen| seen.verdict() == wanted)).count()
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct BaseDocument {
    name: String,
    session: String,
    state: &'static str,
    reason: Option<String>,
    replaces: Option<String>,
    created_at: String,
    sealed_at: Option<String>,
    retired_at: Option<String>,
    conversation: Option<String>,
    version: Option<String>,
    program_sha256: Option<String>,
    model: Option<String>,
    expected_read: Option<u64>,
    request: Option<Tokens>,
    cache: &'static str,
    warm_until: Option<String>,
    transcript_bytes: Option<u64>,
    transcript_sha256: Option<String>,
    tools: Option<Vec<String>>,
    fingerprint: Option<serde_json::Value>,
    forks: usize,
    hits: usize,
    partial: usize,
    misses: usize,
}

impl BaseDocument {
    pub(crate) fn of(v: &BaseView) -> Self {
        let facts = v.base.facts.as_ref();
        let warmth = v.warmth();
        Self {
            name: v.base.name.clone(),
            session: v.base.session.to_string(),
            state: v.base.state(),
            reason: v.base.reason.clone(),
            replaces: v.base.replaces.map(|id| id.to_string()),
            created_at: rfc3339(v.base.created_at),
            sealed_at: v.base.sealed_at.map(rfc3339),
            retired_at: v.base.retired_at.map(rfc3339),
            conversation: facts.map(|f| f.conversation.to_string()),
            version: facts.map(|f| f.version.clone()),
            program_sha256: facts.and_then(|f| f.program.clone()),
            model: facts.map(|f| f.request.model.clone()),
            expected_read: facts.map(Facts::expected_read),
            request: facts.map(|f| f.request.tokens.into()),
            cache: match warmth {
                Some(Warmth::Warm(_)) => "warm",
                Some(Warmth::Cold(_)) => "cold",
                Some(Warmth::Unknown) | None => "unknown",
            },
            warm_until: match warmth {
                Some(Warmth::Warm(at) | Warmth::Cold(at)) => Some(rfc3339(at)),
                _ => None,
            },
            transcript_bytes: facts.map(|f| f.transcript.bytes),
            transcript_sha256: facts.map(|f| f.transcript.sha256.clone()),
            tools: facts.map(|f| f.tools.clone()),
            fingerprint: facts.and_then(|f| serde_json::to_value(&f.fingerprint).ok()),
            forks: v.forks.len(),
            hits: v.verdicts(CacheVerdict::Hit),
            partial: v.verdicts(CacheVerdict::Partial),
            misses: v.verdicts(CacheVerdict::Miss),
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct BaseListDocument {
    bases: Vec<BaseDocument>,
}

impl BaseListDocument {
    pub(crate) fn of(all: &[BaseView]) -> Self {
        Self { bases: all.iter().map(BaseDocument::of).collect() }
    }
}

/// What a fork's first request found.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct CacheBody {
    verdict: &'static str,
    expected_read: u64,
    read: u64,
    written: u64,
}

impl From<CacheSeen> for CacheBody {
    fn from(seen: CacheSeen) -> Self {
        Self {
            verdict: seen.verdict().word(),
            expected_read: seen.expected,
            read: seen.read,
            written: seen.written,
        }
    }
}

/// `fork`.
#[derive(Debug, Serialize)]
pub(crate) struct ForkDocument {
    source: String,
    base: Option<String>,
    expected_read: u64,
    forks: Vec<ForkedBody>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ForkedBody {
    session: String,
    delivery: String,
    label: Option<String>,
}

impl ForkedBody {
    pub(crate) fn of(session: SessionId, delivery: DeliveryId, label: Option<String>) -> Self {
        Self { session: session.to_string(), delivery: delivery.to_string(), label }
    }
}

/// The same as the first event of `fork --wait`.
#[derive(Debug, Serialize)]
pub(crate) struct ForkedEvent<'a> {
    event: &'static str,
    source: &'a str,
    base: Option<&'a str>,
    expected_read: u64,
    forks: &'a [ForkedBody],
}

impl ForkDocument {
    pub(crate) fn of(source: &Source, forks: Vec<ForkedBody>) -> Self {
        Self {
            source: source.row.id.to_string(),
            base: source.base.as_ref().map(|base| base.name.clone()),
            expected_read: source.expected_read,
            forks,
        }
    }

    pub(crate) fn as_event(&self) -> ForkedEvent<'_> {
        ForkedEvent {
            event: "forked",
            source: &self.source,
            base: self.base.as_deref(),
            expected_read: self.expected_read,
            forks: &self.forks,
        }
    }
}

/// The last event of `fork --wait`.
#[derive(Debug, Serialize)]
pub(crate) struct ForksEvent {
    event: &'static str,
    source: String,
    hit: u32,
    partial: u32,
    miss: u32,
    unseen: u32,
    read: u64,
    usd: Option<f64>,
    unknown: u32,
    base_usd: Option<f64>,
}

impl ForksEvent {
    pub(crate) fn of(source: &str, sum: &Sum) -> Self {
        let forks = sum.hit + sum.partial + sum.miss + sum.unseen;
        Self {
            event: "forks",
            source: source.to_owned(),
            hit: sum.hit,
            partial: sum.partial,
            miss: sum.miss,
            unseen: sum.unseen,
            read: sum.read,
            usd: (sum.unknown < forks || forks == 0).then_some(sum.usd),
            unknown: sum.unknown,
            base_usd: sum.base_usd.map(|usd| usd + 0.0),
        }
    }
}

/// `base diff`.
#[derive(Debug, Serialize)]
pub(crate) struct DiffDocument {
    pub(crate) a: String,
    pub(crate) b: String,
    pub(crate) version: String,
    pub(crate) fields: Vec<DiffField>,
    pub(crate) breaking: bool,
    pub(crate) prefix_tokens: Option<u64>,
    pub(crate) read_usd: Option<f64>,
    pub(crate) written_usd: Option<f64>,
}

#[derive(Debug, Serialize)]
pub(crate) struct DiffField {
    pub(crate) field: &'static str,
    pub(crate) class: &'static str,
}
