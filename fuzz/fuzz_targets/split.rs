//! Any bytes, any chunking: the same lines. The first four bytes choose chunk sizes and the cap on a line.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/claude-wire/tests/it/invariants.rs"]
#[expect(dead_code, reason = "the other target uses the rest")]
mod invariants;

fuzz_target!(|bytes: &[u8]| {
    let Some((&[a, b, c, cap], stream)) = bytes.split_first_chunk() else { return };
    let cap = if cap < 128 { usize::from(cap) } else { 1 << 20 };
    invariants::splits_right(stream, &[a.into(), b.into(), c.into()], 1 << 33, cap);
});
