//! Scripts: what the lab answers. The format is described in `docs/lab.md`.

use std::fmt;

use thiserror::Error;

/// A parsed script; equal texts are equal scripts.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    text: String,
    reference: ScriptRef,
}

impl Script {
    /// Parses a script; the error names the line and says what to write instead.
    pub fn parse(_text: &str) -> Result<Script, ScriptError> {
        todo!()
    }

    /// The script that serves when nobody gave one.
    pub fn builtin() -> Script {
        todo!()
    }

    /// The text that was parsed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The name of the script in addresses and in the state folder: a hash of its text.
    pub fn reference(&self) -> ScriptRef {
        self.reference.clone()
    }
}

/// A script's name: the first 32 hexadecimal digits of the SHA-256 of its text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScriptRef(String);

impl ScriptRef {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reads a name; anything but 32 lower-case hexadecimal digits is refused.
    pub fn parse(text: &str) -> Option<ScriptRef> {
        let digits = text.len() == 32 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        digits.then(|| ScriptRef(text.to_owned()))
    }
}

impl fmt::Display for ScriptRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What is wrong with a script.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("script line {line}: {what}; {hint}")]
pub struct ScriptError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong there.
    pub what: String,
    /// What to write instead.
    pub hint: String,
}
