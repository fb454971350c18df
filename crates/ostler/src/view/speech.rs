//! Text and thinking of the main lane as they stream, each shown once.
//!
//! With partial messages a block comes twice: in deltas, and whole on its `assistant` line. The line is what counts
//! (protocol page, "More that was measured"): of it only what the deltas did not show is shown.

use super::page::{Page, Part};
use super::{Style, harmless};

/// What was shown of blocks whose `assistant` line has not come.
#[derive(Debug, Default)]
pub(super) struct Speech {
    shown: Vec<Shown>,
    /// The next delta belongs to a block of its own.
    fresh: bool,
    /// The last text that was shown whole, to know it again in a result.
    last_text: String,
    /// Something was said since the last result.
    spoke: bool,
}

#[derive(Debug)]
struct Shown {
    kind: Kind,
    text: String,
}

/// What is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Thinking,
    /// The child's own words, for an error.
    Error,
}

impl Kind {
    const fn part(self) -> Part {
        match self {
            Self::Thinking => Part::Thinking,
            Self::Text | Self::Error => Part::Text,
        }
    }

    const fn style(self) -> Style {
        match self {
            Self::Text => Style::Plain,
            Self::Thinking => Style::Dim,
            Self::Error => Style::Bad,
        }
    }
}

impl Speech {
    /// A block begins.
    pub(super) fn block(&mut self) {
        self.fresh = true;
    }

    /// A message begins. True when an earlier one was cut off in the middle of a block that was shown.
    pub(super) fn message(&mut self) -> bool {
        self.fresh = true;
        let cut = self.shown.iter().any(|s| s.kind == Kind::Text);
        self.shown.clear();
        cut
    }

    /// More of a block.
    pub(super) fn delta(&mut self, page: &mut Page, kind: Kind, text: &str) {
        let goes_on = !self.fresh && self.shown.last().is_some_and(|s| s.kind == kind);
        if goes_on {
            page.stream(kind.part(), kind.style(), &harmless(text));
        } else {
            self.begin(page, kind, text);
            self.shown.push(Shown { kind, text: String::new() });
        }
        if let Some(last) = self.shown.last_mut() {
            last.text.push_str(text);
        }
        self.fresh = false;
        self.spoke |= kind != Kind::Thinking;
    }

    /// A whole block.
    pub(super) fn whole(&mut self, page: &mut Page, kind: Kind, text: &str) {
        let known = self.shown.iter().position(|s| s.kind == kind && text.starts_with(&s.text));
        match known {
            Some(at) => {
                let shown = self.shown.remove(at);
                page.stream(kind.part(), kind.style(), &harmless(&text[shown.text.len()..]));
            }
            None => self.begin(page, kind, text),
        }
        self.fresh = true;
        if kind != Kind::Thinking {
            text.clone_into(&mut self.last_text);
            self.spoke = true;
        }
    }

    /// A turn is over: what was not confirmed will not be.
    pub(super) fn end(&mut self) {
        self.shown.clear();
        self.fresh = true;
        self.spoke = false;
    }

    pub(super) const fn spoke(&self) -> bool {
        self.spoke
    }

    pub(super) fn last_text(&self) -> &str {
        &self.last_text
    }

    /// The first piece of a block: on a line of its own.
    fn begin(&self, page: &mut Page, kind: Kind, text: &str) {
        if !text.is_empty() {
            page.end_line();
            page.stream(kind.part(), kind.style(), &harmless(text));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Paint;
    use super::*;

    fn page() -> Page {
        Page::new(Paint::Plain)
    }

    #[test]
    fn a_block_is_shown_once() {
        let (mut page, mut speech) = (page(), Speech::default());
        speech.message();
        speech.block();
        for piece in ["Hel", "lo", " there"] {
            speech.delta(&mut page, Kind::Text, piece);
        }
        speech.whole(&mut page, Kind::Text, "Hello there");
        assert_eq!(page.take(), "Hello there");
    }

    #[test]
    fn what_the_deltas_missed_is_added() {
        let (mut page, mut speech) = (page(), Speech::default());
        speech.delta(&mut page, Kind::Text, "Hel");
        speech.whole(&mut page, Kind::Text, "Hello");
        speech.whole(&mut page, Kind::Text, "No deltas");
        assert_eq!(page.take(), "Hello\nNo deltas");
    }

    #[test]
    fn blocks_of_one_message_are_told_apart() {
        let (mut page, mut speech) = (page(), Speech::default());
        speech.message();
        speech.block();
        speech.delta(&mut page, Kind::Thinking, "hm");
        speech.whole(&mut page, Kind::Thinking, "hm");
        speech.block();
        speech.delta(&mut page, Kind::Text, "A");
        speech.block();
        speech.delta(&mut page, Kind::Text, "B");
        speech.whole(&mut page, Kind::Text, "A");
        speech.whole(&mut page, Kind::Text, "B!");
        assert_eq!(page.take(), "┊ hm\n\nA\nB!");
    }

    #[test]
    fn a_cut_stream_is_noticed() {
        let (mut page, mut speech) = (page(), Speech::default());
        assert!(!speech.message());
        speech.delta(&mut page, Kind::Text, "Half a sen");
        assert!(speech.message());
        speech.delta(&mut page, Kind::Text, "Half a sentence.");
        speech.whole(&mut page, Kind::Text, "Half a sentence.");
        assert!(!speech.message());
        assert_eq!(page.take(), "Half a sen\nHalf a sentence.");
    }
}
