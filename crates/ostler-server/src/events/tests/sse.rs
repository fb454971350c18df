//! Server-sent events as the standard has them, and a session's bytes put together from them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// One event, as a browser would give it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) id: String,
    pub(super) event: String,
    pub(super) data: String,
}

/// Puts events together from a body that comes in any pieces.
#[derive(Debug, Default)]
pub(super) struct Reader {
    line: Vec<u8>,
    last_id: String,
    event: String,
    data: Option<String>,
    pub(super) records: Vec<Record>,
    pub(super) comments: usize,
}

impl Reader {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        for byte in bytes {
            assert_ne!(*byte, b'\r', "CR ends a line too");
            if *byte == b'\n' {
                let line = std::mem::take(&mut self.line);
                self.take(std::str::from_utf8(&line).expect("a stream of events is UTF-8"));
            } else {
                self.line.push(*byte);
            }
        }
    }

    fn take(&mut self, line: &str) {
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            if let Some(data) = self.data.take() {
                self.records.push(Record { id: self.last_id.clone(), event, data });
            }
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "" => self.comments += 1,
            "id" => value.clone_into(&mut self.last_id),
            "event" => value.clone_into(&mut self.event),
            "data" => {
                assert!(self.data.is_none(), "a line is one field");
                self.data = Some(value.to_owned());
            }
            "retry" => {}
            other => panic!("an unknown field: {other:?}"),
        }
    }

    pub(super) fn last_id(&self) -> &str {
        &self.last_id
    }
}

/// What claude wrote.
pub(super) fn written(records: &[Record]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for record in records {
        let data = record.data.as_bytes();
        match record.event.as_str() {
            "line" => bytes.extend([data, b"\n"].concat()),
            "line-base64" => bytes.extend([STANDARD.decode(data).unwrap().as_slice(), b"\n"].concat()),
            "tail" => bytes.extend(data),
            "tail-base64" => bytes.extend(STANDARD.decode(data).unwrap()),
            _ => {}
        }
    }
    bytes
}
