//! Home mode: `H2C_HOME` loosely equal to 1 switches the key off.

/// True for every text that JavaScript's `==` takes for the number 1.
#[must_use]
pub fn is_home_mode(value: &str) -> bool {
    let text = value.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    let digits = |prefix: [&str; 2], radix| {
        let rest = prefix.iter().find_map(|p| text.strip_prefix(p))?;
        // A sign is for decimal numbers alone.
        rest.bytes().all(|b| b.is_ascii_alphanumeric()).then(|| u64::from_str_radix(rest, radix).ok())?
    };
    let whole =
        digits(["0x", "0X"], 16).or_else(|| digits(["0o", "0O"], 8)).or_else(|| digits(["0b", "0B"], 2));
    whole == Some(1) || text.parse() == Ok(1.0_f64)
}

#[cfg(test)]
mod tests {
    use super::is_home_mode;

    #[test]
    fn what_javascript_takes_for_one() {
        for yes in
            ["1", " 1", "1\n", "01", "1.0", "1.", "+1", "1e0", "10e-1", "0x1", "0b1", "0o1", "\u{feff}1"]
        {
            assert!(is_home_mode(yes), "{yes:?}");
        }
        for no in
            ["", " ", "0", "2", "true", "yes", "-1", "1 1", "1,0", "0x", "-0x1", "0x+1", "1.0001", "one"]
        {
            assert!(!is_home_mode(no), "{no:?}");
        }
    }
}
