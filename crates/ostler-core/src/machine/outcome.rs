//! What a `result` line means. Structured fields only: never the model's prose, never the exit status.

use crate::rows::Outcome;
use claude_wire::ResultLine;

/// What one `result` said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// How the segment ended.
    pub outcome: Outcome,
    /// For a failure: its kind.
    pub failure: Option<String>,
    /// What it said, for people; at most 2 000 characters.
    pub message: Option<String>,
}

impl Verdict {
    pub(super) const fn completed() -> Self {
        Self { outcome: Outcome::Completed, failure: None, message: None }
    }
}

/// Classifies a result. `aborted_*` or an outstanding interrupt comes first, then `is_error`, then the subtype.
///
/// An outstanding interrupt alone doesn't make a clean `success` interrupted: sent right behind a message it is
/// confirmed, does nothing, and the message runs to its end (protocol page, "interrupt").
#[must_use]
pub fn classify(line: &ResultLine, interrupt_outstanding: bool) -> Verdict {
    let reason = line.terminal_reason.as_deref().unwrap_or_default();
    let clean = line.subtype == "success" && !line.is_error;
    if reason.starts_with("aborted") || (interrupt_outstanding && !clean) {
        return Verdict { outcome: Outcome::Interrupted, failure: None, message: None };
    }
    if clean {
        return Verdict::completed();
    }
    let kind = match line.subtype.as_str() {
        // 2.1.200 says `completed` also of what the API refused.
        "success" if matches!(reason, "" | "completed") => "api_error",
        "success" => reason,
        "error_max_turns" => "max_turns",
        "error_max_budget_usd" => "max_budget",
        "error_during_execution" => "execution",
        "error_max_structured_output_retries" => "structured_output",
        other => other,
    };
    let said = line.result.clone().or_else(|| (!line.errors.is_empty()).then(|| line.errors.join("; ")));
    Verdict { outcome: Outcome::Failed, failure: Some(kind.to_owned()), message: said.map(|s| clip(&s)) }
}

/// The first 2 000 characters.
pub(super) fn clip(text: &str) -> String {
    text.chars().take(2_000).collect()
}

#[cfg(test)]
mod tests {
    use super::{Verdict, classify};
    use claude_wire::{Frame, Message};

    #[track_caller]
    fn of(line: &str) -> Verdict {
        match Frame::parse(line.as_bytes()).message() {
            Message::Result(line) => classify(line, false),
            other => panic!("no result: {other:?}"),
        }
    }

    #[test]
    fn what_the_api_refused_is_an_api_error_on_every_version() {
        for reason in [r#""terminal_reason":"api_error","#, r#""terminal_reason":"completed","#, ""] {
            let line =
                format!(r#"{{"type":"result",{reason}"subtype":"success","is_error":true,"result":"400"}}"#);
            let verdict = of(&line);
            assert_eq!(
                (verdict.failure.as_deref(), verdict.message.as_deref()),
                (Some("api_error"), Some("400"))
            );
        }
    }
}
