//! Bytes, tokens, dollars, durations and times for people.

use ostler_core::ids::Millis;

/// A number of bytes: `512 B`, `2.1 kB`, `50 MB` (powers of 1000).
#[must_use]
pub fn bytes(n: u64) -> String {
    scaled(n, &["B", "kB", "MB", "GB", "TB"], " ")
}

/// A number of tokens: `512`, `2.1k`, `1.3M`.
#[must_use]
pub fn tokens(n: u64) -> String {
    scaled(n, &["", "k", "M", "G", "T"], "")
}

fn scaled(n: u64, units: &[&str], space: &str) -> String {
    let mut unit = 0;
    let mut scale = 1u64;
    // 999 500 is 1.0 of the next unit, not 1000 of this one.
    while unit + 1 < units.len() && n.saturating_add(scale / 2) >= scale.saturating_mul(1000) {
        scale = scale.saturating_mul(1000);
        unit += 1;
    }
    if unit == 0 {
        return format!("{n}{space}{}", units[0]);
    }
    let tenths = (u128::from(n) * 10 + u128::from(scale) / 2) / u128::from(scale);
    if tenths < 100 {
        format!("{}.{}{space}{}", tenths / 10, tenths % 10, units[unit])
    } else {
        format!("{}{space}{}", (tenths + 5) / 10, units[unit])
    }
}

/// Dollars: cents for larger sums, four significant places for small ones. Unknown is never zero.
#[must_use]
pub fn dollars(usd: Option<f64>) -> String {
    // An empty sum of floats is -0.
    match usd.map(|usd| usd + 0.0) {
        None => "unknown".to_owned(),
        Some(usd) if usd >= 1.0 => format!("${usd:.2}"),
        Some(usd) if usd >= 0.01 || usd == 0.0 => format!("${usd:.4}"),
        Some(usd) => format!("${usd:.6}"),
    }
}

/// How long ago something was, in one unit: `12 s`, `3 min`, `2 h`, `5 d`.
#[must_use]
pub fn age(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0..=59 => format!("{seconds} s"),
        60..=3599 => format!("{} min", seconds / 60),
        3600..=86_399 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// A length of time: `0.4 s`, `12 s`, `3 min 5 s`, `2 h 10 min`, `3 d 4 h`.
#[must_use]
pub fn duration(ms: u64) -> String {
    let seconds = ms / 1000;
    let pair = |large: u64, small: u64, units: (&str, &str)| {
        if small == 0 {
            format!("{large} {}", units.0)
        } else {
            format!("{large} {} {small} {}", units.0, units.1)
        }
    };
    match seconds {
        0..=9 => format!("{}.{} s", seconds, ms % 1000 / 100),
        10..=59 => format!("{seconds} s"),
        60..=3599 => pair(seconds / 60, seconds % 60, ("min", "s")),
        3600..=86_399 => pair(seconds / 3600, seconds % 3600 / 60, ("h", "min")),
        _ => pair(seconds / 86_400, seconds % 86_400 / 3600, ("d", "h")),
    }
}

/// A time, to the minute: `2026-11-30 14:05 UTC`.
#[must_use]
pub fn clock(at: Millis) -> String {
    jiff::Timestamp::from_millisecond(at.0)
        .map_or_else(|_| "an impossible time".to_owned(), |t| t.strftime("%Y-%m-%d %H:%M UTC").to_string())
}

/// A time for machines, RFC 3339 with milliseconds.
#[must_use]
pub fn rfc3339(at: Millis) -> String {
    jiff::Timestamp::from_millisecond(at.0)
        .map_or_else(|_| at.0.to_string(), |t| t.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_short() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(1000), "1.0 kB");
        assert_eq!(bytes(2_149), "2.1 kB");
        assert_eq!(bytes(9_950), "10 kB");
        assert_eq!(bytes(999_949), "1.0 MB");
        assert_eq!(bytes(20_000_000), "20 MB");
        assert_eq!(tokens(12_345), "12k");
        assert_eq!(tokens(u64::MAX), "18446744T");
    }

    #[test]
    fn times_are_in_utc() {
        assert_eq!(clock(Millis(1_796_053_215_123)), "2026-11-30 15:40 UTC");
        assert_eq!(rfc3339(Millis(1_796_053_215_123)), "2026-11-30T15:40:15.123Z");
        assert_eq!(clock(Millis(i64::MAX)), "an impossible time");
    }

    #[test]
    fn unknown_dollars_are_not_nothing() {
        assert_eq!(dollars(None), "unknown");
        assert_eq!(dollars(Some(0.0)), "$0.0000");
        assert_eq!(dollars(Some(-0.0)), "$0.0000");
        assert_eq!(dollars(Some(0.000_681)), "$0.000681");
        assert_eq!(dollars(Some(0.012_345)), "$0.0123");
        assert_eq!(dollars(Some(12.345)), "$12.35");
    }

    #[test]
    fn durations_have_two_units_at_most() {
        for (ms, text) in [
            (400, "0.4 s"),
            (12_900, "12 s"),
            (180_000, "3 min"),
            (185_000, "3 min 5 s"),
            (7_800_000, "2 h 10 min"),
            (273_600_000, "3 d 4 h"),
        ] {
            assert_eq!(duration(ms), text);
        }
    }
}
