//! Which bytes may stand in an SSE field as they are.
//!
//! A field is UTF-8 and ends at CR or LF. Beyond that, readers in use split their input with functions that also know NEL
//! (U+0085), U+2028, U+2029 and some control characters as line ends; no line of claude's holds one of the latter outside
//! strings, and inside strings JSON escapes them. So what has none of all these is clean, and everything else is base64.

/// May these bytes, which may hold whole lines with their newlines, stand as they are?
pub(crate) fn is_clean(bytes: &[u8]) -> bool {
    match plain(bytes) {
        Plain::Ascii => true,
        Plain::Beyond => !has_separator(bytes) && std::str::from_utf8(bytes).is_ok(),
        Plain::Control => false,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plain {
    /// Printable ASCII, tabs and newlines.
    Ascii,
    /// Something beyond ASCII, and no control character.
    Beyond,
    /// A control character.
    Control,
}

/// One pass without a branch in it, which compilers turn into vectors.
fn plain(bytes: &[u8]) -> Plain {
    let (mut control, mut beyond) = (false, false);
    for &byte in bytes {
        control |= byte < 0x20 && byte != b'\n' && byte != b'\t';
        beyond |= byte >= 0x80;
    }
    match (control, beyond) {
        (true, _) => Plain::Control,
        (_, true) => Plain::Beyond,
        _ => Plain::Ascii,
    }
}

/// NEL, U+2028, U+2029 as UTF-8.
fn has_separator(bytes: &[u8]) -> bool {
    let two = bytes.windows(2).any(|two| two == [0xc2, 0x85]);
    two || bytes.windows(3).any(|three| matches!(three, [0xe2, 0x80, 0xa8 | 0xa9]))
}

/// The same question about a line that comes in pieces.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// A character that the last piece cut, or what may be the beginning of one.
    cut: Vec<u8>,
    unclean: bool,
}

impl Scan {
    /// The next piece, with no newline in it.
    pub(crate) fn push(&mut self, piece: &[u8]) {
        if self.unclean {
            return;
        }
        // What was cut needs up to three more bytes; the rest is checked where it lies.
        let held = self.cut.len();
        let wanted = self.cut.first().map_or(0, |first| width_of(*first).saturating_sub(held));
        let more = wanted.min(piece.len());
        if held > 0 {
            let mut whole = std::mem::take(&mut self.cut);
            whole.extend_from_slice(&piece[..more]);
            self.check(&whole);
        }
        if more < piece.len() {
            // Nothing is held now: a whole character was put together, or it was none.
            self.check(&piece[more..]);
        }
    }

    fn check(&mut self, piece: &[u8]) {
        if self.unclean {
            return;
        }
        let kept = match std::str::from_utf8(piece) {
            Ok(_) => piece.len(),
            // Cut at the end, and nothing else is wrong with it.
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => {
                self.unclean = true;
                return;
            }
        };
        self.unclean |= !is_clean(&piece[..kept]);
        self.cut = piece[kept..].to_vec();
    }

    /// All pieces were given: may the line stand as it is?
    pub(crate) fn is_clean(&self) -> bool {
        !self.unclean && self.cut.is_empty()
    }
}

/// How many bytes a character has that begins with this one.
fn width_of(first: u8) -> usize {
    match first {
        0xf0.. => 4,
        0xe0.. => 3,
        0xc0.. => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_reader_may_take_for_a_line_end_or_no_text_is_unclean() {
        let clean: [&[u8]; 6] = [
            b"",
            b"{\"a\":\"\\ud99c\"}",
            b"tab\there",
            "é 漢字 🦀 \u{a0}".as_bytes(),
            b"two\nlines\n",
            b" \x7f",
        ];
        for bytes in clean {
            assert!(is_clean(bytes), "{bytes:?}");
        }
        let unclean: [&[u8]; 9] = [
            b"cr\r",
            b"\xff\xfe",
            b"\xed\xa0\x80",
            b"nul\0",
            "nel\u{85}".as_bytes(),
            "ls\u{2028}".as_bytes(),
            "ps\u{2029}".as_bytes(),
            b"vt\x0b",
            b"cut\xe2\x80",
        ];
        for bytes in unclean {
            assert!(!is_clean(bytes), "{bytes:?}");
        }
    }

    #[test]
    fn pieces_of_any_size_say_the_same_as_the_whole() {
        let whole = ["plain", "é漢🦀", "nel\u{85}x", "ls\u{2028}", "🦀", "a\u{7ff}\u{800}\u{ffff}\u{10000}b"];
        let mut all: Vec<Vec<u8>> = whole.iter().map(|text| text.as_bytes().to_vec()).collect();
        all.extend([b"a\xe2\x80".to_vec(), b"\xf0\x9f".to_vec(), b"\x80".to_vec(), b"x\xc3(y".to_vec()]);
        all.extend([b"\xf0\x9f\xa6\xf0\x9f\xa6\x80".to_vec(), b"cr\r".to_vec(), Vec::new()]);
        for bytes in all {
            for size in 1..=bytes.len().max(1) {
                let mut scan = Scan::default();
                bytes.chunks(size).for_each(|piece| scan.push(piece));
                assert_eq!(scan.is_clean(), is_clean(&bytes), "{bytes:?} in pieces of {size}");
            }
        }
    }
}
