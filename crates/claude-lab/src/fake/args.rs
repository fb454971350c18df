//! The command line of `claude`, as strict as the real one.

use std::ffi::OsString;

use uuid::Uuid;

/// What was asked for.
#[derive(Debug)]
pub(super) enum Asked {
    Version,
    Session(Box<Options>),
}

/// The options that change what a fake child does.
#[derive(Debug, Default, Clone)]
pub(super) struct Options {
    pub(super) session_id: Option<String>,
    pub(super) resume: Option<String>,
    pub(super) fork: bool,
    pub(super) model: String,
    pub(super) permission_mode: String,
    /// Asks for permissions on the control channel.
    pub(super) asks: bool,
    /// Nothing is asked.
    pub(super) skips_permissions: bool,
    pub(super) partial: bool,
    pub(super) replays: bool,
    pub(super) max_turns: Option<u64>,
    pub(super) max_budget: Option<f64>,
}

/// Flags with one value.
const VALUES: &[&str] = &[
    "--agent",
    "--agents",
    "--append-system-prompt",
    "--append-system-prompt-file",
    "--effort",
    "--fallback-model",
    "--input-format",
    "--json-schema",
    "--max-budget-usd",
    "--max-turns",
    "--model",
    "--name",
    "--output-format",
    "--permission-mode",
    "--permission-prompt-tool",
    "--plugin-dir",
    "--resume",
    "--session-id",
    "--setting-sources",
    "--settings",
    "--system-prompt",
    "--system-prompt-file",
];

/// Flags with at least one value, up to the next flag.
const LISTS: &[&str] = &[
    "--add-dir",
    "--allowed-tools",
    "--allowedTools",
    "--betas",
    "--disallowed-tools",
    "--disallowedTools",
    "--mcp-config",
    "--tools",
];

/// Flags without a value.
const SWITCHES: &[&str] = &[
    "--bare",
    "--dangerously-skip-permissions",
    "--disable-slash-commands",
    "--fork-session",
    "--include-hook-events",
    "--include-partial-messages",
    "--print",
    "--replay-user-messages",
    "--strict-mcp-config",
    "--verbose",
];

const MODES: &[&str] = &["acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "manual", "plan"];

/// Reads the words after the program's name; the error is what the real one prints before it exits with 1.
pub(super) fn parse(words: &[OsString]) -> Result<Asked, String> {
    let mut flags = Vec::new();
    let mut words = words.iter().map(|word| word.to_string_lossy().into_owned()).peekable();
    while let Some(word) = words.next() {
        if word == "--version" || word == "-v" {
            return Ok(Asked::Version);
        }
        let (flag, inline) = match word.split_once('=') {
            Some((flag, value)) if word.starts_with("--") => (long(flag), Some(value.to_owned())),
            _ => (long(&word), None),
        };
        if SWITCHES.contains(&flag.as_str()) && inline.is_none() {
            flags.push((flag, String::new()));
        } else if VALUES.contains(&flag.as_str()) {
            let value = inline.or_else(|| words.next()).ok_or_else(|| missing(&flag))?;
            flags.push((flag, value));
        } else if LISTS.contains(&flag.as_str()) {
            let first = inline.or_else(|| words.next()).ok_or_else(|| missing(&flag))?;
            flags.push((flag.clone(), first));
            while let Some(value) = words.next_if(|word| !word.starts_with('-')) {
                flags.push((flag.clone(), value));
            }
        } else if flag.starts_with('-') {
            return Err(format!("error: unknown option '{word}'"));
        } else {
            return Err(format!("fake-claude: a prompt in the command line (`{word}`) is not played"));
        }
    }
    check(&flags)?;
    options(&flags).map(|options| Asked::Session(Box::new(options)))
}

fn long(flag: &str) -> String {
    match flag {
        "-p" => "--print",
        "-r" => "--resume",
        "-n" => "--name",
        other => other,
    }
    .to_owned()
}

fn missing(flag: &str) -> String {
    format!("error: option '{flag}' argument missing")
}

fn last<'a>(flags: &'a [(String, String)], name: &str) -> Option<&'a str> {
    flags.iter().rev().find(|(flag, _)| flag == name).map(|(_, value)| value.as_str())
}

