//! Lines with the time of their writing in them, and the children that write them.

use std::io::Write;
use std::time::{Duration, SystemTime};

/// The length of every line, newline included.
pub(crate) const LENGTH: usize = 250;
/// Where the number and the time stand in a line; `ostler-os/examples/bare_follow.rs` knows it too.
const NUMBER: std::ops::Range<usize> = 6..26;
const TIME: std::ops::Range<usize> = 33..53;

/// Nanoseconds since 1970: the one clock that two processes share.
pub(crate) fn now() -> u64 {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// A line that is JSON, newline included.
pub(crate) fn line(number: u64, time: u64) -> Vec<u8> {
    let mut line = format!(r#"{{"n":"{number:020}","t":"{time:020}","x":""#).into_bytes();
    line.resize(LENGTH - 3, b'.');
    line.extend_from_slice(b"\"}\n");
    line
}

/// Number and time of a line.
pub(crate) fn read(line: &[u8]) -> (u64, u64) {
    let part = |range| std::str::from_utf8(&line[range]).ok().and_then(|text: &str| text.parse().ok());
    let read = part(NUMBER).zip(part(TIME));
    read.expect("only our own children write here")
}

/// Writes `count` lines to stdout, one write each, `pause` apart (zero: as fast as it can).
pub(crate) fn write(count: u64, pause: Duration) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let begun = std::time::Instant::now();
    for number in 0..count {
        let due = pause * u32::try_from(number).unwrap_or(u32::MAX);
        std::thread::sleep(due.saturating_sub(begun.elapsed()));
        // A whole line passes std's buffer by: one write.
        out.write_all(&line(number, now()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_gives_back_what_it_was_made_of() {
        let line = line(7, 1_796_000_000_000_000_123);
        assert_eq!(line.len(), LENGTH);
        assert_eq!(read(&line), (7, 1_796_000_000_000_000_123));
        assert!(serde_json::from_slice::<serde_json::Value>(&line).is_ok());
    }
}
