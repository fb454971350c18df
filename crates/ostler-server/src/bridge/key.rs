//! The bridge's key: one for all bridges of a user, in `~/.h2c/key`.

use crate::token::Token;
use ostler_os::{PathError, durable, lockfile};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What every key begins with.
const PREFIX: &str = "h2c_";
/// Fewer characters behind the prefix are no 128 bits.
const LONG: usize = 32;
/// How long to wait for another one who makes the same file.
const PATIENCE: Duration = Duration::from_secs(5);

/// A key, and where it stands.
#[derive(Clone, Debug)]
pub struct BridgeKey {
    secret: Token,
    path: PathBuf,
}

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// A file can't be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The file can't be written or protected.
    #[error(transparent)]
    Write(#[from] PathError),
}

impl BridgeKey {
    /// The key of the user whose home folder that is. An older program's key is taken over, so that its clients go on
    /// working; without any a new one of more than 128 random bits is made. The file is 0600 afterwards.
    ///
    /// # Errors
    /// A file can't be read or written.
    pub fn of_user(user: &Path) -> Result<Self, KeyError> {
        let folder = user.join(".h2c");
        let path = folder.join("key");
        if let Some(key) = Self::found(&path)? {
            return Ok(key);
        }
        durable::create_dir_private(&folder)?;
        // Two bridges that start at once must not tell two keys.
        let _lock = lockfile::lock_within(&folder.join("key.lock"), PATIENCE)?;
        if let Some(key) = Self::found(&path)? {
            return Ok(key);
        }
        let older = [".h2c_key", ".hbridge_key"].map(|name| user.join(name));
        let mut text = None;
        for file in older {
            text = text.or(read(&file)?);
        }
        let text = text.unwrap_or_else(|| {
            format!("{PREFIX}{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple())
        });
        // Clients read the file as it is: no line end.
        durable::replace_file(&path, text.as_bytes())?;
        Ok(Self { secret: Token::from_text(text), path })
    }

    fn found(path: &Path) -> Result<Option<Self>, KeyError> {
        let Some(text) = read(path)? else { return Ok(None) };
        // Older programs left it readable for everybody.
        durable::protect(path)?;
        Ok(Some(Self { secret: Token::from_text(text), path: path.to_owned() }))
    }

    /// True when `offered` is it; in constant time.
    #[must_use]
    pub fn is(&self, offered: &[u8]) -> bool {
        self.secret.is(offered)
    }

    /// Its text, for whoever may know it.
    #[must_use]
    pub fn text(&self) -> &str {
        self.secret.text()
    }

    /// Its file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// It can be guessed in the end: an older program made it.
    #[must_use]
    pub fn is_short(&self) -> bool {
        self.text().len() < PREFIX.len() + LONG
    }
}

/// The key in a file; None where there is none that is one.
fn read(path: &Path) -> Result<Option<String>, KeyError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(KeyError::Read { path: path.to_owned(), source }),
    };
    let text = String::from_utf8(bytes).unwrap_or_default().trim().to_owned();
    Ok((text.len() > PREFIX.len() && text.starts_with(PREFIX)).then_some(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("the file is there").permissions().mode() & 0o777
    }

    #[test]
    fn a_new_key_is_long_private_and_stays() {
        let user = tempfile::tempdir().expect("a folder");
        let key = BridgeKey::of_user(user.path()).expect("a key");
        assert!(key.text().starts_with(PREFIX) && !key.is_short(), "{}", key.text().len());
        let file = user.path().join(".h2c/key");
        assert_eq!(fs::read_to_string(&file).expect("it is there"), key.text(), "no line end");
        assert_eq!((mode(&file), mode(&user.path().join(".h2c"))), (0o600, 0o700));
        let again = BridgeKey::of_user(user.path()).expect("the same");
        assert_eq!(again.text(), key.text());
        assert!(again.is(key.text().as_bytes()) && !again.is(b"") && !again.is(b"h2c_"));
    }

    #[test]
    fn an_older_programs_key_is_taken_over_and_protected() {
        for (name, text, taken) in [
            (".h2c/key", "h2c_abcdEFGH\n", true),
            (".h2c_key", "h2c_abcdEFGH", true),
            (".hbridge_key", "h2c_abcdEFGH", true),
            (".h2c/key", "", false),
            (".h2c/key", "h2c_", false),
            (".h2c/key", "other", false),
            (".hbridge_key", "other", false),
        ] {
            let user = tempfile::tempdir().expect("a folder");
            fs::create_dir(user.path().join(".h2c")).expect("a folder");
            fs::write(user.path().join(name), text).expect("a file");
            let key = BridgeKey::of_user(user.path()).expect("a key");
            assert_eq!(key.text() == "h2c_abcdEFGH", taken, "{name} {text:?}");
            assert_eq!(key.is_short(), taken);
            assert_eq!(mode(key.path()), 0o600);
            assert_eq!(
                fs::read_to_string(user.path().join(".h2c/key")).expect("it is there").trim(),
                key.text()
            );
        }
    }
}
