//! The line that answers a request of the child: a function of what it asked and what was decided, so that it can be
//! made again, the same, after any crash.

use crate::ctl::{Decision, Reply};
use claude_wire::{Request, build};
use serde_json::json;
use serde_json::value::RawValue;

/// What a denied child is told when nobody said anything.
pub const NO_REASON: &str = "The user denied this.";

/// A request of a kind that nobody here knows.
#[must_use]
pub fn refusal(request_id: &str) -> Vec<u8> {
    build::error_response(request_id, "ostler does not know this kind of request")
}

/// The answer to a request.
#[must_use]
pub fn line(request_id: &str, request: &Request, reply: &Reply) -> Vec<u8> {
    let given = reply.input.clone().and_then(|text| RawValue::from_string(text).ok());
    let why = reply.message.as_deref().filter(|m| !m.is_empty());
    match (request, reply.decision) {
        (Request::CanUseTool(ask), Decision::Allow) => {
            let suggestions = ask.suggestions.as_deref().filter(|_| reply.always);
            build::allow(request_id, given.as_deref().unwrap_or(&ask.input), suggestions)
        }
        (Request::CanUseTool(_), Decision::Deny) => {
            build::deny(request_id, why.unwrap_or(NO_REASON), reply.interrupt)
        }
        (Request::Elicitation(_), Decision::Allow) => {
            build::elicitation(request_id, "accept", given.as_deref())
        }
        (Request::Elicitation(_), Decision::Deny) => build::elicitation(request_id, "decline", None),
        (Request::HookCallback(_), Decision::Allow) => match given {
            Some(output) => build::hook_output(request_id, &output),
            None => build::hook_ok(request_id),
        },
        (Request::HookCallback(_), Decision::Deny) => {
            let output = json!({ "decision": "block", "reason": why.unwrap_or(NO_REASON) }).to_string();
            let output = RawValue::from_string(output).expect("it was just made as JSON");
            build::hook_output(request_id, &output)
        }
        _ => refusal(request_id),
    }
}
