//! Questions of the child, and what was decided.

use super::page::Part;
use super::{Style, View, harmless, key_argument, one_line, width};
use claude_wire::CanUseTool;
use ostler_core::ctl::Decision;
use ostler_core::question::{self, Ask};
use std::collections::{BTreeMap, BTreeSet};

/// What was asked and not answered, and what was answered with no.
#[derive(Debug, Default)]
pub(super) struct Questions {
    /// The call that each open question is about, by request.
    open: BTreeMap<String, String>,
    /// Calls that were denied with a reason: their failed results repeat it.
    denied: BTreeSet<String>,
}

/// Lines of an argument that are shown before somebody decides about it.
const LINES: usize = 20;

impl View {
    /// A person may have to decide by what stands here, so nothing of a normal argument is cut off.
    pub(super) fn question(&mut self, request_id: &str, ask: &CanUseTool) {
        self.questions.open.insert(request_id.to_owned(), ask.tool_use_id.clone());
        let asks = question::asks(&ask.input);
        if !asks.is_empty() {
            self.asks(&asks);
        } else if self.tools.shows_whole(&ask.tool_use_id) {
            self.page.line(Part::Tool, &[(Style::Warn, "  ? may it run")]);
        } else {
            self.whole_question(ask);
        }
        let asker = ask.agent_id.as_ref().map(|_| "a subagent asks".to_owned());
        let path = ask.blocked_path.as_ref().map(|path| format!("path: {path}"));
        for more in [asker, path, ask.decision_reason.clone()].into_iter().flatten() {
            let more = self.fit(&more, 4);
            self.page.line(Part::Tool, &[(Style::Dim, &format!("    {more}"))]);
        }
    }

    /// What the model asks, with the answers that it offers.
    fn asks(&mut self, asks: &[Ask]) {
        for ask in asks {
            let head = format!("  ? {}", one_line(&ask.question));
            self.page.line(Part::Tool, &[(Style::Warn, &head)]);
            for (no, choice) in (1..).zip(&ask.options) {
                let means = one_line(&choice.description);
                let gap = if means.is_empty() { "" } else { ": " };
                let line = format!("    {no}) {}{gap}{means}", one_line(&choice.label));
                self.page.line(Part::Tool, &[(Style::Plain, &line)]);
            }
        }
        self.interrupt_call();
    }

    fn whole_question(&mut self, ask: &CanUseTool) {
        let name = one_line(ask.display_name.as_deref().unwrap_or(&ask.tool_name));
        let argument = key_argument(&ask.tool_name, Some(&ask.input)).unwrap_or_default();
        let line = one_line(&argument);
        let head = format!("? may {name} run");
        let fits = !argument.trim().contains('\n') && width(&head) + 2 + width(&line) <= self.look.columns;
        let gap = if line.is_empty() { "" } else { "  " };
        let beside = if fits { line.as_str() } else { "" };
        self.page.line(Part::Tool, &[(Style::Warn, &head), (Style::Plain, gap), (Style::Plain, beside)]);
        self.interrupt_call();
        if fits {
            return;
        }
        let text = harmless(argument.trim_end()).into_owned();
        let count = text.lines().count();
        for line in text.lines().take(LINES) {
            self.page.line(Part::Tool, &[(Style::Plain, &format!("    {line}"))]);
        }
        if count > LINES {
            let more = format!("    … {} more lines; `ostler pending --json` has all", count - LINES);
            self.page.line(Part::Tool, &[(Style::Warn, &more)]);
        }
    }

    pub(super) fn decided(&mut self, request_id: &str, decision: Decision, by: &str, message: Option<&str>) {
        let call = self.questions.open.remove(request_id);
        let by = one_line(by);
        let why = message.filter(|why| !why.trim().is_empty());
        let (style, text) = match (decision, why) {
            (Decision::Allow, _) => (Style::Good, format!("  ✓ allowed by {by}")),
            (Decision::Deny, Some(why)) => {
                self.questions.denied.extend(call);
                let why = self.fit(why, 16 + width(&by));
                (Style::Warn, format!("  ✗ denied by {by}: {why}"))
            }
            (Decision::Deny, None) => (Style::Warn, format!("  ✗ denied by {by}")),
        };
        self.page.line(Part::Tool, &[(style, &text)]);
    }

    /// True once for each call that was denied with a reason.
    pub(super) fn was_denied(&mut self, tool_use_id: &str) -> bool {
        self.questions.denied.remove(tool_use_id)
    }

    pub(super) fn forget_questions(&mut self) {
        self.questions = Questions::default();
    }
}
