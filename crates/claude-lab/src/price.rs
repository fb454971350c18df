//! What requests cost.

pub mod bill;
