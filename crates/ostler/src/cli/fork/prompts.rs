//! What the forks of one command are told: arguments, files, or lines of JSON.

use crate::failure::{Failure, UsageError};
use clap::Args;
use ostler_core::content::{Content, MAX_MESSAGE};
use ostler_core::ids::SessionId;
use serde::Deserialize;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;

/// How many forks one command makes at most.
const MOST: usize = 1_000;

/// Where the prompts come from.
#[derive(Debug, Args)]
pub(in super::super) struct PromptsArgs {
    /// What to say; each is a fork of its own. `-` reads lines of JSON from standard input: a string, or an object with
    /// `prompt`, and optionally `id`, `label`, `max_budget_usd`, `max_turns`
    #[arg(value_name = "PROMPT")]
    prompts: Vec<String>,
    /// Read a prompt from a file (repeatable); each is a fork of its own
    #[arg(long, value_name = "FILE")]
    prompt_file: Vec<PathBuf>,
}

/// One fork that is asked for.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) content: Content,
    pub(super) id: Option<SessionId>,
    pub(super) label: Option<String>,
    pub(super) max_budget_usd: Option<f64>,
    pub(super) max_turns: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    prompt: String,
    id: Option<SessionId>,
    label: Option<String>,
    max_budget_usd: Option<f64>,
    max_turns: Option<u32>,
}

impl Asked {
    fn text(text: String) -> Result<Self, Failure> {
        let content = Content::Text(text);
        if content.is_blank() {
            return Err(UsageError::EmptyPrompt.into());
        }
        let len = content.size();
        if len > MAX_MESSAGE {
            return Err(UsageError::MessageTooLarge { len, limit: MAX_MESSAGE }.into());
        }
        if let Content::Text(text) = &content
            && let Some(word) = text.split_whitespace().next()
            && text.starts_with('/')
            && ["/clear", "/exit", "/resume"].contains(&word)
        {
            return Err(UsageError::SlashCommand { word: word.to_owned() }.into());
        }
        Ok(Self { content, id: None, label: None, max_budget_usd: None, max_turns: None })
    }
}

impl PromptsArgs {
    /// All of them, checked: nothing is made when one of them can't be meant.
    pub(super) fn read(&self) -> Result<Vec<Asked>, Failure> {
        let mut all = Vec::new();
        for prompt in &self.prompts {
            if prompt == "-" {
                all.extend(lines(std::io::stdin().lock())?);
            } else {
                all.push(Asked::text(prompt.clone())?);
            }
        }
        for path in &self.prompt_file {
            let failed = |source| UsageError::File { path: path.clone(), source };
            let mut bytes = Vec::new();
            let file = std::fs::File::open(path).map_err(failed)?;
            file.take(MAX_MESSAGE as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
            let text =
                String::from_utf8(bytes).map_err(|_| UsageError::FileNotUtf8 { path: path.clone() })?;
            all.push(Asked::text(text.trim_end_matches(['\n', '\r']).to_owned())?);
        }
        if all.is_empty() {
            return Err(UsageError::NoPrompt.into());
        }
        if all.len() > MOST {
            return Err(UsageError::TooManyForks { count: all.len(), limit: MOST }.into());
        }
        Ok(all)
    }
}

/// One fork a line; empty lines are none.
fn lines(input: impl Read) -> Result<Vec<Asked>, Failure> {
    // Every prompt at its largest, and no more: what is longer is no list of prompts.
    const ALL: u64 = 256 << 20;
    let mut all = Vec::new();
    for (at, line) in BufReader::new(input.take(ALL)).split(b'\n').enumerate() {
        let line = line.map_err(UsageError::Stdin)?;
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let bad = |source| UsageError::PromptLine { line: at + 1, source };
        let asked = if line.trim_ascii_start().starts_with(b"\"") {
            Asked::text(serde_json::from_slice(&line).map_err(bad)?)?
        } else {
            let Line { prompt, id, label, max_budget_usd, max_turns } =
                serde_json::from_slice(&line).map_err(bad)?;
            Asked { id, label, max_budget_usd, max_turns, ..Asked::text(prompt)? }
        };
        all.push(asked);
        if all.len() > MOST {
            break;
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_string_or_an_object() {
        let text = "\"one\"\n\n{\"prompt\":\"two\",\"label\":\"b\",\"max_turns\":3}\n";
        let all = lines(text.as_bytes()).expect("good lines");
        assert_eq!(all.iter().map(|a| a.content.clone()).collect::<Vec<_>>(), ["one".into(), "two".into()]);
        assert_eq!((all[1].label.as_deref(), all[1].max_turns), (Some("b"), Some(3)));
        for bad in ["{\"promt\":\"x\"}", "{}", "x", "{\"prompt\":\" \"}", "{\"prompt\":\"/clear\"}"] {
            assert!(lines(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
