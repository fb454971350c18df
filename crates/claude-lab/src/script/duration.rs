//! Durations as people write them: `200ms`, `3s`, `2m`, `1h`.

use std::time::Duration;

/// Reads a duration of at most a day.
pub(super) fn parse(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let ms = match unit {
        "ms" => number,
        "s" => number.checked_mul(1_000)?,
        "m" => number.checked_mul(60_000)?,
        "h" => number.checked_mul(3_600_000)?,
        _ => return None,
    };
    (ms <= 86_400_000).then(|| Duration::from_millis(ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_and_nonsense() {
        assert_eq!(parse("200ms"), Some(Duration::from_millis(200)));
        assert_eq!(parse("3s"), Some(Duration::from_secs(3)));
        assert_eq!(parse("2m"), Some(Duration::from_secs(120)));
        assert_eq!(parse("1h"), Some(Duration::from_secs(3600)));
        for bad in ["", "3", "s", "3 s", "-1s", "1d", "25h", "99999999999999999999s"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
