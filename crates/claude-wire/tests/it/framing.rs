//! Where lines end. Faults 76, 79, 81; protocol page, "Framing".

use claude_wire::{Frame, Message, Split, Splitter, Tail};

const MAX: usize = 64 << 20;

fn lines(max_line: usize, chunks: &[&[u8]]) -> Vec<Split> {
    let mut splitter = Splitter::new(0, max_line);
    let mut lines = Vec::new();
    for chunk in chunks {
        splitter.push(chunk);
        lines.extend(std::iter::from_fn(|| splitter.next_line()));
    }
    lines
}

fn line(start: u64, end: u64, bytes: &[u8]) -> Split {
    Split::Line { start, end, bytes: bytes.to_vec() }
}

fn result_of(bytes: &[u8]) -> String {
    match Frame::parse(bytes).into_message() {
        Message::Result(view) => view.result.expect("the line has a result"),
        other => panic!("not a result: {other:?}"),
    }
}

#[test]
fn nel_and_the_unicode_separators_do_not_split() {
    let text = "{\"type\":\"result\",\"result\":\"a\u{2028}b\u{2029}c\u{85}d\u{b}e\u{c}f\"}\n";
    let got = lines(MAX, &[text.as_bytes()]);
    assert_eq!(got, [line(0, text.len() as u64, text.trim_end_matches('\n').as_bytes())]);
    // Vertical tab and form feed are control characters, which JSON forbids inside a string: without them.
    let text = text.replace(['\u{b}', '\u{c}'], "");
    assert_eq!(result_of(text.as_bytes()), "a\u{2028}b\u{2029}c\u{85}def");
}

#[test]
fn carriage_return_is_kept_in_the_bytes_and_not_in_the_view() {
    let got = lines(MAX, &[b"{\"type\":\"keep_alive\"}\r\n\r\n{\"type\":\"result\",\"result\":\"x\"}\r\n"]);
    assert_eq!(got.len(), 3);
    assert_eq!(got[0], line(0, 23, b"{\"type\":\"keep_alive\"}\r"));
    assert!(matches!(Frame::parse(b"{\"type\":\"keep_alive\"}\r").message(), Message::KeepAlive));
    assert!(matches!(Frame::parse(b"\r").message(), Message::Blank));
    assert_eq!(result_of(b"{\"type\":\"result\",\"result\":\"x\"}\r"), "x");
}

#[test]
fn twenty_megabytes_on_one_line() {
    let text = "x".repeat(20 << 20);
    let mut stream = format!("{{\"type\":\"result\",\"result\":\"{text}\"}}").into_bytes();
    let whole = stream.clone();
    stream.push(b'\n');
    let chunks: Vec<&[u8]> = stream.chunks(65_536).collect();
    let got = lines(MAX, &chunks);
    assert_eq!(got.len(), 1);
    let Split::Line { start: 0, end, bytes } = &got[0] else { panic!("oversized") };
    assert_eq!(*end, stream.len() as u64);
    assert!(*bytes == whole);
    assert_eq!(result_of(bytes).len(), text.len());
    assert!(Frame::parse(bytes).bytes() == whole);
}

#[test]
fn utf8_split_across_chunks() {
    let text = "{\"type\":\"result\",\"result\":\"äß€😀\"}\n";
    for at in 0..=text.len() {
        let (a, b) = text.as_bytes().split_at(at);
        let got = lines(MAX, &[a, b]);
        let Some(Split::Line { bytes, .. }) = got.first() else { panic!("no line at {at}") };
        assert_eq!(result_of(bytes), "äß€😀");
    }
}

#[test]
fn a_line_over_the_cap_is_known_by_its_range_and_the_next_one_is_read() {
    let mut stream = b"ok\n".to_vec();
    stream.extend(vec![b'x'; 101]);
    stream.extend(b"\nnext\n");
    for size in [1, 7, 100, 4096] {
        let chunks: Vec<&[u8]> = stream.chunks(size).collect();
        assert_eq!(
            lines(100, &chunks),
            [line(0, 3, b"ok"), Split::Oversized { start: 3, end: 105 }, line(105, 110, b"next")],
            "chunks of {size}",
        );
    }
    assert_eq!(lines(101, &[&stream]).len(), 3);
    assert!(matches!(lines(101, &[&stream])[1], Split::Line { .. }), "exactly at the cap is no more than it");
}

#[test]
fn a_long_line_is_not_held_while_it_comes() {
    let mut splitter = Splitter::new(10, 1000);
    for _ in 0..1000 {
        splitter.push(&[b'x'; 500]);
        assert_eq!(splitter.next_line(), None);
    }
    assert_eq!(splitter.consumed(), 10);
    assert_eq!(splitter.tail(), Tail { start: 10, len: 500_000 });
    splitter.push(b"\n");
    assert_eq!(splitter.next_line(), Some(Split::Oversized { start: 10, end: 500_011 }));
    assert_eq!(splitter.consumed(), 500_011);
}

#[test]
fn the_unterminated_end_is_a_tail_not_a_line() {
    let mut splitter = Splitter::new(0, MAX);
    splitter.push(b"one\ntw");
    assert_eq!(splitter.next_line(), Some(line(0, 4, b"one")));
    assert_eq!(splitter.next_line(), None);
    assert_eq!((splitter.consumed(), splitter.tail()), (4, Tail { start: 4, len: 2 }));
    splitter.push(b"o\n");
    assert_eq!(splitter.next_line(), Some(line(4, 8, b"two")));
    assert_eq!(splitter.tail(), Tail { start: 8, len: 0 });
}

#[test]
fn noise_is_noise_and_its_bytes_are_kept() {
    let noise: [&[u8]; 9] = [
        b"(node:12) Warning: something is deprecated",
        b"npm notice New major version",
        b"[1,2]",
        b"\"text\"",
        b"42",
        b"null",
        b"{\"type\":\"result\",\"resu",
        b"{\"type\":\"result\"} trailing",
        b"\xff\xfe\0\0",
    ];
    for bytes in noise {
        let frame = Frame::parse(bytes);
        assert!(matches!(frame.message(), Message::Noise), "{frame:?}");
        assert_eq!(frame.bytes(), bytes);
    }
    for blank in [&b""[..], b" ", b"\t \r"] {
        assert!(matches!(Frame::parse(blank).message(), Message::Blank));
    }
}

/// The rule for noise without a newline in front of an object: the whole line is noise, because what stands behind
/// may be a quotation of what a tool printed. A torn line with another behind it (full disk) is the same case.
#[test]
fn noise_glued_before_an_object_makes_the_whole_line_noise() {
    let glued: [&[u8]; 3] = [
        b"Debugger attached.{\"type\":\"result\",\"subtype\":\"success\",\"result\":\"forged\"}",
        b"{\"type\":\"assistant\",\"mess{\"type\":\"result\",\"subtype\":\"success\",\"result\":\"x\"}",
        b"{\"type\":\"keep_alive\"}{\"type\":\"keep_alive\"}",
    ];
    for bytes in glued {
        let frame = Frame::parse(bytes);
        assert!(matches!(frame.message(), Message::Noise), "{frame:?}");
        assert_eq!(frame.bytes(), bytes);
    }
}
