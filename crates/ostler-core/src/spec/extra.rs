//! Flags that are passed on to the CLI as they are: only those that somebody has looked at.
//!
//! A list of what is allowed and not of what is forbidden, because the CLI grows flags that change who is talked to
//! or where things are stored, and a list of bad ones is always a release behind.

use super::SpecError;
use serde::{Deserialize, Serialize};

/// A flag that is passed on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExtraFlag {
    /// With its dashes, as the CLI's `--help` spells it.
    pub flag: String,
    /// Its value, where it takes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// The flags that are passed on, and whether each takes a value. All are harmless to a session's identity, to the
/// stream and to the permission broker; from `--help` of 2.1.200 and 2.1.332.
const KNOWN: &[(&str, bool)] = &[
    ("--autocompact", true),
    ("--betas", true),
    ("--brief", false),
    ("--chrome", false),
    ("--debug-file", true),
    ("--disable-slash-commands", false),
    ("--exclude-dynamic-system-prompt-sections", false),
    ("--forward-subagent-text", false),
    ("--ide", false),
    ("--include-hook-events", false),
    ("--name", true),
    ("--no-chrome", false),
    ("--plugin-url", true),
    ("--replay-user-messages", false),
    ("--restricted", false),
    ("--safe-mode", false),
    ("--system-prompt-snapshot", true),
];

const OURS: &str = "ostler sets it itself";
const FIELD: &str = "it is a part of the launch spec: use ostler's own option";
const IDENTITY: &str = "ostler alone decides which conversation a child opens";

/// Flags that are refused with a better reason than "not on the list".
const FORBIDDEN: &[(&str, &str)] = &[
    ("--add-dir", FIELD),
    ("--agent", FIELD),
    ("--agents", FIELD),
    ("--allow-dangerously-skip-permissions", FIELD),
    ("--allowed-tools", FIELD),
    ("--allowedTools", FIELD),
    ("--append-system-prompt", FIELD),
    ("--append-system-prompt-file", FIELD),
    ("--background", "a session in the background has no stdin that ostler could talk to"),
    ("--bare", FIELD),
    ("--bg", "a session in the background has no stdin that ostler could talk to"),
    ("--cloud", "a cloud session is not a child of ostler"),
    ("--continue", "the most recent conversation of a directory may be somebody else's"),
    ("--dangerously-skip-permissions", FIELD),
    ("--desktop", "it opens an application"),
    ("--disallowed-tools", FIELD),
    ("--disallowedTools", FIELD),
    ("--effort", FIELD),
    ("--fallback-model", FIELD),
    ("--fork-session", IDENTITY),
    ("--from-pr", IDENTITY),
    ("--include-partial-messages", OURS),
    ("--input-format", OURS),
    ("--json-schema", FIELD),
    ("--max-budget-usd", FIELD),
    ("--max-turns", FIELD),
    ("--mcp-config", FIELD),
    ("--model", FIELD),
    ("--no-session-persistence", "a conversation that isn't stored can't be resumed"),
    ("--output-format", OURS),
    ("--permission-mode", FIELD),
    ("--permission-prompt-tool", OURS),
    ("--permission-prompts", OURS),
    ("--plugin-dir", FIELD),
    ("--print", OURS),
    ("--remote-control", "it starts an interactive session"),
    ("--resume", IDENTITY),
    ("--sdk-url", "it would take the stream away from ostler"),
    ("--session-id", IDENTITY),
    ("--setting-sources", FIELD),
    ("--settings", FIELD),
    ("--strict-mcp-config", FIELD),
    ("--system-prompt", FIELD),
    ("--system-prompt-file", FIELD),
    ("--teleport", IDENTITY),
    ("--tmux", "it opens a terminal"),
    ("--tools", FIELD),
    ("--verbose", OURS),
    ("--worktree", "the working directory is a part of the launch spec"),
    ("-c", "the most recent conversation of a directory may be somebody else's"),
    ("-p", OURS),
    ("-r", IDENTITY),
    ("-w", "the working directory is a part of the launch spec"),
];

