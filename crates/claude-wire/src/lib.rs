//! The stream-json protocol of Claude Code: frames that keep their bytes, typed views, builders.
