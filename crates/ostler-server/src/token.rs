//! The bearer token of a home.

use ostler_os::PathError;
use ostler_os::durable;
use ostler_os::lockfile;
use sha2::{Digest, Sha256};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use subtle::ConstantTimeEq;

/// What a token begins with, so that it is known for one where it turns up.
const PREFIX: &str = "ostler_";
/// How long to wait for another server that makes the same file.
const PATIENCE: Duration = Duration::from_secs(5);

/// A secret that can be compared and not printed.
#[derive(Clone)]
pub struct Token {
    text: String,
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// The token of a home, 0600 in its file `token`; made there, from 256 random bits, when there is none.
    ///
    /// # Errors
    /// The file can't be read or written, or holds no token.
    pub fn of_home(home: &Path) -> Result<Self, TokenError> {
        let path = home.join("token");
        if let Some(token) = Self::read(&path)? {
            return Ok(token);
        }
        // Two servers that start at once must not tell two tokens.
        let _lock = lockfile::lock_within(&home.join("token.lock"), PATIENCE)?;
        if let Some(token) = Self::read(&path)? {
            return Ok(token);
        }
        // Two random uuids hold 244 random bits.
        let random = format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple());
        let text = format!("{PREFIX}{random}");
        durable::replace_file(&path, format!("{text}\n").as_bytes())?;
        Ok(Self { text })
    }

    /// A secret that somebody else keeps.
    pub(crate) fn from_text(text: String) -> Self {
        Self { text }
    }

    fn read(path: &Path) -> Result<Option<Self>, TokenError> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(TokenError::Read { path: path.to_owned(), source }),
        };
        let text = text.trim().to_owned();
        if text.len() < PREFIX.len() + 32 {
            return Err(TokenError::Short { path: path.to_owned() });
        }
        Ok(Some(Self { text }))
    }

    /// True when `offered` is it. The time it takes says nothing about where they differ, nor how long it is.
    #[must_use]
    pub fn is(&self, offered: &[u8]) -> bool {
        let digest = |bytes: &[u8]| Sha256::digest(bytes);
        digest(self.text.as_bytes()).ct_eq(&digest(offered)).into()
    }

    /// Its text, for whoever may know it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file can't be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The file can't be written.
    #[error(transparent)]
    Write(#[from] PathError),
    /// The file holds no token that would be worth one.
    #[error("{} holds less than 32 characters; delete it, and a new token is made", path.display())]
    Short {
        /// The file.
        path: PathBuf,
    },
}
