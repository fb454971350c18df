//! Patterns: `*` stands for any run of characters and is captured, `?` for one character.

/// A pattern for a whole text; ASCII letters match whatever their case.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Glob(Vec<char>);

impl Glob {
    pub(crate) fn new(pattern: &str) -> Self {
        Self(pattern.chars().collect())
    }

    pub(crate) fn matches(&self, text: &str) -> bool {
        self.captures(text).is_some()
    }

    /// What the stars stand for, in order; the earlier star takes the shorter run. None: no match.
    ///
    /// Every star is settled by the shortest run that lets the part up to the next star match, which never needs to be
    /// revised by more than moving the last star on; so the time is bounded by text × pattern.
    pub(crate) fn captures(&self, text: &str) -> Option<Vec<String>> {
        let text: Vec<char> = text.chars().collect();
        // For each star seen so far: where its run starts; and the star's place in the pattern.
        let mut starts: Vec<usize> = Vec::new();
        let mut ends: Vec<usize> = Vec::new();
        let (mut p, mut t) = (0, 0);
        let mut last_star: Option<usize> = None;
        loop {
            match self.0.get(p) {
                Some('*') => {
                    starts.push(t);
                    ends.push(t);
                    last_star = Some(p);
                    p += 1;
                    continue;
                }
                Some(&wanted)
                    if text.get(t).is_some_and(|&c| wanted == '?' || c.eq_ignore_ascii_case(&wanted)) =>
                {
                    p += 1;
                    t += 1;
                    continue;
                }
                None if t == text.len() => break,
                _ => {}
            }
            // Mismatch: the last star takes one character more.
            let star = last_star?;
            let end = ends.last_mut()?;
            if *end >= text.len() {
                return None;
            }
            *end += 1;
            t = *end;
            p = star + 1;
        }
        Some(starts.iter().zip(&ends).map(|(&from, &to)| text[from..to].iter().collect()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captures(pattern: &str, text: &str) -> Option<Vec<String>> {
        Glob::new(pattern).captures(text)
    }

    #[test]
    fn stars_capture_the_shortest_run() {
        assert_eq!(captures("run *", "Run ls -la"), Some(vec!["ls -la".to_owned()]));
        assert_eq!(captures("*a*", "banana"), Some(vec!["b".to_owned(), "nana".to_owned()]));
        assert_eq!(captures("a*b*c", "a1b2b3c"), Some(vec!["1".to_owned(), "2b3".to_owned()]));
        assert_eq!(captures("*", ""), Some(vec![String::new()]));
        assert_eq!(captures("*\n*", "one\ntwo"), Some(vec!["one".to_owned(), "two".to_owned()]));
    }

    #[test]
    fn the_whole_text_must_match() {
        assert_eq!(captures("run", "run ls"), None);
        assert_eq!(captures("run *", "please run ls"), None);
        assert_eq!(captures("h?llo", "hällo"), Some(vec![]));
        assert_eq!(captures("", ""), Some(vec![]));
        assert_eq!(captures("", "x"), None);
        assert_eq!(captures("*x", "aaaa"), None);
    }

    #[test]
    fn many_stars_stay_quick() {
        let text = "a".repeat(20_000);
        assert_eq!(captures(&format!("{}b", "*a".repeat(40)), &text), None);
    }

    proptest::proptest! {
        /// What the stars captured, put back in their place, is the text again.
        #[test]
        fn captures_fill_the_pattern(pattern in "[ab*]{0,8}", text in "[abc]{0,12}") {
            if let Some(captures) = captures(&pattern, &text) {
                let mut captures = captures.iter();
                let filled: String = pattern
                    .chars()
                    .map(|c| if c == '*' { captures.next().unwrap().clone() } else { c.to_string() })
                    .collect();
                proptest::prop_assert_eq!(filled, text);
            } else {
                proptest::prop_assert!(!naive(pattern.as_bytes(), text.as_bytes()));
            }
        }
    }

    /// The definition, for small inputs.
    fn naive(pattern: &[u8], text: &[u8]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some((b'*', rest)) => (0..=text.len()).any(|from| naive(rest, &text[from..])),
            Some((c, rest)) => text.first() == Some(c) && naive(rest, &text[1..]),
        }
    }
}
