//! A supervisor for headless Claude Code sessions.
