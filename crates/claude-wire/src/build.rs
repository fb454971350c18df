//! The lines that we write to a child.
//!
//! Each builder gives exactly one valid JSON line that ends in `\n`, whatever it is given: a malformed line kills the
//! child (protocol page, "Framing"). U+2028 and U+2029 are escaped, because some readers take them for line ends.

use serde::Serialize;
use serde_json::value::RawValue;
use uuid::Uuid;

/// What a user line says.
#[derive(Clone, Debug)]
pub enum Content {
    /// Plain text.
    Text(String),
    /// A JSON list of content blocks.
    Blocks(Box<RawValue>),
}

/// A prompt. `priority` is `now`, `next` or `later`; without it the child decides.
#[must_use]
pub fn user_line(uuid: Uuid, content: &Content, priority: Option<&str>) -> Vec<u8> {
    match content {
        Content::Text(text) => user_line_of(uuid, text, priority),
        Content::Blocks(blocks) => user_line_of(uuid, blocks, priority),
    }
}

fn user_line_of<C: Serialize + ?Sized>(uuid: Uuid, content: &C, priority: Option<&str>) -> Vec<u8> {
    #[derive(Serialize)]
    struct User<'a, C: ?Sized> {
        r#type: &'static str,
        uuid: Uuid,
        session_id: &'static str,
        message: Message<'a, C>,
        parent_tool_use_id: Option<&'static str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        priority: Option<&'a str>,
    }

    #[derive(Serialize)]
    struct Message<'a, C: ?Sized> {
        role: &'static str,
        content: &'a C,
    }

    line(&User {
        r#type: "user",
        uuid,
        session_id: "",
        message: Message { role: "user", content },
        parent_tool_use_id: None,
        priority,
    })
}

/// Registers with the child; on a running one, asks what is pending. Earlier hooks and agents are kept.
#[must_use]
pub fn initialize(id: &str) -> Vec<u8> {
    other_request(id, "initialize")
}

/// Breaks the running turn off. `cancel_queued` takes back what is queued too, where the CLI can
/// (`interrupt_cancel_queued_v1`); others ignore it.
#[must_use]
pub fn interrupt(id: &str, cancel_queued: bool) -> Vec<u8> {
    #[derive(Serialize)]
    struct Interrupt {
        subtype: &'static str,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        cancel_queued: bool,
    }

    request(id, &Interrupt { subtype: "interrupt", cancel_queued })
}

/// Tells the child to leave. Nothing may be written behind it.
#[must_use]
pub fn end_session(id: &str) -> Vec<u8> {
    other_request(id, "end_session")
}

/// Takes a queued user line back.
#[must_use]
pub fn cancel_async_message(id: &str, message_uuid: Uuid) -> Vec<u8> {
    #[derive(Serialize)]
    struct Cancel {
        subtype: &'static str,
        message_uuid: Uuid,
    }

    request(id, &Cancel { subtype: "cancel_async_message", message_uuid })
}

/// A request that is nothing but its subtype.
#[must_use]
pub fn other_request(id: &str, subtype: &str) -> Vec<u8> {
    #[derive(Serialize)]
    struct Bare<'a> {
        subtype: &'a str,
    }

    request(id, &Bare { subtype })
}

/// Allows a tool call. `updated_input` is the call's own input when it is to run unchanged; older CLIs fail without
/// it. `updated_permissions` are the child's suggestions, untouched.
#[must_use]
pub fn allow(request_id: &str, updated_input: &RawValue, updated_permissions: Option<&RawValue>) -> Vec<u8> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Allow<'a> {
        behavior: &'static str,
        updated_input: &'a RawValue,
        #[serde(skip_serializing_if = "Option::is_none")]
        updated_permissions: Option<&'a RawValue>,
    }

    success(request_id, &Allow { behavior: "allow", updated_input, updated_permissions })
}

/// Denies a tool call; the model is told `message`. `interrupt` also ends the turn.
#[must_use]
pub fn deny(request_id: &str, message: &str, interrupt: bool) -> Vec<u8> {
    #[derive(Serialize)]
    struct Deny<'a> {
        behavior: &'static str,
        message: &'a str,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        interrupt: bool,
    }

    success(request_id, &Deny { behavior: "deny", message, interrupt })
}

/// Answers a hook callback: nothing to say, go on.
#[must_use]
pub fn hook_ok(request_id: &str) -> Vec<u8> {
    #[derive(Serialize)]
    struct Nothing {}

    success(request_id, &Nothing {})
}

/// Answers a hook callback with the hook's output: a JSON object.
#[must_use]
pub fn hook_output(request_id: &str, output: &RawValue) -> Vec<u8> {
    success(request_id, output)
}

/// Answers an elicitation: `accept` (with `content`), `decline` or `cancel`.
#[must_use]
pub fn elicitation(request_id: &str, action: &str, content: Option<&RawValue>) -> Vec<u8> {
    #[derive(Serialize)]
    struct Answer<'a> {
        action: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<&'a RawValue>,
    }

    success(request_id, &Answer { action, content })
}

/// Says that a request can't be answered. Every request of the child needs some answer, or it waits for ever.
#[must_use]
pub fn error_response(request_id: &str, text: &str) -> Vec<u8> {
    #[derive(Serialize)]
    struct Failure<'a> {
        subtype: &'static str,
        request_id: &'a str,
        error: &'a str,
    }

    response(&Failure { subtype: "error", request_id, error: text })
}

fn request<R: Serialize>(request_id: &str, request: &R) -> Vec<u8> {
    #[derive(Serialize)]
    struct Line<'a, R> {
        r#type: &'static str,
        request_id: &'a str,
        request: &'a R,
    }

    line(&Line { r#type: "control_request", request_id, request })
}

fn success<R: Serialize + ?Sized>(request_id: &str, answer: &R) -> Vec<u8> {
    #[derive(Serialize)]
    struct Success<'a, R: ?Sized> {
        subtype: &'static str,
        request_id: &'a str,
        response: &'a R,
    }

    response(&Success { subtype: "success", request_id, response: answer })
}

fn response<R: Serialize>(response: &R) -> Vec<u8> {
    #[derive(Serialize)]
    struct Line<'a, R> {
        r#type: &'static str,
        response: &'a R,
    }

    line(&Line { r#type: "control_response", response })
}

/// Writes a value as one line.
fn line<T: Serialize>(value: &T) -> Vec<u8> {
    let json = serde_json::to_vec(value).expect("string keys and raw JSON always serialise");
    let mut line = Vec::with_capacity(json.len() + 1);
    let mut rest = json.as_slice();
    // Outside strings JSON is ASCII, so both separators stand in strings; a line break that came with raw JSON
    // stands outside of them, where any white space is as good.
    while let Some(at) = rest.iter().position(|&b| matches!(b, b'\n' | b'\r' | 0xE2)) {
        line.extend_from_slice(&rest[..at]);
        let (replacement, taken): (&[u8], usize) = match &rest[at..] {
            [0xE2, 0x80, 0xA8, ..] => (br"\u2028", 3),
            [0xE2, 0x80, 0xA9, ..] => (br"\u2029", 3),
            [0xE2, ..] => (b"\xE2", 1),
            _ => (b" ", 1),
        };
        line.extend_from_slice(replacement);
        rest = &rest[at + taken..];
    }
    line.extend_from_slice(rest);
    line.push(b'\n');
    line
}
