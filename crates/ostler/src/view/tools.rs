//! Tool calls and their results.

use super::page::Part;
use super::{Style, View, amount, key_argument, one_line, width};
use claude_wire::Block;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// Short results of one line are shown themselves.
const SHORT: usize = 80;

/// Calls whose results have not come.
#[derive(Debug, Default)]
pub(super) struct Tools {
    open: BTreeMap<String, Call>,
    /// The call whose line was written last.
    last: Option<String>,
    /// All of its argument stands there.
    last_is_whole: bool,
}

#[derive(Clone, Debug)]
struct Call {
    name: String,
    argument: String,
}

impl Tools {
    /// The last line is that call's, with all of its argument.
    pub(super) fn shows_whole(&self, id: &str) -> bool {
        self.last_is_whole && self.last.as_deref() == Some(id)
    }
}

/// Who calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    Main,
    /// Some subagent.
    Agent,
}

impl Lane {
    pub(super) const fn of(parent: Option<&String>) -> Self {
        if parent.is_some() { Self::Agent } else { Self::Main }
    }

    pub(super) const fn indent(self) -> &'static str {
        match self {
            Self::Main => "",
            Self::Agent => "  ┆ ",
        }
    }
}

impl View {
    pub(super) fn call(&mut self, lane: Lane, id: &str, name: &str, input: Option<&RawValue>) {
        let argument = one_line(&key_argument(name, input).unwrap_or_default());
        let name = one_line(name);
        let head = format!("{}▸ ", lane.indent());
        let shown = self.fit(&argument, width(&head) + width(&name) + 2);
        let style = if lane == Lane::Main { Style::Tool } else { Style::Dim };
        let rest = if lane == Lane::Main { Style::Plain } else { Style::Dim };
        let gap = if shown.is_empty() { "" } else { "  " };
        self.page.line(Part::Tool, &[(style, &head), (style, &name), (rest, gap), (rest, &shown)]);
        self.tools.last = Some(id.to_owned());
        self.tools.last_is_whole = shown == argument;
        self.tools.open.insert(id.to_owned(), Call { name, argument });
    }

    pub(super) fn tool_result(&mut self, lane: Lane, block: &Block) {
        let Block::ToolResult { tool_use_id, is_error, text_len, text } = block else { return };
        let call = self.tools.open.remove(tool_use_id);
        if (lane == Lane::Agent && !is_error) || self.was_denied(tool_use_id) {
            return;
        }
        let whose = self.whose(tool_use_id, call.as_ref());
        let size = amount::bytes(u64::try_from(*text_len).unwrap_or(u64::MAX));
        let indent = lane.indent();
        let (style, said) = if *is_error {
            // The CLI wraps its own refusals.
            let text = text.strip_prefix("<tool_use_error>").unwrap_or(text);
            let text = text.strip_suffix("</tool_use_error>").unwrap_or(text);
            let line = text.lines().find(|l| !l.trim().is_empty()).unwrap_or("it says nothing");
            (Style::Bad, format!("{indent}  ✗ {whose}{}", one_line(line)))
        } else if *text_len <= SHORT && !text.trim().is_empty() && text.trim().lines().count() == 1 {
            (Style::Dim, format!("{indent}  → {whose}{}", one_line(text)))
        } else if *text_len == 0 {
            (Style::Dim, format!("{indent}  → {whose}nothing"))
        } else {
            (Style::Dim, format!("{indent}  → {whose}{size}"))
        };
        let said = super::clip(&said, self.look.columns.max(20));
        self.page.line(Part::Tool, &[(style, &said)]);
        self.tools.last = None;
    }

    /// Names the call when the line above is not its own.
    fn whose(&self, id: &str, call: Option<&Call>) -> String {
        match call {
            Some(_) if self.tools.last.as_deref() == Some(id) => String::new(),
            Some(call) if call.argument.is_empty() => format!("{}: ", call.name),
            Some(call) => format!("{} {}: ", call.name, super::clip(&call.argument, 30)),
            None => "a tool: ".to_owned(),
        }
    }

    /// Results will not come any more.
    pub(super) fn forget_calls(&mut self) {
        self.tools = Tools::default();
    }

    /// A line came between a call and its result.
    pub(super) fn interrupt_call(&mut self) {
        self.tools.last = None;
    }
}
