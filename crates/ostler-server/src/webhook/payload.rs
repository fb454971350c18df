//! What the receiver is told: who asks, what kind of thing, and where to decide. Short, whatever was asked.

use crate::dto::{rfc3339, word_of};
use claude_wire::{Message, Request};
use ostler_controller::client::Ostler;
use ostler_core::ids::Millis;
use ostler_store::db::{PermissionRow, WebhookRow};
use ostler_store::journal::read_range;
use serde_json::{Map, Value, json};

/// The longest that a text is, in characters; what is cut ends with `…`.
const TEXT: usize = 200;
/// The largest body, in bytes. Only a request id could make one larger.
const BODY: usize = 16 << 10;
/// What tells most about a call, where it has it.
const TELLING: [&str; 8] =
    ["command", "file_path", "notebook_path", "url", "query", "pattern", "path", "description"];

/// The body; None when it is too large to be told.
pub(super) fn body(
    ostler: &Ostler,
    asked: &PermissionRow,
    row: &WebhookRow,
    base: Option<&str>,
    now: Millis,
) -> Option<Vec<u8>> {
    let session = ostler.db().session(row.session).ok().flatten();
    let (tool, argument) = question(ostler, asked);
    let path = format!("/v1/permissions/{}/{}/{}", row.session, row.generation, escaped(&row.request_id));
    let body = json!({
        "type": "permission.requested",
        "timestamp": rfc3339(now),
        "data": {
            "session": row.session.to_string(),
            "label": session.and_then(|session| session.label).as_deref().map(short),
            "generation": row.generation,
            "request": row.request_id,
            "kind": word_of(&asked.journal.kind),
            "tool": tool.as_deref().map(short),
            "argument": argument.as_deref().map(short),
            "url": base.map(|base| format!("{base}{path}")),
        }
    });
    let body = body.to_string().into_bytes();
    (body.len() <= BODY).then_some(body)
}

/// Tool and argument, as the question's own line has them; what can't be read is left out.
fn question(ostler: &Ostler, asked: &PermissionRow) -> (Option<String>, Option<String>) {
    let files = ostler.home().session(asked.session).generation(asked.journal.generation);
    let bytes = read_range(&files, asked.journal.line.0, asked.journal.line.1).unwrap_or_default();
    let tool = asked.journal.tool.clone();
    let (Message::ControlRequest(line), _) = Message::parse(&bytes) else { return (tool, None) };
    match line.request {
        Request::CanUseTool(ask) => {
            let input = serde_json::from_str(ask.input.get()).unwrap_or_default();
            (Some(ask.tool_name), argument(&input))
        }
        Request::Elicitation(ask) => (tool.or(Some(ask.mcp_server_name)), Some(ask.message)),
        _ => (tool, None),
    }
}

fn argument(input: &Map<String, Value>) -> Option<String> {
    let asked = || input.get("questions")?.get(0)?.get("question");
    let telling = TELLING.iter().find_map(|name| input.get(*name)).or_else(asked);
    let telling =
        telling.filter(|value| value.is_string()).or_else(|| input.values().find(|v| v.is_string()));
    telling.and_then(Value::as_str).map(str::to_owned)
}

/// One line, and not a long one.
fn short(text: &str) -> String {
    let mut out: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(TEXT).collect();
    if text.chars().nth(TEXT).is_some() {
        out.push('…');
    }
    out
}

/// As one part of a path.
fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let part = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_short_and_on_one_line() {
        let of = |json: &str| argument(&serde_json::from_str(json).unwrap());
        assert_eq!(of(r#"{"description":"d","command":"make"}"#).as_deref(), Some("make"));
        assert_eq!(of(r#"{"questions":[{"question":"Which?"}]}"#).as_deref(), Some("Which?"));
        assert_eq!(of(r#"{"n":1,"plan":"Do it"}"#).as_deref(), Some("Do it"));
        assert_eq!(of(r#"{"n":1}"#), None);
        assert_eq!(short("a\nb\u{1b}[1m"), "a b [1m");
        let long = short(&"ä".repeat(300));
        assert_eq!((long.chars().count(), long.ends_with('…')), (201, true));
        assert_eq!(short(&"ä".repeat(200)).chars().count(), 200);
    }

    #[test]
    fn a_request_id_stays_one_part_of_the_path() {
        assert_eq!(escaped("toolu_01-a.b~"), "toolu_01-a.b~");
        assert_eq!(escaped("a/../ä?#"), "a%2F..%2F%C3%A4%3F%23");
    }
}