/// What a stream-json child must be told.
fn check(flags: &[(String, String)]) -> Result<(), String> {
    if last(flags, "--print").is_none() {
        return Err("fake-claude: only `-p` is played".to_owned());
    }
    for name in ["--input-format", "--output-format"] {
        if last(flags, name) != Some("stream-json") {
            return Err(format!("fake-claude: only `{name} stream-json` is played"));
        }
    }
    if last(flags, "--verbose").is_none() {
        return Err("Error: When using --print, --output-format=stream-json requires --verbose".to_owned());
    }
    Ok(())
}

fn options(flags: &[(String, String)]) -> Result<Options, String> {
    let on = |name| last(flags, name).is_some();
    let text = |name| last(flags, name).map(str::to_owned);
    let options = Options {
        session_id: text("--session-id"),
        resume: text("--resume"),
        fork: on("--fork-session"),
        model: text("--model").unwrap_or_else(|| "claude-sonnet-4-5-20250929".to_owned()),
        permission_mode: text("--permission-mode").unwrap_or_else(|| "default".to_owned()),
        asks: last(flags, "--permission-prompt-tool") == Some("stdio"),
        skips_permissions: on("--dangerously-skip-permissions"),
        partial: on("--include-partial-messages"),
        replays: on("--replay-user-messages"),
        max_turns: number(flags, "--max-turns", "turns")?,
        max_budget: number(flags, "--max-budget-usd", "amount")?,
    };
    for id in [&options.session_id, &options.resume].into_iter().flatten() {
        if Uuid::parse_str(id).is_err() {
            return Err("Error: Invalid session ID. Must be a valid UUID.".to_owned());
        }
    }
    if options.session_id.is_some() && options.resume.is_some() && !options.fork {
        return Err("Error: --session-id with --continue or --resume also needs --fork-session.".to_owned());
    }
    let mode = options.permission_mode.as_str();
    if !MODES.contains(&mode) {
        return Err(format!(
            "error: option '--permission-mode <mode>' argument '{mode}' is invalid. Allowed choices are {}.",
            MODES.join(", ")
        ));
    }
    Ok(options)
}

fn number<T: std::str::FromStr>(
    flags: &[(String, String)],
    name: &str,
    value: &str,
) -> Result<Option<T>, String> {
    let Some(word) = last(flags, name) else { return Ok(None) };
    word.parse().map(Some).map_err(|_| {
        format!("error: option '{name} <{value}>' argument '{word}' is invalid. must be a number")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(line: &str) -> Result<Options, String> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        match parse(&words)? {
            Asked::Session(options) => Ok(*options),
            Asked::Version => Err("version".to_owned()),
        }
    }

    const BASE: &str = "-p --input-format stream-json --output-format stream-json --verbose";

    #[test]
    fn the_flags_of_a_session_are_read() {
        let line = format!(
            "{BASE} --resume 11111111-0000-4000-8000-000000000001 --tools Bash Read --model=m --max-turns 3 \
             --permission-prompt-tool stdio --include-partial-messages"
        );
        let options = session(&line).unwrap();
        assert_eq!(options.max_turns, Some(3));
        assert!(options.asks && options.partial && options.model == "m" && options.session_id.is_none());
    }

    #[test]
    fn what_the_real_one_refuses_is_refused() {
        for (extra, says) in [
            ("--nonsense", "unknown option '--nonsense'"),
            ("--session-id abc", "Invalid session ID"),
            ("--permission-mode foo", "argument 'foo' is invalid"),
            ("--max-turns x", "must be a number"),
            ("--model", "argument missing"),
            ("hello", "prompt in the command line"),
        ] {
            let error = session(&format!("{BASE} {extra}")).unwrap_err();
            assert!(error.contains(says), "{extra}: {error}");
        }
        let verbose = session("-p --input-format stream-json --output-format stream-json").unwrap_err();
        assert!(verbose.contains("requires --verbose"));
    }
}
