//! A known stream of every kind of line: the same bytes for the same seed and size, so that who follows it can be
//! checked by length and hash.

/// From this size on, the stream holds one line of 20 MB.
const WITH_HUGE_LINE: usize = 40 << 20;
const HUGE_LINE: usize = 20 << 20;
/// What is left for the last line, which makes the size exact.
const LAST: usize = 4096;
const LARGEST_CHUNK: u64 = 64 * 1024;

/// The stream, in chunks that are cut anywhere: inside lines and inside characters.
///
/// ```
/// let stream: Vec<u8> = claude_lab::fake::Flood::new(100_000, 7).flatten().collect();
/// assert_eq!(stream.len(), 100_000);
/// assert_eq!(stream.last(), Some(&b'\n'));
/// ```
#[derive(Debug)]
pub struct Flood {
    dice: Dice,
    /// Not yet made.
    left: usize,
    number: u64,
    /// Made and not yet given out.
    held: Vec<u8>,
}

impl Flood {
    /// A stream of exactly `bytes` bytes (at least 16) that ends with a line's end.
    pub fn new(bytes: usize, seed: u64) -> Self {
        Self { dice: Dice(seed), left: bytes.max(16), number: 0, held: Vec::new() }
    }

    /// One valid JSON line of exactly `bytes` bytes, line end included (at least 128).
    pub fn line(bytes: usize, seed: u64) -> Vec<u8> {
        let head = br#"{"type":"system","subtype":"huge","text":""#;
        let tail = b"\"}\n";
        let mut line = head.to_vec();
        let mut dice = Dice(seed);
        let fill = bytes.max(128) - head.len() - tail.len();
        let letters = std::iter::repeat_with(|| dice.next().to_le_bytes()).flatten();
        line.extend(letters.take(fill).map(|byte| b'a' + byte % 26));
        line.extend_from_slice(tail);
        line
    }

    fn make(&mut self) {
        self.number += 1;
        let line = if self.left <= LAST {
            last(self.left)
        } else if self.number == 100 && self.left > WITH_HUGE_LINE - (1 << 20) {
            Self::line(HUGE_LINE, self.dice.0)
        } else {
            self.ordinary()
        };
        self.left -= line.len();
        self.held.extend_from_slice(&line);
    }

    fn ordinary(&mut self) -> Vec<u8> {
        let number = self.number;
        let word = |text: &str| {
            format!(r#"{{"type":"stream_event","n":{number},"event":{{"delta":{{"text":"{text}"}}}}}}"#)
                .into_bytes()
        };
        let mut line = match self.dice.below(12) {
            0 => word(r"lone \ud99c surrogate"),
            1 => word("next line \u{85} separators \u{2028} \u{2029}"),
            2 => word("é ü 漢字 🦀 split me anywhere"),
            3 => b"noise that is no JSON at all".to_vec(),
            4 => b"\xff\xfe not UTF-8 \x80".to_vec(),
            5 => Vec::new(),
            6 => word("carriage return").into_iter().chain(*b"\r").collect(),
            7 => format!(r#"{{"type":"never_seen_{number}","x":[1,2.5e3,null]}}"#).into_bytes(),
            8 => word(&"0123456789".repeat(1 + usize::from(self.dice.below(100)))),
            _ => word("plain"),
        };
        line.push(b'\n');
        line
    }
}

impl Iterator for Flood {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let wanted = usize::try_from(1 + self.dice.next() % LARGEST_CHUNK).unwrap_or(1);
        while self.held.len() < wanted && self.left > 0 {
            self.make();
        }
        if self.held.is_empty() {
            return None;
        }
        let rest = self.held.split_off(wanted.min(self.held.len()));
        Some(std::mem::replace(&mut self.held, rest))
    }
}

fn last(bytes: usize) -> Vec<u8> {
    let mut line = br#"{"end":""#.to_vec();
    line.resize(bytes.saturating_sub(3).max(line.len()), b'.');
    line.extend_from_slice(b"\"}\n");
    line
}

/// A small generator (splitmix64): known for ever, and needs no crate.
#[derive(Debug)]
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u8) -> u8 {
        u8::try_from(self.next() % u64::from(bound)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_exact_and_repeats() {
        for (bytes, seed) in [(16, 1), (4096, 2), (4097, 3), (1_000_000, 4)] {
            let first: Vec<u8> = Flood::new(bytes, seed).flatten().collect();
            let second: Vec<u8> = Flood::new(bytes, seed).flatten().collect();
            assert_eq!(first.len(), bytes);
            assert!(first == second && first.ends_with(b"\n"));
        }
        assert_ne!(
            Flood::new(100_000, 1).flatten().collect::<Vec<_>>(),
            Flood::new(100_000, 2).flatten().collect::<Vec<_>>()
        );
    }

    #[test]
    fn every_kind_of_line_occurs_and_a_large_stream_has_a_huge_line() {
        let stream: Vec<u8> = Flood::new(42 << 20, 7).flatten().collect();
        assert_eq!(stream.len(), 42 << 20);
        let longest = stream.split(|byte| *byte == b'\n').map(<[u8]>::len).max();
        assert_eq!(longest, Some(HUGE_LINE - 1));
        for part in
            [br"\ud99c".as_slice(), "\u{85}".as_bytes(), b"noise", b"\xff\xfe", "漢字".as_bytes(), b"\r\n"]
        {
            assert!(stream[..200_000].windows(part.len()).any(|window| window == part), "{part:?}");
        }
    }

    #[test]
    fn a_huge_line_is_valid_and_exact() {
        let line = Flood::line(100_000, 3);
        assert_eq!(line.len(), 100_000);
        assert!(serde_json::from_slice::<serde_json::Value>(&line).is_ok());
    }
}
