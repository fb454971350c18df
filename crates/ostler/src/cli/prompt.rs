//! Reading a prompt, and refusing one that can't be meant.

use crate::failure::{Failure, UsageError};
use clap::Args;
use ostler_core::content::{Block, BlockError, Blocks, Content, MAX_MESSAGE, literally, swapping_command};
use ostler_os::term::{self, Stream};
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

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
    /// Send an image before the prompt (repeatable): png, jpeg, gif or webp, whatever its name; at most 3.75 MiB, for the
    /// API takes at most 5 MiB of base64
    #[arg(long = "image", value_name = "FILE")]
    images: Vec<PathBuf>,
    /// Send a document before the prompt (repeatable): a PDF, or UTF-8 text with the file's name as its title
    #[arg(long = "file", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Send these content blocks instead of a prompt: a JSON array of text, image and document blocks as the Messages API
    /// has them; `-` reads standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["words", "prompt_file", "literal", "images", "files"])]
    content: Option<PathBuf>,
}

impl PromptArgs {
    /// What is said, checked. The files come first, documents before images: so the model has seen them when it reads
    /// what to do with them.
    pub(super) fn read(&self) -> Result<Content, Failure> {
        let content = match &self.content {
            Some(path) => self.blocks(path)?,
            None => self.prompt()?,
        };
        let len = content.size();
        if len > MAX_MESSAGE {
            return Err(UsageError::MessageTooLarge { len, limit: MAX_MESSAGE }.into());
        }
        Ok(content)
    }

    fn prompt(&self) -> Result<Content, Failure> {
        let (bytes, place) = self.bytes()?;
        let text = self.check(text(bytes, place)?)?;
        if self.files.is_empty() && self.images.is_empty() {
            return Ok(Content::Text(text));
        }
        let documents =
            self.files.iter().map(|path| attached(path, |bytes| Block::document(&title(path), bytes)));
        let images = self.images.iter().map(|path| attached(path, Block::image));
        let mut blocks = documents.chain(images).collect::<Result<Vec<Block>, UsageError>>()?;
        blocks.push(Block::text(&text));
        Ok(Content::Blocks(Blocks::of(blocks).map_err(UsageError::Content)?))
    }

    fn blocks(&self, path: &Path) -> Result<Content, Failure> {
        let (bytes, place) =
            if path.as_os_str() == "-" { stdin()? } else { (file(path)?, path.display().to_string()) };
        let blocks = Blocks::parse(&text(bytes, place)?).map_err(UsageError::Content)?;
        // The CLI takes a command of a text block as well.
        for text in blocks.texts() {
            self.check(text)?;
        }
        Ok(Content::Blocks(blocks))
    }

    fn bytes(&self) -> Result<(Vec<u8>, String), Failure> {
        match (&self.words[..], &self.prompt_file) {
            ([], Some(path)) => Ok((file(path)?, path.display().to_string())),
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
        if self.literal {
            return Ok(literally(text));
        }
        match swapping_command(&text).filter(|_| !self.raw) {
            Some(word) => Err(UsageError::SlashCommand { word: word.to_owned() }.into()),
            None => Ok(text),
        }
    }
}

fn stdin() -> Result<(Vec<u8>, String), Failure> {
    let read = bounded(std::io::stdin().lock()).map_err(UsageError::Stdin)?;
    Ok((read, "standard input".to_owned()))
}

fn file(path: &Path) -> Result<Vec<u8>, UsageError> {
    let failed = |source| UsageError::File { path: path.to_owned(), source };
    bounded(std::fs::File::open(path).map_err(failed)?).map_err(failed)
}

/// The block of a file.
fn attached(
    path: &Path,
    block: impl FnOnce(&[u8]) -> Result<Block, BlockError>,
) -> Result<Block, UsageError> {
    let bytes = file(path)?;
    if bytes.len() > MAX_MESSAGE {
        return Err(UsageError::TooLarge { place: path.display().to_string(), limit: MAX_MESSAGE });
    }
    block(&bytes).map_err(|source| UsageError::Attached { path: path.to_owned(), source })
}

/// What a document is called.
fn title(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// One byte more than is taken, so that too much is known without reading all of it.
fn bounded(from: impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MAX_MESSAGE as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Bytes as text. A line break at the end of a file or pipe is not part of what somebody says.
fn text(bytes: Vec<u8>, place: String) -> Result<String, UsageError> {
    if bytes.len() > MAX_MESSAGE {
        return Err(UsageError::TooLarge { place, limit: MAX_MESSAGE });
    }
    let mut text = String::from_utf8(bytes)
        .map_err(|e| UsageError::NotUtf8 { place, offset: e.utf8_error().valid_up_to() })?;
    text.truncate(text.trim_end_matches(['\n', '\r']).len());
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_core::content::SWAPPING;

    fn args(words: &[&str], raw: bool, literal: bool) -> PromptArgs {
        PromptArgs {
            words: words.iter().map(OsString::from).collect(),
            prompt_file: None,
            raw,
            literal,
            images: vec![],
            files: vec![],
            content: None,
        }
    }

    fn read(words: &[&str]) -> Result<Content, String> {
        args(words, false, false).read().map_err(|f| f.source.to_string())
    }

    #[test]
    fn words_are_joined() {
        assert_eq!(read(&["Say", "hello"]), Ok("Say hello".into()));
        assert_eq!(read(&["- a list"]), Ok("- a list".into()));
        assert!(read(&[" \n "]).is_err_and(|e| e.contains("empty")));
    }

    #[test]
    fn commands_that_swap_the_conversation_are_refused() {
        for word in SWAPPING {
            assert!(read(&[word]).is_err(), "{word}");
            assert!(read(&[&format!("{word} now")]).is_err(), "{word}");
            assert_eq!(args(&[word], true, false).read().ok(), Some(word.into()));
            assert_eq!(args(&[word], false, true).read().ok(), Some(format!(" {word}").into()));
        }
        for passes in ["/compact", "/clearing", "/", "/ clear", "say /clear"] {
            assert_eq!(read(&[passes]), Ok(passes.into()));
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_named_by_place() {
        let error = text(b"ab\xff".to_vec(), "here".into()).expect_err("not UTF-8").to_string();
        assert!(error.contains("offset 2") && error.contains("here"), "{error}");
        assert_eq!(text(b"a\r\n\n".to_vec(), String::new()).ok(), Some("a".to_owned()));
        assert!(text(vec![b'a'; MAX_MESSAGE + 1], String::new()).is_err());
        assert!(text(vec![b'a'; MAX_MESSAGE], String::new()).is_ok());
    }
}
