//! A question of a child, as its own line in the journal says it.

use crate::view::{clip, key_argument, one_line};
use claude_wire::{Message, Request};
use ostler_controller::client::Ostler;
use ostler_store::db::PermissionRow;
use ostler_store::journal::read_range;
use serde_json::value::RawValue;

/// What is asked.
#[derive(Debug)]
pub(crate) struct Question {
    /// The tool, or what it is about.
    pub(crate) tool: Option<String>,
    /// The call's key argument.
    pub(crate) argument: Option<String>,
    /// The whole input.
    pub(crate) input: Option<Box<RawValue>>,
    /// Why it asks.
    pub(crate) reason: Option<String>,
}

/// Reads the question; what can't be read is left out.
pub(super) fn read(ostler: &Ostler, row: &PermissionRow) -> Question {
    let files = ostler.home().session(row.session).generation(row.journal.generation);
    let bytes = read_range(&files, row.journal.line.0, row.journal.line.1).unwrap_or_default();
    let mut question = Question { tool: row.journal.tool.clone(), argument: None, input: None, reason: None };
    if let (Message::ControlRequest(line), _) = Message::parse(&bytes) {
        match line.request {
            Request::CanUseTool(ask) => {
                question.argument = key_argument(&ask.tool_name, Some(&ask.input));
                question.tool = Some(ask.tool_name);
                question.input = Some(ask.input);
                question.reason = ask.decision_reason;
            }
            Request::Elicitation(ask) => {
                question.tool = question.tool.or(Some(ask.mcp_server_name));
                question.argument = Some(ask.message);
            }
            _ => {}
        }
    }
    question
}

/// One line about a question: tool and key argument.
pub(super) fn describe(ostler: &Ostler, row: &PermissionRow) -> String {
    let question = read(ostler, row);
    let tool = one_line(question.tool.as_deref().unwrap_or("something"));
    match question.argument {
        Some(argument) => format!("{tool}  {}", clip(&one_line(&argument), 100)),
        None => tool,
    }
}
