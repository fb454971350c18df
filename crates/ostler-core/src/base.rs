//! What is kept of a trained base when it is sealed: what its forks can expect, and what they must be compared with.

use crate::fingerprint::Fingerprint;
use crate::ids::{ConversationId, Millis, SessionId};
use crate::rows::LastRequest;
use crate::spec::{Transcript, Ttl};
use serde::{Deserialize, Serialize};

/// What was found when a base was sealed. Stored as JSON; only grows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Its conversation: what forks copy.
    pub conversation: ConversationId,
    /// The version that its `init` announced.
    pub version: String,
    /// SHA-256 of the program that ran, in hex; None: it could not be read any more.
    pub program: Option<String>,
    /// Its last request, and the model that answered: what a fork must find in the cache.
    pub request: LastRequest,
    /// When the turn of that request began: the cache holds from then on at least.
    pub requested_at: Millis,
    /// Its transcript, to see that it stays as it is.
    pub transcript: Transcript,
    /// The tools that its `init` announced, sorted.
    pub tools: Vec<String>,
    /// Everything that can reach the cached prefix.
    pub fingerprint: Fingerprint,
}

impl Facts {
    /// Tokens that a fork's first request reads when everything is still there.
    #[must_use]
    pub const fn expected_read(&self) -> u64 {
        self.request.expected_read()
    }

    /// How long what it wrote lives, as the split of its tokens shows; the shorter one where it wrote for both. None:
    /// it wrote nothing, and what it read may end at any time.
    #[must_use]
    pub const fn ttl(&self) -> Option<Ttl> {
        match (self.request.tokens.cache_write_5m, self.request.tokens.cache_write_1h) {
            (0, 0) => None,
            (0, _) => Some(Ttl::OneHour),
            _ => Some(Ttl::FiveMinutes),
        }
    }

    /// Until when the cache holds at least, given when it was read last; None: not known.
    #[must_use]
    pub fn warm_until(&self, read_last: Option<Millis>) -> Option<Millis> {
        let since = read_last.map_or(self.requested_at, |at| at.max(self.requested_at));
        self.ttl().map(|ttl| since.plus(ttl.ms()))
    }
}

/// A base as its own folder remembers it, for a database that is lost (`base.json`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    /// Its session.
    pub session: SessionId,
    /// What people call it; one that lives has it alone.
    pub name: String,
    /// When its training began.
    pub created_at: Millis,
    /// How many messages train it.
    pub prompts: u32,
    /// The base that is retired when this one is sealed.
    pub replaces: Option<SessionId>,
    /// When it was sealed; None: it is being trained.
    pub sealed_at: Option<Millis>,
    /// When it was retired, or its training failed.
    pub retired_at: Option<Millis>,
    /// Why.
    pub reason: Option<String>,
    /// What was found when it was sealed.
    pub facts: Option<Facts>,
}

impl Base {
    /// It takes nothing any more.
    #[must_use]
    pub const fn is_sealed(&self) -> bool {
        self.sealed_at.is_some()
    }

    /// It can be forked.
    #[must_use]
    pub const fn lives(&self) -> bool {
        self.sealed_at.is_some() && self.retired_at.is_none()
    }

    /// The word for how it stands.
    #[must_use]
    pub const fn state(&self) -> &'static str {
        match (self.sealed_at, self.retired_at) {
            (_, Some(_)) => "retired",
            (Some(_), None) => "sealed",
            (None, None) => "training",
        }
    }
}
