//! Where a fork's conversation comes from.

use crate::ids::{ConversationId, SessionId};
use serde::{Deserialize, Serialize};

/// What makes a session a fork: the conversation that it starts as a copy of, as that was found when the fork was
/// accepted. It is part of the launch spec because it decides how the first child starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forked {
    /// The session that was copied.
    pub session: SessionId,
    /// Its conversation then.
    pub conversation: ConversationId,
    /// The trained base at the root of it, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<SessionId>,
    /// Its transcript then. A start on another one would copy something else than was asked for.
    pub transcript: Transcript,
    /// Tokens that the first request must find in the cache to count as a hit.
    pub expected_read: u64,
    /// What follows when it doesn't.
    #[serde(default, skip_serializing_if = "OnMiss::is_default")]
    pub on_miss: OnMiss,
    /// Fields that differ from what was copied and keep the prefix, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differs: Vec<String>,
    /// Fields that differ and break it, and were wanted all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forced: Vec<String>,
    /// At most so many forks of that session live at once; None is as many as the machine takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel: Option<u32>,
}

/// A transcript, to know it again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transcript {
    /// How long it is.
    pub bytes: u64,
    /// SHA-256 of all of it, in hex.
    pub sha256: String,
}

/// What follows when a fork does not find its prefix in the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnMiss {
    /// It is shown; the turn goes on.
    #[default]
    Continue,
    /// The turn is interrupted at once.
    Interrupt,
}

impl OnMiss {
    /// True when nothing was set.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
