//! What is executed: a command line, resolved once.

use serde::{Deserialize, Serialize};

/// A command line that starts Claude Code, and what it was resolved to when the session was created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launcher {
    /// The words as the person gave them (environment prefix included), or the one path that was found.
    pub command: Vec<String>,
    /// What they mean on this machine.
    pub resolved: Resolved,
}

/// A launcher as it is executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resolved {
    /// Variables from an environment prefix (`FOO=1 claude`), in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<(String, String)>,
    /// The program.
    pub program: PinnedFile,
    /// Words between the program and claude's own flags: a script, `@anthropic-ai/claude-code`, …
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Those of [`Self::args`] that are files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scripts: Vec<PinnedFile>,
    /// What `--version` said: `2.1.332`.
    pub version: String,
    /// The CLI reads `--agents` from a file, as its `--help` says (2.1.283 does, 2.1.240 ignores the path in
    /// silence; measured).
    pub agents_by_file: bool,
}

/// A file as it was when the launcher was resolved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedFile {
    /// Absolute path.
    pub path: String,
    /// SHA-256 of its bytes, in hex.
    pub sha256: String,
    /// Bytes.
    pub size: u64,
    /// Modification time, nanoseconds since 1970.
    pub mtime_ns: u64,
}
