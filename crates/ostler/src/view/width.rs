//! How wide text is on a terminal, and cutting it.
//!
//! Good enough for lining things up: wide and zero-width characters are taken by block, from the East Asian Width and
//! general category properties of Unicode. A terminal that disagrees about a character shows a line a column off.

/// Blocks of characters that take no column.
const ZERO: &[(u32, u32)] = &[
    (0x0300, 0x036f),
    (0x0483, 0x0489),
    (0x0591, 0x05bd),
    (0x0610, 0x061a),
    (0x064b, 0x065f),
    (0x0900, 0x0902),
    (0x093c, 0x093c),
    (0x0941, 0x0948),
    (0x094d, 0x094d),
    (0x0e31, 0x0e31),
    (0x0e34, 0x0e3a),
    (0x0e47, 0x0e4e),
    (0x1160, 0x11ff),
    (0x1ab0, 0x1aff),
    (0x1dc0, 0x1dff),
    (0x200b, 0x200f),
    (0x2060, 0x2064),
    (0x20d0, 0x20ff),
    (0xfe00, 0xfe0f),
    (0xfe20, 0xfe2f),
    (0xfeff, 0xfeff),
    (0x1f3fb, 0x1f3ff),
    (0xe0100, 0xe01ef),
];

/// Blocks of characters that take two.
const WIDE: &[(u32, u32)] = &[
    (0x1100, 0x115f),
    (0x231a, 0x231b),
    (0x23e9, 0x23ec),
    (0x25fd, 0x25fe),
    (0x2614, 0x2615),
    (0x2648, 0x2653),
    (0x26a1, 0x26a1),
    (0x26bd, 0x26be),
    (0x26c4, 0x26c5),
    (0x26d4, 0x26d4),
    (0x26ea, 0x26ea),
    (0x26f2, 0x26f5),
    (0x26fa, 0x26fd),
    (0x2705, 0x2705),
    (0x270a, 0x270b),
    (0x2728, 0x2728),
    (0x274c, 0x274e),
    (0x2753, 0x2757),
    (0x2795, 0x2797),
    (0x2b1b, 0x2b1c),
    (0x2b50, 0x2b55),
    (0x2e80, 0x303e),
    (0x3041, 0x33ff),
    (0x3400, 0x4dbf),
    (0x4e00, 0x9fff),
    (0xa000, 0xa4cf),
    (0xa960, 0xa97f),
    (0xac00, 0xd7a3),
    (0xf900, 0xfaff),
    (0xfe30, 0xfe6f),
    (0xff00, 0xff60),
    (0xffe0, 0xffe6),
    (0x1f300, 0x1f64f),
    (0x1f680, 0x1f6ff),
    (0x1f7e0, 0x1f7eb),
    (0x1f900, 0x1f9ff),
    (0x1fa70, 0x1faff),
    (0x20000, 0x3fffd),
];

fn within(blocks: &[(u32, u32)], c: u32) -> bool {
    let at = blocks.partition_point(|(_, last)| *last < c);
    blocks.get(at).is_some_and(|(first, _)| *first <= c)
}

fn columns(c: char) -> usize {
    let code = u32::from(c);
    if code < 0x300 {
        usize::from(!c.is_control())
    } else if within(ZERO, code) {
        0
    } else {
        1 + usize::from(within(WIDE, code))
    }
}

/// How many columns `text` takes.
#[must_use]
pub fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

/// `text`, or as much of its beginning as fits into `max` columns with an ellipsis behind it.
#[must_use]
pub fn clip(text: &str, max: usize) -> String {
    if width(text) <= max {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += columns(c);
        if used >= max {
            break;
        }
        out.push(c);
    }
    out.truncate(out.trim_end().len());
    out.push('…');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_and_combined_characters() {
        for (text, columns) in
            [("abc", 3), ("日本", 4), ("e\u{301}", 1), ("한", 2), ("✅", 2), ("…", 1), ("é", 1)]
        {
            assert_eq!(width(text), columns, "{text}");
        }
    }

    #[test]
    fn the_tables_are_in_order() {
        for table in [ZERO, WIDE] {
            assert!(table.windows(2).all(|w| w[0].1 < w[1].0) && table.iter().all(|(a, b)| a <= b));
        }
    }

    #[test]
    fn what_is_cut_fits() {
        assert_eq!(clip("abcdef", 6), "abcdef");
        assert_eq!(clip("abcdefg", 6), "abcde…");
        assert_eq!(clip("日本語", 5), "日本…");
        assert_eq!(clip("日本語", 4), "日…");
        assert_eq!(clip("a bcd", 3), "a…");
        for max in 1..12 {
            assert!(width(&clip("日a本b語c日a本b", max)) <= max);
        }
    }
}
