//! A supervisor for headless Claude Code sessions.

pub mod doctor;
pub mod launcher;
