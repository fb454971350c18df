//! A script's lines: comments and blank ones dropped, `<<` … `>>` joined to the line that opens it.

use super::ScriptError;

/// One statement.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    /// Where it stands, from 1.
    pub(super) number: usize,
    /// Its first word.
    pub(super) word: String,
    /// What follows, without surrounding blanks.
    pub(super) rest: String,
    /// The lines between `<<` and `>>`.
    pub(super) block: Option<String>,
}

impl Line {
    /// An error about this line.
    pub(super) fn error(&self, what: impl Into<String>, hint: impl Into<String>) -> ScriptError {
        ScriptError::new(self.number, what, hint)
    }
}

/// Splits a script.
pub(super) fn split(text: &str) -> Result<Vec<Line>, ScriptError> {
    let mut lines = Vec::new();
    let mut source = text.lines().enumerate();
    while let Some((index, raw)) = source.next() {
        let trimmed = raw.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        let (word, rest) = trimmed.split_once(char::is_whitespace).unwrap_or((trimmed, ""));
        let mut line =
            Line { number: index + 1, word: word.to_owned(), rest: rest.trim().to_owned(), block: None };
        if let Some(before) = block_opener(&line.rest) {
            line.rest = before;
            line.block = Some(block(&line, &mut source)?);
        }
        lines.push(line);
    }
    Ok(lines)
}

/// What stands before a `<<` at the end of the line.
fn block_opener(rest: &str) -> Option<String> {
    let before = rest.strip_suffix("<<")?;
    (before.is_empty() || before.ends_with(char::is_whitespace)).then(|| before.trim().to_owned())
}

fn block<'a>(
    opener: &Line,
    source: &mut impl Iterator<Item = (usize, &'a str)>,
) -> Result<String, ScriptError> {
    let mut inside: Vec<&str> = Vec::new();
    for (_, raw) in source {
        if raw.trim() == ">>" {
            return Ok(unindent(&inside));
        }
        inside.push(raw);
    }
    Err(opener.error("`<<` is never closed", "end the block with a line that holds only `>>`"))
}

/// Takes away the indentation that all lines share.
fn unindent(lines: &[&str]) -> String {
    let indent = |line: &&str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let shared = lines.iter().filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or(0);
    let cut: Vec<&str> = lines.iter().map(|line| line.get(shared..).unwrap_or("")).collect();
    cut.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_blanks_and_blocks() {
        let lines = split("# c\n\n  say  hi there \nsay <<\n    a\n      b\n\n    c\n  >>\ncut\n").unwrap();
        let plain: Vec<_> = lines.iter().map(|l| (l.number, l.word.as_str(), l.rest.as_str())).collect();
        assert_eq!(plain, [(3, "say", "hi there"), (4, "say", ""), (10, "cut", "")]);
        assert_eq!(lines[1].block.as_deref(), Some("a\n  b\n\nc"));
    }

    #[test]
    fn an_open_block_is_an_error() {
        let error = split("say <<\nx\n").unwrap_err();
        assert_eq!(error.line, 1);
        assert!(error.hint.contains(">>"), "{error}");
    }
}
