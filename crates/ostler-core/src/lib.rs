//! What a session means, as pure code: no I/O, no clock, no threads.
//!
//! | module | subject |
//! | --- | --- |
//! | [`spec`] | the launch spec: everything that decides how a child starts |
//! | [`argv`] | launch spec → command line and launch files |
//! | [`mod@env`] | launch spec → environment |
//! | [`rule`] | permission rules: patterns, scopes, which one decides |
//! | [`question`] | the model's questions, and answers to them |
//! | [`answer`] | the line that answers a request of the child |
//! | [`content`] | what a message says: text, or content blocks that were found good |
//! | [`ids`] | the names of sessions, deliveries, conversations; wall-clock milliseconds |
//! | [`ctl`] | the rows of `gen/N/ctl`: what ostler wrote to a child and what it decided |
//! | [`base`] | what is kept of a trained base: what its forks can expect |
//! | [`fingerprint`] | everything that can reach the cached prefix, one hash a field |
//! | [`rows`] | what a journal folds to: the records that the store keeps and can rebuild |
//!
//! Everything else in this crate is built on these three.

pub mod answer;
pub mod argv;
pub mod base;
pub mod baseline;
pub mod content;
pub mod ctl;
pub mod env;
pub mod fingerprint;
pub mod ids;
pub mod limits;
pub mod machine;
pub mod question;
pub mod record;
pub mod rows;
pub mod rule;
pub mod spec;
