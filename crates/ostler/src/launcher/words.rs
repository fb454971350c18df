//! A command line as a person types it → its words. Quotes and backslashes as in a shell; nothing is expanded.

use thiserror::Error;

/// What is wrong with a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum WordsError {
    /// A quote without its end.
    #[error("a {0} quote is not closed")]
    OpenQuote(&'static str),
    /// A backslash with nothing behind it.
    #[error("it ends with a lone backslash")]
    LoneBackslash,
    /// Something that only a shell can do.
    #[error("{0:?} outside quotes needs a shell: write sh -c '…'")]
    NeedsShell(char),
}

/// Splits at white space. `'…'` is literal; in `"…"` a backslash escapes `"`, `\`, `$` and a back-tick; outside it
/// escapes anything. Operators and substitutions of a shell are refused instead of being passed as text.
///
/// # Errors
/// [`WordsError`].
pub fn split_words(text: &str) -> Result<Vec<String>, WordsError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            c if c.is_whitespace() => words.extend(word.take()),
            '\'' => single_quoted(&mut chars, word.get_or_insert_default())?,
            '"' => double_quoted(&mut chars, word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().push(chars.next().ok_or(WordsError::LoneBackslash)?),
            '|' | '&' | ';' | '<' | '>' | '`' | '$' | '(' | ')' => return Err(WordsError::NeedsShell(c)),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

fn single_quoted(chars: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), WordsError> {
    for c in chars {
        if c == '\'' {
            return Ok(());
        }
        word.push(c);
    }
    Err(WordsError::OpenQuote("single"))
}

fn double_quoted(chars: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), WordsError> {
    while let Some(c) = chars.next() {
        match c {
            '"' => return Ok(()),
            '\\' => match chars.next().ok_or(WordsError::OpenQuote("double"))? {
                e @ ('"' | '\\' | '$' | '`') => word.push(e),
                other => word.extend(['\\', other]),
            },
            c => word.push(c),
        }
    }
    Err(WordsError::OpenQuote("double"))
}

#[cfg(test)]
mod tests {
    use super::{WordsError, split_words};

    fn ok(text: &str) -> Vec<String> {
        split_words(text).unwrap()
    }

    #[test]
    fn words_as_a_shell_reads_them() {
        assert_eq!(ok("  npx   @anthropic-ai/claude-code\t"), ["npx", "@anthropic-ai/claude-code"]);
        assert_eq!(
            ok(r#"FOO='a b' "/opt/my claude/claude" --x"#),
            ["FOO=a b", "/opt/my claude/claude", "--x"]
        );
        assert_eq!(ok(r#"sh -c 'exec claude "$@"' x"#), ["sh", "-c", r#"exec claude "$@""#, "x"]);
        assert_eq!(ok(r#"a\ b "c\"d\x" ''"#), ["a b", "c\"d\\x", ""]);
        assert_eq!(ok(""), [""; 0]);
    }

    #[test]
    fn what_only_a_shell_can_do_is_refused() {
        assert_eq!(split_words("'a"), Err(WordsError::OpenQuote("single")));
        assert_eq!(split_words("\"a\\"), Err(WordsError::OpenQuote("double")));
        assert_eq!(split_words("a\\"), Err(WordsError::LoneBackslash));
        for text in ["claude | tee x", "claude && x", "claude $X", "claude > x", "`claude`"] {
            assert!(matches!(split_words(text), Err(WordsError::NeedsShell(_))), "{text}");
        }
    }
}
