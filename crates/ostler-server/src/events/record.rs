//! SSE records.
//!
//! Every record carries the cursor behind what it says as its `id`; docs/events.md lists the kinds.

use super::clean::is_clean;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ostler_store::Cursor;
use serde::Serialize;
use std::io::Write;
use utoipa::ToSchema;

/// A comment: a sign of life.
pub(crate) const LIFE: &[u8] = b":\n\n";

/// One event of a stream, as the description of the API has it: its fields are those of the stream (docs/events.md).
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "streams are written as text, and described by this")]
pub(crate) struct StreamEvent {
    /// The place behind it, for `Last-Event-ID`.
    #[schema(required = false)]
    id: String,
    /// What it is.
    #[schema(required = false)]
    event: String,
    /// Mostly JSON; what of depends on `event`.
    #[schema(required = false)]
    data: String,
    /// After how many milliseconds to connect again.
    #[schema(required = false)]
    retry: u32,
}

/// What a line's bytes are, and how they travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A line of claude's; its newline is not in the record.
    Line,
    /// The last line of a process that ended in the middle of it: there is no newline.
    Tail,
}

impl Kind {
    /// The name of the event.
    pub(crate) const fn event(self, clean: bool) -> &'static str {
        match (self, clean) {
            (Self::Line, true) => "line",
            (Self::Line, false) => "line-base64",
            (Self::Tail, true) => "tail",
            (Self::Tail, false) => "tail-base64",
        }
    }
}

/// Writes the records of whole lines into `out` until it holds `enough` bytes. `before`: the place before the first line;
/// `wanted`: says of a line, without its newline, whether it is given.
pub(crate) fn lines(
    out: &mut Vec<u8>,
    lines: &[u8],
    before: Cursor,
    enough: usize,
    mut wanted: impl FnMut(&[u8]) -> bool,
) -> Written {
    let all_clean = is_clean(lines);
    let head = format!("id: {}.", before.generation);
    let rest = format!(".{}\nevent: line\ndata: ", before.ctl);
    let (mut taken, mut told) = (0, None);
    while taken < lines.len() && out.len() < enough {
        let end = memchr::memchr(b'\n', &lines[taken..]).map_or(lines.len(), |at| taken + at + 1);
        let line = lines[taken..end].strip_suffix(b"\n").unwrap_or(&lines[taken..end]);
        taken = end;
        if !wanted(line) {
            continue;
        }
        let place = before.out + end as u64;
        told = Some(place);
        if all_clean || is_clean(line) {
            out.extend_from_slice(head.as_bytes());
            number(out, place);
            out.extend_from_slice(rest.as_bytes());
            out.extend_from_slice(line);
            out.extend_from_slice(b"\n\n");
        } else {
            bytes(out, Kind::Line, Cursor { out: place, ..before }, line);
        }
    }
    Written { taken, told }
}

/// What became of some lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    /// How many bytes of them were gone through.
    pub(crate) taken: usize,
    /// Where in `out` the last one ends that was given.
    pub(crate) told: Option<u64>,
}

/// Writes the record of one line or tail.
pub(crate) fn bytes(out: &mut Vec<u8>, kind: Kind, cursor: Cursor, bytes: &[u8]) {
    let clean = is_clean(bytes);
    begin(out, cursor, kind.event(clean));
    if clean {
        out.extend_from_slice(bytes);
    } else {
        out.extend_from_slice(STANDARD.encode(bytes).as_bytes());
    }
    out.extend_from_slice(b"\n\n");
}

/// Writes a record up to where its data begins.
pub(crate) fn begin(out: &mut Vec<u8>, cursor: Cursor, event: &str) {
    // A Vec takes everything.
    let _ = write!(out, "id: {cursor}\nevent: {event}\ndata: ");
}

/// Writes a record of ours.
pub(crate) fn document(out: &mut Vec<u8>, id: &str, event: &str, document: &impl Serialize) {
    let _ = write!(out, "id: {id}\nevent: {event}\ndata: ");
    let start = out.len();
    // Ours can all be written. JSON has no newline in it; what others take for one is escaped.
    if serde_json::to_writer(&mut *out, document).is_ok() && !is_clean(&out[start..]) {
        let text = String::from_utf8_lossy(&out[start..]).into_owned();
        out.truncate(start);
        out.extend_from_slice(escaped(&text).as_bytes());
    }
    out.extend_from_slice(b"\n\n");
}

/// The same JSON without the characters that a reader may take for line ends; serde_json escapes the ASCII ones.
fn escaped(json: &str) -> String {
    json.replace('\u{85}', "\\u0085").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// Moves a client's place without telling it anything: what lies between was not asked for.
pub(crate) fn place(out: &mut Vec<u8>, cursor: Cursor) {
    let _ = write!(out, "id: {cursor}\n\n");
}

/// Decimal digits.
fn number(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + u8::try_from(number % 10).unwrap_or(0);
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}
