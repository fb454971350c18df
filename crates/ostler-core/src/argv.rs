//! Launch spec → command line and the files beside it. Pure: the same spec gives the same bytes, on any machine.
//!
//! Flags come in one fixed order, each followed by its value as a word of its own. Whatever could hold a secret or a
//! prompt is written to a file in the session's folder first ([`files()`]) and argv names only the path: on most
//! systems everybody may read everybody's command lines.

mod compact;
mod files;
mod platform;
mod size;
pub mod windows;

pub use files::{Files, LaunchFile, files};
pub use platform::Platform;
pub use size::{TooBig, check_size};

use crate::ids::ConversationId;
use crate::spec::{LaunchSpec, Resolved, SettingSources, SpecError};
use std::ffi::OsString;

/// How the child is to open its conversation. Never by `--continue`: the most recent conversation of a directory may
/// be anybody's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The conversation has no transcript yet: `--session-id`.
    Fresh {
        /// The id that it gets.
        conversation: ConversationId,
    },
    /// It has one: `--resume`. (`--session-id` would say "already in use".)
    Resume {
        /// Its id.
        conversation: ConversationId,
    },
    /// It is to begin as a copy of another one: `--resume`, `--fork-session`, `--session-id`. Only until it has a
    /// transcript of its own.
    Fork {
        /// The id that it gets.
        conversation: ConversationId,
        /// The conversation that is copied.
        from: ConversationId,
    },
}

/// The whole command line, program first.
///
/// On Windows a launcher that is a batch file (`npx`, `claude.cmd`) becomes `cmd.exe /d /s /c "…"`: the words from
/// the fifth on are one string that is already quoted for `cmd.exe` and must be passed raw; see [`windows`].
///
/// # Errors
/// The spec is validated first, so a stored file that was edited can't start what creation would have refused.
pub fn build(
    spec: &LaunchSpec,
    start: Start,
    platform: Platform,
    files: &Files,
) -> Result<Vec<OsString>, SpecError> {
    spec.validate(platform)?;
    let mut line = Line { words: Vec::with_capacity(32) };
    stream_flags(&mut line);
    conversation(&mut line, start);
    models(&mut line, spec);
    permissions(&mut line, spec);
    by_file(&mut line, spec, platform, files);
    directories_and_agent(&mut line, spec);
    limits(&mut line, spec);
    for f in &spec.extra {
        line.word(&f.flag);
        if let Some(v) = &f.value {
            line.word(v);
        }
    }
    with_launcher(&spec.launcher.resolved, line.words, platform)
}

/// The words so far.
struct Line {
    words: Vec<OsString>,
}

impl Line {
    fn word(&mut self, word: &str) {
        self.words.push(word.into());
    }

    fn pair(&mut self, flag: &str, value: &str) {
        self.word(flag);
        self.word(value);
    }

    fn each(&mut self, flag: &str, values: &[String]) {
        for v in values {
            self.pair(flag, v);
        }
    }

    fn option(&mut self, flag: &str, value: Option<&str>) {
        if let Some(v) = value {
            self.pair(flag, v);
        }
    }
}

fn stream_flags(line: &mut Line) {
    line.word("-p");
    line.pair("--input-format", "stream-json");
    line.pair("--output-format", "stream-json");
    line.word("--verbose");
    line.word("--include-partial-messages");
    // CLIs before 2.1.206 send no receipts; there a message's replay says that it was taken up.
    line.word("--replay-user-messages");
}

fn conversation(line: &mut Line, start: Start) {
    match start {
        Start::Fresh { conversation } => line.pair("--session-id", &conversation.to_string()),
        Start::Resume { conversation } => line.pair("--resume", &conversation.to_string()),
        Start::Fork { conversation, from } => {
            line.pair("--resume", &from.to_string());
            line.word("--fork-session");
            line.pair("--session-id", &conversation.to_string());
        }
    }
}

fn models(line: &mut Line, spec: &LaunchSpec) {
    line.pair("--model", &spec.model);
    if !spec.fallback_models.is_empty() {
        line.pair("--fallback-model", &spec.fallback_models.join(","));
    }
    line.option("--effort", spec.effort.as_deref());
}

fn permissions(line: &mut Line, spec: &LaunchSpec) {
    line.pair("--permission-mode", spec.permission_mode.word());
    if spec.skip_permissions {
        line.word("--dangerously-skip-permissions");
    }
    line.pair("--permission-prompt-tool", "stdio");
    if let Some(tools) = &spec.tools {
        line.pair("--tools", &tools.join(","));
    }
    line.each("--allowedTools", &spec.allowed);
    line.each("--disallowedTools", &spec.disallowed);
}

fn by_file(line: &mut Line, spec: &LaunchSpec, platform: Platform, files: &Files) {
    if spec.setting_sources == SettingSources::Bare {
        line.word("--bare");
    }
    line.pair("--setting-sources", &spec.setting_sources.flag_value());
    for file in files::files(spec) {
        line.word(file.flag);
        line.words.push(files.path(&file.name, platform));
    }
    if spec.strict_mcp {
        line.word("--strict-mcp-config");
    }
}

fn directories_and_agent(line: &mut Line, spec: &LaunchSpec) {
    line.each("--plugin-dir", &spec.plugin_dirs);
    line.each("--add-dir", &spec.added_dirs);
    line.option("--agent", spec.agent.as_deref());
    if let Some(schema) = &spec.json_schema {
        line.pair("--json-schema", &compact::compact(schema));
    }
}

fn limits(line: &mut Line, spec: &LaunchSpec) {
    if let Some(turns) = spec.max_turns {
        line.pair("--max-turns", &turns.to_string());
    }
    if let Some(usd) = spec.max_budget_usd {
        line.pair("--max-budget-usd", &dollars(usd));
    }
}

/// Six decimals at most, so that a float that went through JSON prints as before.
fn dollars(usd: f64) -> String {
    let fixed = format!("{usd:.6}");
    fixed.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn with_launcher(
    launcher: &Resolved,
    flags: Vec<OsString>,
    platform: Platform,
) -> Result<Vec<OsString>, SpecError> {
    let program = &launcher.program.path;
    let words = launcher.args.iter().map(OsString::from).chain(flags);
    if platform == Platform::Windows && windows::is_batch(program) {
        return windows::through_cmd(program, words);
    }
    Ok(std::iter::once(OsString::from(program)).chain(words).collect())
}
