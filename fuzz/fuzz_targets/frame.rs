//! Any line: its bytes are kept, it is noise exactly if it is no JSON object, nothing panics.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/claude-wire/tests/it/invariants.rs"]
#[expect(dead_code, reason = "the other target uses the rest")]
mod invariants;

fuzz_target!(|line: &[u8]| invariants::reads_right(line));
