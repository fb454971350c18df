//! The live view of a session: what its journal says, as text for people.
//!
//! Pure: entries go in ([`View::entry`]), text comes out ([`View::take`]). It reads no clock and no store; whoever
//! drives it writes the text, redraws the status line and asks questions.
//!
//! | file | subject |
//! | --- | --- |
//! | `view/page.rs` | the page that is written on: line starts, blank lines between parts |
//! | `view/paint.rs` | colours, where there are any |
//! | `view/harmless.rs` | text of a model or tool that can't drive the terminal |
//! | `view/width.rs` | how wide text is on a terminal, cutting it |
//! | `view/argument.rs` | the argument of a tool call that tells most |
//! | `view/amount.rs` | bytes, tokens, dollars, durations for people |
//! | `view/speech.rs` | text and thinking as they stream, each once |
//! | `view/tools.rs` | tool calls and their results |
//! | `view/questions.rs` | questions of the child, and what was decided |
//! | `view/line.rs` | what a line of the child's shows |
//! | `view/row.rs` | what a row of ours shows |
//! | `view/said.rs` | a message: its text, and what else is in it |
//! | `view/tally.rs` | what is going on right now, for the status line |
//! | `view/closing.rs` | the lines at the end of a run |

mod amount;
mod argument;
mod closing;
mod harmless;
mod line;
mod page;
mod paint;
mod questions;
mod row;
mod said;
mod speech;
mod tally;
mod tools;
mod width;

pub use amount::{age, bytes, clock, dollars, duration, rfc3339, tokens};
pub use argument::key_argument;
pub use closing::{Closing, cache_line, closing};
pub use harmless::{harmless, one_line};
pub use paint::{Paint, Style};
pub use said::said;
pub use tally::Tally;
pub use width::{clip, width};

use claude_wire::Message;
use ostler_core::ids::DeliveryId;
use ostler_store::Entry;
use page::{Page, Part};
use questions::Questions;
use speech::Speech;
use std::collections::{BTreeMap, VecDeque};
use tools::Tools;

/// How a view looks.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Colours.
    pub paint: Paint,
    /// Columns; long arguments are cut to it.
    pub columns: usize,
    /// What is shown.
    pub detail: Detail,
}

/// What a view shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// One turn, for whoever asked for it: neither the prompt nor starts and ends that are as they should be.
    Turn,
    /// A session, for whoever looks on: prompts, turns, generations too.
    Session,
}

/// What a delivery says, as far as the caller knows.
pub type Texts<'a> = dyn Fn(DeliveryId) -> Option<String> + 'a;

/// The live view of one session.
#[derive(Debug)]
pub struct View {
    look: Look,
    page: Page,
    speech: Speech,
    tools: Tools,
    questions: Questions,
    tally: Tally,
    /// Not shown when it is delivered: the person who looks on just typed it.
    own: Option<DeliveryId>,
    /// Ids of lines that were seen; a repeated line says nothing new.
    seen: VecDeque<String>,
    /// Background tasks that live, by id, with what they are for.
    tasks: BTreeMap<String, String>,
    row: row::Memory,
    line: line::Memory,
}

/// How many ids of lines are remembered; as many as the turn machine does.
const SEEN: usize = 2000;

impl View {
    /// An empty page.
    #[must_use]
    pub fn new(look: Look) -> Self {
        Self {
            look,
            page: Page::new(look.paint),
            speech: Speech::default(),
            tools: Tools::default(),
            questions: Questions::default(),
            tally: Tally::default(),
            own: None,
            seen: VecDeque::new(),
            tasks: BTreeMap::new(),
            row: row::Memory::default(),
            line: line::Memory::default(),
        }
    }

    /// The same; this delivery's text is not shown.
    #[must_use]
    pub fn without_prompt(mut self, own: DeliveryId) -> Self {
        self.own = Some(own);
        self
    }

    /// The terminal has another width.
    pub fn set_columns(&mut self, columns: usize) {
        self.look.columns = columns;
    }

    /// Shows an entry of the journal.
    pub fn entry(&mut self, entry: &Entry, texts: &Texts<'_>) {
        match entry {
            Entry::Generation { no } => self.generation(*no),
            Entry::Out { bytes, .. } => {
                let (message, _) = Message::parse(bytes);
                self.message(&message, bytes);
            }
            Entry::OutOversized { start, end, .. } => {
                self.warn(&format!("a line of {} is not shown", bytes(end - start)));
            }
            Entry::Ctl { no, row, .. } => self.row(*no, row, texts),
            Entry::CtlGarbled { start, end, .. } => {
                self.warn(&format!("{} of our own journal can't be read", bytes(end - start)));
            }
            Entry::Tail { len, .. } => {
                self.warn(&format!("the child's last line is cut off after {}", bytes(*len)));
            }
        }
    }

    /// Shows a line of the child's.
    pub fn message(&mut self, message: &Message, raw: &[u8]) {
        if let Some(uuid) = message.common().and_then(|c| c.uuid.as_ref()) {
            if self.seen.contains(uuid) {
                return;
            }
            if self.seen.len() == SEEN {
                self.seen.pop_front();
            }
            self.seen.push_back(uuid.clone());
        }
        self.tally.note(message);
        self.show(message, raw);
    }

    /// Whole lines that are not from the journal: what a face has to say in between.
    pub fn say(&mut self, style: Style, text: &str) {
        self.page.line(Part::Notice, &[(style, text)]);
    }

    /// What was written since the last time.
    pub fn take(&mut self) -> String {
        self.page.take()
    }

    /// Ends a line that is under way.
    pub fn end_line(&mut self) {
        self.page.end_line();
    }

    /// True when what was written so far ends with a whole line: a status line can be drawn below it.
    #[must_use]
    pub fn at_line_start(&self) -> bool {
        self.page.at_line_start()
    }

    /// What is going on.
    #[must_use]
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// A remark that says nothing bad.
    fn note(&mut self, text: &str) {
        self.page.line(Part::Notice, &[(Style::Dim, &format!("— {text}"))]);
    }

    /// Something that a person should know.
    fn warn(&mut self, text: &str) {
        self.page.line(Part::Notice, &[(Style::Warn, &format!("! {text}"))]);
    }

    /// Something that went wrong.
    fn bad(&mut self, text: &str) {
        self.page.line(Part::Notice, &[(Style::Bad, &format!("✗ {text}"))]);
    }

    /// `text` on one line, harmless, cut to what is left beside `used` columns.
    fn fit(&self, text: &str, used: usize) -> String {
        clip(&one_line(text), self.look.columns.saturating_sub(used).max(20))
    }
}
