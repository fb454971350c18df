//! What must hold for any bytes. The property tests, the corpus replay and the fuzz targets (`fuzz/`) all check this.

use claude_wire::{Frame, Message, Request, Split, Splitter, build, known};
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// Splits `bytes` in chunks of the given sizes (used in a circle) and compares with the plainest way to do it.
pub(crate) fn splits_right(bytes: &[u8], sizes: &[usize], base: u64, max_line: usize) {
    let mut splitter = Splitter::new(base, max_line);
    let mut lines = Vec::new();
    let mut rest = bytes;
    let mut sizes = sizes.iter().copied().filter(|&size| size > 0).cycle();
    while !rest.is_empty() {
        let (chunk, behind) = rest.split_at(sizes.next().unwrap_or(rest.len()).min(rest.len()));
        splitter.push(chunk);
        lines.extend(std::iter::from_fn(|| splitter.next_line()));
        rest = behind;
    }
    let expected = split_plainly(bytes, base, max_line);
    let consumed = expected.last().map_or(base, |line| match line {
        Split::Line { end, .. } | Split::Oversized { end, .. } => *end,
    });
    assert_eq!(lines, expected);
    assert_eq!(splitter.consumed(), consumed);
    assert_eq!(
        (splitter.tail().start, splitter.tail().len),
        (consumed, base + bytes.len() as u64 - consumed)
    );
}

fn split_plainly(bytes: &[u8], base: u64, max_line: usize) -> Vec<Split> {
    let mut start = base;
    let whole = |line: &&[u8]| line.ends_with(b"\n");
    let split = |line: &[u8]| {
        let end = start + line.len() as u64;
        let split = if line.len() - 1 > max_line {
            Split::Oversized { start, end }
        } else {
            Split::Line { start, end, bytes: line[..line.len() - 1].to_vec() }
        };
        start = end;
        split
    };
    bytes.split_inclusive(|&b| b == b'\n').filter(whole).map(split).collect()
}

/// Reads one line: it keeps its bytes, is noise exactly if it is no JSON object, and what it asks can be answered.
pub(crate) fn reads_right(line: &[u8]) {
    let frame = Frame::parse(line);
    assert_eq!(frame.bytes(), line);
    let text = String::from_utf8_lossy(line);
    let object = text.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(&text).is_ok();
    match frame.message() {
        Message::Blank => assert!(line.iter().all(u8::is_ascii_whitespace)),
        Message::Noise => assert!(!object, "an object was taken for noise: {text}"),
        _ => assert!(object, "no object, but read as one: {text}"),
    }
    assert!(object || known::unknown_fields(line).is_empty());
    if let Message::ControlRequest(ask) = frame.message() {
        if let Request::CanUseTool(tool) = &ask.request {
            is_one_line(&build::allow(&ask.request_id, &tool.input, tool.suggestions.as_deref()));
        }
        is_one_line(&build::error_response(&ask.request_id, &text));
    }
}

/// Checks a line that we wrote.
pub(crate) fn is_one_line(line: &[u8]) {
    assert_eq!(line.iter().filter(|&&b| b == b'\n').count(), 1);
    let body = line.strip_suffix(b"\n").expect("a newline ends it");
    assert!(!body.contains(&b'\r'));
    let text = str::from_utf8(body).expect("UTF-8");
    assert!(!text.contains(['\u{2028}', '\u{2029}']));
    // Not as a value of serde_json: that refuses lone surrogates and huge numbers, which raw JSON may hold.
    serde_json::from_str::<&RawValue>(text).expect("JSON");
}
