//! A session's events a page at a time, as JSON.

use super::control::ControlBody;
use super::filter::Filter;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ostler_store::{Entry, Follower, JournalError};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// A page is not filled further than this many bytes of lines.
const MOST_BYTES: usize = 4 << 20;
/// The most entries that are gone through for one page, wanted or not.
const MOST_ENTRIES: usize = 200_000;

/// Some events.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EventPage {
    /// Oldest first.
    items: Vec<EventBody>,
    /// What `after` is for what comes next.
    next: String,
    /// There is more already.
    more: bool,
}

/// An event. Which of the other fields have a value depends on `event`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EventBody {
    /// The place behind it.
    cursor: String,
    /// `generation`, `line`, `tail`, `control`, `garbled`.
    event: &'static str,
    /// The process; 0: none.
    generation: u32,
    /// Of a line that is a JSON object: it, unchanged.
    #[schema(value_type = Option<Object>)]
    message: Option<Box<RawValue>>,
    /// Of any other line that may be held: its bytes.
    base64: Option<String>,
    /// What ostler wrote or decided.
    control: Option<ControlBody>,
    /// Of what is too long to be held, or no row: where it begins in its file.
    start: Option<u64>,
    /// Where it ends.
    end: Option<u64>,
}

/// At most `limit` events that come next.
///
/// # Errors
/// A file can't be read.
pub(crate) fn page(
    follower: &mut Follower,
    filter: &Filter,
    limit: usize,
) -> Result<EventPage, JournalError> {
    let mut items = Vec::new();
    let (mut bytes, mut entries) = (0, 0);
    let more = loop {
        if items.len() >= limit || bytes >= MOST_BYTES || entries >= MOST_ENTRIES {
            break true;
        }
        let Some(entry) = follower.next()? else { break false };
        entries += 1;
        if filter.wants_entry(&entry) && wants_line(filter, &entry) {
            let body = EventBody::of(entry, &follower.cursor().to_string());
            bytes += body.weight();
            items.push(body);
        }
    };
    Ok(EventPage { items, next: follower.cursor().to_string(), more })
}

fn wants_line(filter: &Filter, entry: &Entry) -> bool {
    match entry {
        Entry::Out { bytes, .. } => filter.wants_line(bytes, true),
        // Nobody has looked into it.
        _ => true,
    }
}

impl EventBody {
    fn of(entry: Entry, cursor: &str) -> Self {
        let body = |event, generation| Self {
            cursor: cursor.to_owned(),
            event,
            generation,
            message: None,
            base64: None,
            control: None,
            start: None,
            end: None,
        };
        let at = |body, start, end| Self { start: Some(start), end: Some(end), ..body };
        match entry {
            Entry::Generation { no } => body("generation", no),
            Entry::Out { no, bytes, .. } => body("line", no).holding(bytes),
            Entry::OutOversized { no, start, end, .. } => at(body("line", no), start, end - 1),
            Entry::Tail { no, start, len, .. } => at(body("tail", no), start, start + len),
            Entry::CtlGarbled { no, start, end, .. } => at(body("garbled", no), start, end),
            Entry::Ctl { no, row, .. } => {
                Self { control: Some(ControlBody::of(no, &row)), ..body("control", no) }
            }
        }
    }

    fn holding(self, bytes: Vec<u8>) -> Self {
        // White space around an object would be lost.
        let is_object = bytes.first() == Some(&b'{') && bytes.last() == Some(&b'}');
        let text = std::str::from_utf8(&bytes).ok().filter(|_| is_object);
        match text.and_then(|text| serde_json::from_str::<Box<RawValue>>(text).ok()) {
            Some(message) => Self { message: Some(message), ..self },
            None => Self { base64: Some(STANDARD.encode(bytes)), ..self },
        }
    }

    fn weight(&self) -> usize {
        let message = self.message.as_ref().map_or(0, |message| message.get().len());
        message + self.base64.as_ref().map_or(0, String::len) + 200
    }
}
