//! The `ostler` binary.

fn main() {}