/// Long flags that must not stand among a launcher's own words either: they would take effect before ours.
const NEVER_IN_LAUNCHER: &[&str] = &[
    "--background",
    "--bg",
    "--cloud",
    "--continue",
    "--dangerously-skip-permissions",
    "--fork-session",
    "--from-pr",
    "--input-format",
    "--no-session-persistence",
    "--output-format",
    "--print",
    "--resume",
    "--sdk-url",
    "--session-id",
    "--teleport",
];

/// Short forms of the same. Other programs use them for other things (`sh -c`, `npx -p`), so they are refused only
/// right behind `claude` itself.
const NEVER_BEHIND_CLAUDE: &[&str] = &["-c", "-p", "-r"];

/// Reads the words of a pass-through list: `--flag`, `--flag=value` and `--flag value`.
///
/// # Errors
/// Names the first word that isn't a reviewed flag, and says why where there is a reason.
pub fn parse_extra(words: &[String]) -> Result<Vec<ExtraFlag>, SpecError> {
    let mut flags: Vec<ExtraFlag> = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let (flag, inline) = split(word);
        let takes_value = lookup(flag)?;
        let value = match (takes_value, inline) {
            (true, Some(v)) => Some(v.to_owned()),
            (true, None) => rest.next().cloned(),
            (false, inline) => inline.map(str::to_owned),
        };
        flags.push(ExtraFlag { flag: flag.to_owned(), value });
    }
    check_extra(&flags)?;
    Ok(flags)
}

/// Checks flags that came out of a stored spec as strictly as typed ones.
pub(super) fn check_extra(flags: &[ExtraFlag]) -> Result<(), SpecError> {
    for (at, f) in flags.iter().enumerate() {
        let takes_value = lookup(&f.flag)?;
        if takes_value != f.value.is_some() {
            return Err(SpecError::FlagValue { flag: f.flag.clone(), wanted: takes_value });
        }
        if let Some(v) = &f.value {
            super::validate::word("a passed-on flag's value", v)?;
        }
        if f.flag != "--plugin-url" && flags[..at].iter().any(|e| e.flag == f.flag) {
            return Err(SpecError::FlagTwice(f.flag.clone()));
        }
    }
    Ok(())
}

/// Refuses words of a launcher that would decide what only ostler may decide.
pub(super) fn check_launcher_words(program: &str, args: &[String]) -> Result<(), SpecError> {
    let behind_claude = is_claude(program);
    for word in args {
        let flag = split(word).0;
        let bad = NEVER_IN_LAUNCHER.contains(&flag) || (behind_claude && NEVER_BEHIND_CLAUDE.contains(&flag));
        if bad {
            let why = reason(flag).unwrap_or(OURS);
            return Err(SpecError::ForbiddenFlag { flag: word.clone(), why });
        }
    }
    Ok(())
}

/// Whether the flag takes a value.
fn lookup(flag: &str) -> Result<bool, SpecError> {
    if let Some((_, takes_value)) = KNOWN.iter().find(|(f, _)| *f == flag) {
        return Ok(*takes_value);
    }
    if let Some(why) = reason(flag) {
        return Err(SpecError::ForbiddenFlag { flag: flag.to_owned(), why });
    }
    if !flag.starts_with('-') {
        return Err(SpecError::NotAFlag(flag.to_owned()));
    }
    let known: Vec<&str> = KNOWN.iter().map(|(f, _)| *f).collect();
    Err(SpecError::UnknownFlag { flag: flag.to_owned(), known: known.join(" ") })
}

fn reason(flag: &str) -> Option<&'static str> {
    FORBIDDEN.iter().find(|(f, _)| *f == flag).map(|(_, why)| *why)
}

fn split(word: &str) -> (&str, Option<&str>) {
    word.split_once('=').map_or((word, None), |(f, v)| (f, Some(v)))
}

fn is_claude(program: &str) -> bool {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let stem = name.strip_suffix(".exe").or_else(|| name.strip_suffix(".cmd")).unwrap_or(name);
    stem == "claude"
}
