//! How long a controller waits for what. Defaults are design decisions; every one can be set, in the launch spec.

use serde::{Deserialize, Serialize};

/// Deadlines of one session, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// From the first delivery written to any sign of life.
    pub start: u64,
    /// Silence of a child that owes a message until the turn is called slow.
    pub slow: u64,
    /// And until it counts as stalled and is interrupted.
    pub stalled: u64,
    /// A compaction may take this long. It looks like a hang (field case 14).
    pub compaction: u64,
    /// A delivery to a session whose agent has declared waits this long for the old child to leave by itself.
    pub wake_wait: u64,
    /// A background shell may outlive its result this long.
    pub shells: u64,
    /// A background agent may.
    pub agents: u64,
    /// From a `task_notification` to the `system/init` of the turn it wakes. Measured at 10–50 ms (protocol page).
    pub notification: u64,
    /// Silence after a result that counts as idle on a CLI that doesn't say so.
    pub quiet: u64,
    /// For an interrupt to be confirmed.
    pub interrupt: u64,
    /// From a confirmed interrupt to the result of what it broke off.
    pub aborted: u64,
    /// For a child to leave after `end_session`. Measured at 40–220 ms without SessionEnd hooks (protocol page).
    pub end: u64,
    /// For a line longer than the pipe to be taken by a child that reads.
    pub write: u64,
    /// A settled child stays this long for the next delivery.
    pub linger: u64,
    /// The first wait behind a rate limit whose end nobody announced; it doubles, to 15 times this.
    pub backoff: u64,
    /// How many generations one delivery may be offered to.
    pub attempts: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            start: 60_000,
            slow: 120_000,
            stalled: 600_000,
            compaction: 15 * 60_000,
            wake_wait: 5 * 60_000,
            shells: 60 * 60_000,
            agents: 4 * 60 * 60_000,
            notification: 5_000,
            quiet: 2_000,
            interrupt: 5_000,
            aborted: 30_000,
            end: 5_000,
            write: 60_000,
            linger: 0,
            backoff: 60_000,
            attempts: 2,
        }
    }
}

impl Limits {
    /// True when nothing was set.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
