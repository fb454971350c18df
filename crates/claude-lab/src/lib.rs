//! A scripted Messages API with a cache and price model, and fake children, to run Claude Code for nothing.
