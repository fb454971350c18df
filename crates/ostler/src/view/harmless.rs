//! Text of a model or a tool, made so that it can't drive the terminal.
//!
//! Every control character is replaced by a picture of it, so that nothing is hidden: an escape sequence shows up as
//! what it is. Besides C0, DEL and C1 these are the characters that change the direction of text, with which a command
//! can be made to look like another one.

use std::borrow::Cow;

/// `text` with line breaks and tabs, but no other control character. A carriage return is left out.
#[must_use]
pub fn harmless(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| c == '\r' || picture(c).is_some()) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().filter(|c| *c != '\r').map(|c| picture(c).unwrap_or(c)).collect())
}

/// `text` on one line: a run of white space is one space, control characters are pictures.
#[must_use]
pub fn one_line(text: &str) -> String {
    let mut out = String::new();
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.extend(word.chars().map(|c| picture(c).unwrap_or(c)));
    }
    out
}

/// What stands for a character that may not reach a terminal.
fn picture(c: char) -> Option<char> {
    match c {
        '\n' | '\t' => None,
        '\u{0}'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)),
        '\u{7f}' => Some('\u{2421}'),
        // C1, line and paragraph separators, direction marks, embeddings, overrides and isolates.
        '\u{80}'..='\u{9f}' | '\u{2028}' | '\u{2029}' => Some('\u{fffd}'),
        '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            Some('\u{fffd}')
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_are_shown_and_not_obeyed() {
        assert_eq!(harmless("a\u{1b}[2J\u{1b}]0;x\u{7}b"), "a␛[2J␛]0;x␇b");
        assert_eq!(harmless("\u{9b}31m\u{85}\u{7f}"), "\u{fffd}31m\u{fffd}␡");
        assert_eq!(harmless("rm \u{202e}fr-"), "rm \u{fffd}fr-");
    }

    #[test]
    fn ordinary_text_stays() {
        assert!(matches!(harmless("déjà\tvu\n👩‍💻"), Cow::Borrowed(_)));
        assert_eq!(harmless("a\r\nb"), "a\nb");
    }

    #[test]
    fn no_character_of_any_plane_is_a_control_afterwards() {
        let all: String = ('\u{0}'..=char::MAX).collect();
        assert!(harmless(&all).chars().all(|c| c == '\n' || c == '\t' || !c.is_control()));
        assert!(one_line(&all).chars().all(|c| !c.is_control()));
    }

    #[test]
    fn one_line_is_one_line() {
        assert_eq!(one_line("  a\n\n\tb\u{1b}c "), "a b␛c");
    }
}
