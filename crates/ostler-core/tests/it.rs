//! Tests of ostler-core through its public interface.
#![expect(clippy::unwrap_used, reason = "a test fails where it fails; its helpers too")]

#[path = "it/argv.rs"]
mod argv;
#[path = "it/argv_properties.rs"]
mod argv_properties;
#[path = "it/broker.rs"]
mod broker;
#[path = "it/content.rs"]
mod content;
#[path = "it/env.rs"]
mod env;
#[path = "it/fingerprint.rs"]
mod fingerprint;
#[path = "it/history.rs"]
mod history;
#[path = "it/machine.rs"]
mod machine;
#[path = "it/samples.rs"]
mod samples;
#[path = "it/spec.rs"]
mod spec;
