//! The turn machine, case by case: short hand-written journals and what they fold to.
//!
//! A case is a text, one line each: `<` is a line of the child's, everything else is what somebody does. See
//! [`script`] for the words.

#[path = "machine/recordings.rs"]
mod recordings;
#[path = "machine/refusals.rs"]
mod refusals;
#[path = "machine/script.rs"]
mod script;
#[path = "machine/silence.rs"]
mod silence;
#[path = "machine/theme_a.rs"]
mod theme_a;
#[path = "machine/theme_b.rs"]
mod theme_b;
#[path = "machine/theme_d.rs"]
mod theme_d;
#[path = "machine/theme_j.rs"]
mod theme_j;
#[path = "machine/theme_k.rs"]
mod theme_k;
#[path = "machine/versions.rs"]
mod versions;
