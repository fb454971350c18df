//! The page that a view writes on: where a line begins, what stands apart from what.

use super::paint::{Paint, Style};

/// What a piece of the page is. Parts of different kinds are set apart by an empty line where that helps reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// What the model says.
    Text,
    /// What it thinks.
    Thinking,
    /// Tool calls, results, questions.
    Tool,
    /// Anything else.
    Notice,
}

/// Text in front of each line of thinking, so that it can be told from text without colours too.
const THOUGHT: &str = "┊ ";

#[derive(Debug)]
pub(super) struct Page {
    paint: Paint,
    out: String,
    at_line_start: bool,
    last: Option<Part>,
    /// What comes next is something new.
    apart: bool,
}

impl Page {
    pub(super) fn new(paint: Paint) -> Self {
        Self { paint, out: String::new(), at_line_start: true, last: None, apart: false }
    }

    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    pub(super) const fn at_line_start(&self) -> bool {
        self.at_line_start
    }

    /// A piece of what the model says or thinks; goes on where the last piece ended.
    pub(super) fn stream(&mut self, part: Part, style: Style, text: &str) {
        if text.is_empty() {
            return;
        }
        self.begin(part);
        if part != Part::Thinking {
            self.paint.apply_to(&mut self.out, style, text);
            self.at_line_start = text.ends_with('\n');
            return;
        }
        for piece in text.split_inclusive('\n') {
            if self.at_line_start {
                self.paint.apply_to(&mut self.out, style, THOUGHT);
            }
            self.paint.apply_to(&mut self.out, style, piece);
            self.at_line_start = piece.ends_with('\n');
        }
    }

    /// A whole line.
    pub(super) fn line(&mut self, part: Part, pieces: &[(Style, &str)]) {
        self.end_line();
        self.begin(part);
        for (style, text) in pieces {
            self.paint.apply_to(&mut self.out, *style, text);
        }
        self.out.push('\n');
    }

    pub(super) fn end_line(&mut self) {
        if !self.at_line_start {
            self.out.push('\n');
            self.at_line_start = true;
        }
    }

    /// What comes next is set apart from what stands here.
    pub(super) const fn set_apart(&mut self) {
        self.apart = true;
    }

    /// An empty line between text and what is not text, and between two things that were set apart.
    fn begin(&mut self, part: Part) {
        let apart = std::mem::take(&mut self.apart);
        let Some(last) = self.last.replace(part) else { return };
        if last != part || apart {
            self.end_line();
            if last == Part::Text || part == Part::Text {
                self.out.push('\n');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stands_apart_and_thinking_is_marked() {
        let mut page = Page::new(Paint::Plain);
        page.stream(Part::Thinking, Style::Dim, "one\ntw");
        page.stream(Part::Thinking, Style::Dim, "o");
        page.stream(Part::Text, Style::Plain, "Hello");
        assert!(!page.at_line_start());
        page.line(Part::Tool, &[(Style::Tool, "▸ Bash")]);
        page.line(Part::Notice, &[(Style::Warn, "! x")]);
        page.stream(Part::Text, Style::Plain, "Bye\n");
        assert!(page.at_line_start());
        page.end_line();
        assert_eq!(page.take(), "┊ one\n┊ two\n\nHello\n\n▸ Bash\n! x\n\nBye\n");
        assert_eq!(page.take(), "");
    }
}
