//! Reading a prompt, and refusing one that can't be meant.

use crate::failure::{Failure, UsageError};
use clap::Args;
use ostler_os::term::{self, Stream};
use std::ffi::OsString;
use std::io::Read;
use std::path::PathBuf;

/// The longest prompt that is taken, in bytes.
pub(super) const MAX_PROMPT: usize = ostler_controller::client::MAX_PROMPT;

/// Commands of the interactive CLI that leave or swap the conversation, under which a session could not be found
/// again.
const REFUSED: [&str; 3] = ["/clear", "/exit", "/resume"];

/// Where the prompt comes from.
#[derive(Debug, Args)]
pub(super) struct PromptArgs {
    /// What to say; several words are joined by spaces. `-`, or nothing in a pipe, reads standard input
    #[arg(value_name = "PROMPT")]
    words: Vec<OsString>,
    /// Read the prompt from a file
    #[arg(long, value_name = "FILE")]
    prompt_file: Option<PathBuf>,
    /// Send /clear, /resume and /exit too, which are refused otherwise
    #[arg(long, conflicts_with = "literal")]
    raw: bool,
    /// Send text that begins with `/` as text, not as a command (a space is put in front of it)
    #[arg(long)]
    literal: bool,
}

impl PromptArgs {
    /// The prompt, checked.
    pub(super) fn read(&self) -> Result<String, Failure> {
        let (bytes, place) = self.bytes()?;
        let text = text(bytes, place)?;
        self.check(text)
    }

    fn bytes(&self) -> Result<(Vec<u8>, String), Failure> {
        match (&self.words[..], &self.prompt_file) {
            ([], Some(path)) => {
                let file = std::fs::File::open(path)
                    .map_err(|source| UsageError::File { path: path.clone(), source })?;
                let read = bounded(file).map_err(|source| UsageError::File { path: path.clone(), source })?;
                Ok((read, path.display().to_string()))
            }
            (_, Some(_)) => {
                Err(UsageError::TwoPrompts { first: "the arguments", second: "--prompt-file" }.into())
            }
            ([], None) if term::is_tty(Stream::Stdin) => Err(UsageError::NoPrompt.into()),
            ([], None) => stdin(),
            ([one], None) if one == "-" => stdin(),
            (words, None) => {
                let parts: Vec<&[u8]> = words.iter().map(|w| w.as_encoded_bytes()).collect();
                Ok((parts.join(&b' '), "the command line".to_owned()))
            }
        }
    }

    fn check(&self, text: String) -> Result<String, Failure> {
        if text.trim().is_empty() {
            return Err(UsageError::EmptyPrompt.into());
        }
        if !text.starts_with('/') || self.raw {
            return Ok(text);
        }
        if self.literal {
            // The CLI takes a command only at the very start of a message (measured on 2.1.200 to 2.1.332).
            return Ok(format!(" {text}"));
        }
        let word = text.split_whitespace().next().unwrap_or_default();
        if REFUSED.contains(&word) {
            return Err(UsageError::SlashCommand { word: word.to_owned() }.into());
        }
        Ok(text)
    }
}

fn stdin() -> Result<(Vec<u8>, String), Failure> {
    let read = bounded(std::io::stdin().lock()).map_err(UsageError::Stdin)?;
    Ok((read, "standard input".to_owned()))
}

/// One byte more than is taken, so that too much is known without reading all of it.
fn bounded(from: impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MAX_PROMPT as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Bytes as text. A line break at the end of a file or pipe is not part of what somebody says.
fn text(bytes: Vec<u8>, place: String) -> Result<String, UsageError> {
    if bytes.len() > MAX_PROMPT {
        return Err(UsageError::TooLarge { place, limit: MAX_PROMPT });
    }
    let mut text = String::from_utf8(bytes)
        .map_err(|e| UsageError::NotUtf8 { place, offset: e.utf8_error().valid_up_to() })?;
    text.truncate(text.trim_end_matches(['\n', '\r']).len());
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(words: &[&str], raw: bool, literal: bool) -> PromptArgs {
        PromptArgs { words: words.iter().map(OsString::from).collect(), prompt_file: None, raw, literal }
    }

    fn read(words: &[&str]) -> Result<String, String> {
        args(words, false, false).read().map_err(|f| f.source.to_string())
    }

    #[test]
    fn words_are_joined() {
        assert_eq!(read(&["Say", "hello"]), Ok("Say hello".to_owned()));
        assert_eq!(read(&["- a list"]), Ok("- a list".to_owned()));
        assert!(read(&[" \n "]).is_err_and(|e| e.contains("empty")));
    }

    #[test]
    fn commands_that_swap_the_conversation_are_refused() {
        for word in REFUSED {
            assert!(read(&[word]).is_err(), "{word}");
            assert!(read(&[&format!("{word} now")]).is_err(), "{word}");
            assert_eq!(args(&[word], true, false).read().ok(), Some(word.to_owned()));
            assert_eq!(args(&[word], false, true).read().ok(), Some(format!(" {word}")));
        }
        for passes in ["/compact", "/clearing", "/", "/ clear", "say /clear"] {
            assert_eq!(read(&[passes]), Ok(passes.to_owned()));
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_named_by_place() {
        let error = text(b"ab\xff".to_vec(), "here".into()).expect_err("not UTF-8").to_string();
        assert!(error.contains("offset 2") && error.contains("here"), "{error}");
        assert_eq!(text(b"a\r\n\n".to_vec(), String::new()).ok(), Some("a".to_owned()));
        assert!(text(vec![b'a'; MAX_PROMPT + 1], String::new()).is_err());
        assert!(text(vec![b'a'; MAX_PROMPT], String::new()).is_ok());
    }
}
