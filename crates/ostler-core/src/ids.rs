//! The names of things: sessions, deliveries, conversations; and wall-clock time.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use uuid::Uuid;

macro_rules! uuid_name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(s: &str) -> Result<Self, Self::Err> {
                Uuid::parse_str(s).map(Self)
            }
        }
    };
}

uuid_name! {
    /// A session: chosen by us at creation, never changed.
    SessionId
}
uuid_name! {
    /// Claude's own session id. Equal to the session's at first; `/clear` replaces it.
    ConversationId
}
uuid_name! {
    /// One message for a session; the `uuid` of its `user` line. Never given to another message.
    DeliveryId
}
uuid_name! {
    /// A permission rule.
    RuleId
}

/// One child process of a session, numbered from 1. Number 0 is "outside any generation".
pub type GenerationNo = u32;

/// One turn of a session, numbered from 1 over all its generations.
pub type TurnNo = u32;

/// Wall-clock time: milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millis(pub i64);

impl Millis {
    /// The time `ms` milliseconds later.
    #[must_use]
    pub const fn plus(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Milliseconds from `earlier` to here; negative when the clock went back.
    #[must_use]
    pub const fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}
