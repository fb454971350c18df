//! What a tool call is about.

use super::shell::{self, Shell};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// A tool call, as far as rules look at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The tool.
    pub tool: String,
    /// Its main argument, where ostler knows which that is and the call has it.
    pub argument: Option<String>,
    /// The argument of Bash, read.
    pub(super) shell: Option<Shell>,
    /// It asks for more than its main argument says: to leave the sandbox, or to look elsewhere. No pattern allows that.
    pub(super) unusual: bool,
}

/// What a tool's main argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Argument {
    /// A command line.
    Shell,
    /// A path.
    Path,
    /// A URL.
    Url,
    /// Any text.
    Text,
}

/// The tools whose main argument is known, and where it stands.
const KNOWN: &[(&str, &str, Argument)] = &[
    ("Agent", "subagent_type", Argument::Text),
    ("Bash", "command", Argument::Shell),
    ("Edit", "file_path", Argument::Path),
    ("Glob", "path", Argument::Path),
    ("Grep", "path", Argument::Path),
    ("LS", "path", Argument::Path),
    ("MultiEdit", "file_path", Argument::Path),
    ("NotebookEdit", "notebook_path", Argument::Path),
    ("NotebookRead", "notebook_path", Argument::Path),
    ("Read", "file_path", Argument::Path),
    ("Skill", "skill", Argument::Text),
    ("SlashCommand", "command", Argument::Text),
    ("Task", "subagent_type", Argument::Text),
    ("WebFetch", "url", Argument::Url),
    ("WebSearch", "query", Argument::Text),
    ("Write", "file_path", Argument::Path),
];

/// What the main argument of a tool is; None: it has none that is known.
pub(super) fn argument(tool: &str) -> Option<Argument> {
    KNOWN.iter().find(|(name, _, _)| *name == tool).map(|(_, _, argument)| *argument)
}

impl Call {
    /// From a tool's name and its input.
    #[must_use]
    pub fn new(tool: &str, input: &RawValue) -> Self {
        let input: Map<String, Value> = serde_json::from_str(input.get()).unwrap_or_default();
        let known = KNOWN.iter().find(|(name, _, _)| *name == tool);
        let text = |field: &str| input.get(field).and_then(Value::as_str).map(str::to_owned);
        let mut argument = known.and_then(|(_, field, _)| text(field));
        if argument.is_none() && matches!(tool, "Glob" | "Grep" | "LS") {
            // They search the working directory then.
            argument = Some(".".to_owned());
        }
        let is_shell = known.is_some_and(|(_, _, argument)| *argument == Argument::Shell);
        let shell = argument.as_deref().filter(|_| is_shell).map(shell::read);
        let asked = |name: &str| input.get(name).is_some_and(|v| *v != Value::Bool(false) && !v.is_null());
        // The pattern of a search may name another place than its path does.
        let away = |glob: String| glob.starts_with(['/', '~']) || glob.contains("..");
        let unusual =
            asked("dangerouslyDisableSandbox") || (tool == "Glob" && text("pattern").is_some_and(away));
        Self { tool: tool.to_owned(), argument, shell, unusual }
    }

    /// From a tool's name and its main argument, as one would type it.
    #[must_use]
    pub fn typed(tool: &str, argument: &str) -> Self {
        let shell = (self::argument(tool) == Some(Argument::Shell)).then(|| shell::read(argument));
        Self { tool: tool.to_owned(), argument: Some(argument.to_owned()), shell, unusual: false }
    }
}
