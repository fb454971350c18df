//! A scripted Messages API with a cache and price model, and fake children, to run Claude Code for nothing.
//!
//! - [`Lab`] (or [`blocking::LabThread`]) is the API on loopback: the real `claude` talks to it when
//!   `ANTHROPIC_BASE_URL` is [`Lab::base_url`] or [`Lab::url_for`] a script.
//! - [`Script`] says what it answers; the format is described in `docs/lab.md`.
//! - [`Bill`] says what it would have cost.
//! - [`fake`] plays the child itself, for what the real one will not do on command.

pub mod blocking;
pub mod cache;
pub mod clock;
pub mod fake;
pub mod fault;
pub mod log;
pub mod price;
pub mod record;
pub mod script;

mod api;

pub use api::state::{RunningLab, keep_script, running};
pub use api::{Lab, LabConfig, LabError, Limits};
pub use clock::{Clock, ManualClock};
pub use log::LoggedRequest;
pub use price::bill::{Bill, Charge, Tokens};
pub use script::{Script, ScriptError, ScriptRef};
