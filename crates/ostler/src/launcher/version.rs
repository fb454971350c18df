//! Versions of Claude Code. They are compared for one thing only, the floor of what is supported; what a version can
//! do is observed, never concluded from its number.

use std::fmt;

/// The oldest supported version: what came before can hang at its end (protocol page, "By version").
pub const FLOOR: Version = Version { major: 2, minor: 1, patch: 200 };

/// `major.minor.patch`; whatever follows is not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The first number.
    pub major: u32,
    /// The second.
    pub minor: u32,
    /// The third.
    pub patch: u32,
}

impl Version {
    /// Reads `2.1.332`, also with a suffix (`2.1.332-beta.1`).
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.split(|c: char| c != '.' && !c.is_ascii_digit()).next()?;
        let mut parts = digits.split('.');
        let mut next = || parts.next()?.parse().ok();
        let version = Self { major: next()?, minor: next()?, patch: next()? };
        parts.next().is_none_or(str::is_empty).then_some(version)
    }

    /// Finds the version in what `claude --version` says: `2.1.332 (Claude Code)`, on whatever line a wrapper's
    /// talk leaves it.
    #[must_use]
    pub fn in_answer(answer: &str) -> Option<Self> {
        answer.lines().find_map(|line| {
            let (version, rest) = line.trim().split_once(' ')?;
            rest.trim_start().starts_with("(Claude Code)").then(|| Self::parse(version)).flatten()
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::{FLOOR, Version};

    fn version(text: &str) -> Option<String> {
        Version::in_answer(text).map(|v| v.to_string())
    }

    #[test]
    fn answers() {
        assert_eq!(version("2.1.332 (Claude Code)\n").as_deref(), Some("2.1.332"));
        assert_eq!(
            version("npm warn something\r\n2.1.200-beta.3 (Claude Code)\r\n").as_deref(),
            Some("2.1.200")
        );
        for other in
            ["", "2.1.332", "v20.20.2", "Claude Code 2.1.332", "2.1 (Claude Code)", "2.1.3.4 (Claude Code)"]
        {
            assert_eq!(version(other), None, "{other}");
        }
    }

    #[test]
    fn numbers_are_compared_as_numbers() {
        let v = |t| Version::parse(t).unwrap();
        assert!(v("2.1.99") < FLOOR && v("1.99.999") < FLOOR);
        assert!(v("2.1.200") >= FLOOR && v("2.1.1000") > FLOOR && v("2.2.0") > FLOOR);
    }
}
