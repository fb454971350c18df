//! Small things that stand after a keyword: names, numbers, sizes, times.

use std::time::Duration;

use super::{Pause, Piece};

/// The first word and what comes after it.
pub(super) fn split(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    match text.find(char::is_whitespace) {
        Some(at) => (&text[..at], text[at..].trim_start()),
        None => (text, ""),
    }
}

/// A name that can be part of a file name.
pub(super) fn name(word: &str) -> Result<String, String> {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if word.is_empty() || !word.chars().all(good) || word.starts_with('.') {
        return Err(format!("`{word}` is no name: use letters, digits, `-` and `_`"));
    }
    Ok(word.to_owned())
}

/// A size: `1000`, `64k`, `20m` (1024 based).
pub(super) fn size(word: &str) -> Result<usize, String> {
    let (digits, unit) = match word.as_bytes().last() {
        Some(b'k') => (&word[..word.len() - 1], 1 << 10),
        Some(b'm') => (&word[..word.len() - 1], 1 << 20),
        _ => (word, 1),
    };
    digits
        .parse::<usize>()
        .ok()
        .and_then(|number| number.checked_mul(unit))
        .ok_or_else(|| format!("`{word}` is no size: write bytes, or a number with `k` or `m`"))
}

pub(super) fn number<T: std::str::FromStr>(word: &str) -> Result<T, String> {
    word.parse().map_err(|_| format!("`{word}` is no number that fits here"))
}

/// A time: `50ms`, `2s`.
pub(super) fn time(word: &str) -> Result<Duration, String> {
    let millis = match word.strip_suffix("ms") {
        Some(digits) => digits.parse::<u64>().ok(),
        None => word.strip_suffix('s').and_then(|digits| digits.parse::<u64>().ok()?.checked_mul(1000)),
    };
    millis.map(Duration::from_millis).ok_or_else(|| format!("`{word}` is no time: write `50ms` or `2s`"))
}

/// A text with `{until GATE}` and `{pause 50ms}` in it.
pub(super) fn pieces(text: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((start, pause, end)) = marker(rest)? {
        if start > 0 {
            pieces.push(Piece::Text(rest[..start].to_owned()));
        }
        pieces.push(Piece::Pause(pause));
        rest = &rest[end..];
    }
    if !rest.is_empty() || pieces.is_empty() {
        pieces.push(Piece::Text(rest.to_owned()));
    }
    Ok(pieces)
}

/// The first marker: where it starts, what it says, where it ends.
fn marker(text: &str) -> Result<Option<(usize, Pause, usize)>, String> {
    let starts = ["{until ", "{pause "].iter().filter_map(|mark| text.find(mark)).min();
    let Some(start) = starts else { return Ok(None) };
    let length = text[start..].find('}').ok_or("a `{until …` or `{pause …` without `}`")?;
    let (word, rest) = split(&text[start + 1..start + length]);
    let pause = if word == "until" { Pause::Gate(name(rest)?) } else { Pause::For(time(rest)?) };
    Ok(Some((start, pause, start + length + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_at_their_pauses() {
        assert_eq!(
            pieces("a {until g}b{pause 5ms}").unwrap(),
            [
                Piece::Text("a ".into()),
                Piece::Pause(Pause::Gate("g".into())),
                Piece::Text("b".into()),
                Piece::Pause(Pause::For(Duration::from_millis(5))),
            ]
        );
        assert_eq!(pieces("{json}").unwrap(), [Piece::Text("{json}".into())]);
        assert!(pieces("{until g").is_err());
    }

    #[test]
    fn sizes_and_times_have_units() {
        assert_eq!(size("20m").unwrap(), 20 << 20);
        assert_eq!(time("2s").unwrap(), Duration::from_secs(2));
        assert!(size("2g").is_err() && time("2").is_err() && name("../x").is_err());
    }
}
