//! Scenarios that are played to a child behind the lab: to record what the real CLI says, and to compare a fake child
//! with it.

mod drive;
mod scenario;
mod scenes;
mod scrub;

pub use drive::{DriveError, Driven, Driver, Program};
pub use scenario::{Act, Answer, Group, Scenario, Seen, Version};
pub use scenes::scenarios;
pub use scrub::Scrubber;

/// The conversation of every scenario.
pub const SESSION: &str = "5e551011-0000-4000-8000-000000000001";

/// The model of every scenario.
pub const MODEL: &str = "claude-sonnet-4-5-20250929";
