//! The Windows form: batch files, and with them `npx`, can only be started through `cmd.exe`, which reads its
//! command line by rules of its own.
//!
//! The form is `cmd.exe /d /s /c "npx.cmd "@anthropic-ai/claude-code" "-p" …"`. `/d` keeps the registry's AutoRun
//! away, and `/s` makes `cmd` take off exactly the outermost pair of quotes. Inside, every word stands in quotes, so
//! that `& | < > ^ ( )` are nothing special. What stays special inside quotes can't be escaped in a way that holds
//! for every batch file, and is refused: `%` (a variable is put in its place), `"` (closes the quotes), `!` (where
//! delayed expansion is on) and control characters. The one text that needs quotes is a JSON schema.

use crate::spec::SpecError;
use std::ffi::{OsStr, OsString};

const CMD: [&str; 4] = ["cmd.exe", "/d", "/s", "/c"];

/// Whether `cmd.exe` is needed to start this program: a batch file, or one of npm's commands, which are batch files
/// there.
#[must_use]
pub fn is_batch(program: &str) -> bool {
    let name = program.rsplit(['\\', '/']).next().unwrap_or(program).to_ascii_lowercase();
    let npm = matches!(name.as_str(), "npx" | "npm" | "pnpm" | "pnpx" | "yarn" | "bunx");
    npm || name.ends_with(".cmd") || name.ends_with(".bat")
}

/// Whether a command line goes through `cmd.exe`.
#[must_use]
pub fn is_cmd(argv: &[OsString]) -> bool {
    argv.len() > CMD.len() && argv.iter().zip(CMD).all(|(a, b)| a.as_os_str() == OsStr::new(b))
}

/// `cmd.exe /d /s /c` and one last word that holds the whole inner command, ready to be passed raw.
pub(super) fn through_cmd(
    program: &str,
    words: impl Iterator<Item = OsString>,
) -> Result<Vec<OsString>, SpecError> {
    let mut inner = String::from("\"");
    inner.push_str(&quoted(&with_extension(program))?);
    for word in words {
        let text = word.to_str().ok_or_else(|| SpecError::Cmd {
            word: word.to_string_lossy().into_owned(),
            why: "it is not Unicode",
        })?;
        inner.push(' ');
        inner.push_str(&quoted(text)?);
    }
    inner.push('"');
    Ok(CMD.into_iter().map(OsString::from).chain(std::iter::once(OsString::from(inner))).collect())
}

/// `npx` is a shell script there and `npx.cmd` its batch file.
fn with_extension(program: &str) -> String {
    let lower = program.to_ascii_lowercase();
    if lower.ends_with(".cmd") || lower.ends_with(".bat") {
        program.to_owned()
    } else {
        format!("{program}.cmd")
    }
}

/// One word in quotes. A backslash before the closing quote is doubled, because the program that the batch file
/// starts reads `\"` as a quote.
fn quoted(word: &str) -> Result<String, SpecError> {
    let refuse = |why| Err(SpecError::Cmd { word: word.to_owned(), why });
    if word.contains('"') {
        return refuse("a double quote would end the quoting; use a claude.exe instead of a batch file");
    }
    if word.contains(['%', '!']) {
        return refuse(
            "cmd.exe puts variables in the place of % and !; use a claude.exe instead of a batch file",
        );
    }
    if word.chars().any(char::is_control) {
        return refuse("it holds a control character");
    }
    let backslashes = word.len() - word.trim_end_matches('\\').len();
    Ok(format!("\"{word}{}\"", "\\".repeat(backslashes)))
}

/// The text that `CreateProcess` gets for a command line that starts a program directly: the C runtime's rules.
/// (For one that goes through `cmd.exe` it is the words joined by spaces.)
#[must_use]
pub fn command_line(argv: &[OsString]) -> String {
    let words = argv.iter().map(|w| w.to_string_lossy().into_owned());
    if is_cmd(argv) {
        return words.collect::<Vec<_>>().join(" ");
    }
    words.map(|w| runtime_quoted(&w)).collect::<Vec<_>>().join(" ")
}

fn runtime_quoted(word: &str) -> String {
    if !word.is_empty() && !word.contains([' ', '\t', '"']) {
        return word.to_owned();
    }
    let mut out = String::from("\"");
    let mut backslashes = 0;
    for c in word.chars() {
        match c {
            '\\' => backslashes += 1,
            '"' => {
                // All backslashes so far are doubled, and one more escapes the quote.
                out.push_str(&"\\".repeat(backslashes + 1));
                backslashes = 0;
            }
            _ => backslashes = 0,
        }
        out.push(c);
    }
    out.push_str(&"\\".repeat(backslashes));
    out.push('"');
    out
}
