//! A question of a child, in few words.

use crate::view::{clip, key_argument, one_line};
use ostler_controller::client::{Ostler, Question};
use ostler_store::db::PermissionRow;

/// What it is mostly about: the key argument of a call, what a server or the model asks.
pub(crate) fn argument(question: &Question) -> Option<String> {
    if let Some(message) = &question.message {
        return Some(message.clone());
    }
    if let Some(first) = question.questions.first() {
        let more = question.questions.len() - 1;
        let text = first.question.clone();
        return Some(if more > 0 { format!("{text} (and {more} more)") } else { text });
    }
    key_argument(question.tool.as_deref()?, Some(question.input.as_deref()?))
}

/// One line about a question: tool and key argument.
pub(super) fn describe(ostler: &Ostler, row: &PermissionRow) -> String {
    line(&ostler.question(row))
}

/// The same.
pub(super) fn line(question: &Question) -> String {
    let tool = one_line(question.tool.as_deref().unwrap_or("something"));
    match argument(question) {
        Some(argument) => format!("{tool}  {}", clip(&one_line(&argument), 100)),
        None => tool,
    }
}
