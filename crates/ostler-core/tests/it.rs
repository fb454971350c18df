//! Tests of ostler-core through its public interface.

#[path = "it/argv.rs"]
mod argv;
#[path = "it/argv_properties.rs"]
mod argv_properties;
#[path = "it/env.rs"]
mod env;
#[path = "it/samples.rs"]
mod samples;
#[path = "it/spec.rs"]
mod spec;
