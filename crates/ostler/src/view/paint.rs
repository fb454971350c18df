//! Colours, where there are any.

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// As it is.
    Plain,
    /// Less important.
    Dim,
    /// More important.
    Bold,
    /// The name of a tool.
    Tool,
    /// Well ended.
    Good,
    /// To be noticed.
    Warn,
    /// Failed.
    Bad,
}

impl Style {
    /// The parameters of its SGR sequence; the eight colours that every terminal maps to its own theme.
    const fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Dim => "2",
            Self::Bold => "1",
            Self::Tool => "36",
            Self::Good => "32",
            Self::Warn => "33",
            Self::Bad => "31",
        }
    }
}

/// Whether there are colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// There are.
    Colour,
    /// Text only.
    Plain,
}

impl Paint {
    /// `text` in that style. Each line gets its own colour, so that no colour runs over a line's end.
    #[must_use]
    pub fn apply(self, style: Style, text: &str) -> String {
        let mut out = String::new();
        self.apply_to(&mut out, style, text);
        out
    }

    pub(super) fn apply_to(self, out: &mut String, style: Style, text: &str) {
        if self == Self::Plain || style == Style::Plain {
            out.push_str(text);
            return;
        }
        for piece in text.split_inclusive('\n') {
            let (words, end) = piece.strip_suffix('\n').map_or((piece, ""), |words| (words, "\n"));
            if !words.is_empty() {
                out.push_str("\u{1b}[");
                out.push_str(style.code());
                out.push('m');
                out.push_str(words);
                out.push_str("\u{1b}[0m");
            }
            out.push_str(end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colour_ends_with_its_line() {
        assert_eq!(Paint::Colour.apply(Style::Bad, "a\n\nb"), "\u{1b}[31ma\u{1b}[0m\n\n\u{1b}[31mb\u{1b}[0m");
        assert_eq!(Paint::Plain.apply(Style::Bad, "a\nb"), "a\nb");
        assert_eq!(Paint::Colour.apply(Style::Plain, "a"), "a");
    }
}
