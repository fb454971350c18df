//! Will the operating system take this command line and environment? Asked before the fork, because afterwards the
//! answer is a bare `E2BIG` that names nothing.

use super::Platform;
use crate::spec::MAX_WORD_BYTES;
use std::ffi::{OsStr, OsString};
use thiserror::Error;

/// All words and variables together. Linux gives a quarter of the stack limit, by default 2 MiB; macOS 1 MiB.
const UNIX_TOTAL: usize = 1 << 20;

/// `CreateProcess`: 32 767 characters, the final NUL included.
const WINDOWS_LINE: usize = 32_766;

/// `cmd.exe`: 8 191 characters.
const CMD_LINE: usize = 8_191;

/// More than can be started.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TooBig {
    /// One word or variable.
    #[error("{what} has {bytes} bytes; the system takes {limit} in one piece")]
    Piece {
        /// Word of the command line or name of the variable.
        what: String,
        /// Its length.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The sum.
    #[error(
        "command line and environment have {bytes} bytes, the system takes {limit}; the largest is {largest}"
    )]
    Total {
        /// The sum.
        bytes: usize,
        /// The limit.
        limit: usize,
        /// What takes the most of it.
        largest: String,
    },
}

/// Checks what is about to be started.
///
/// # Errors
/// [`TooBig`] names the piece to shorten.
pub fn check_size(argv: &[OsString], env: &[(OsString, OsString)], platform: Platform) -> Result<(), TooBig> {
    let words = argv.iter().map(|w| (shown(w), w.len()));
    let sized: Vec<(String, usize)> = match platform {
        Platform::Unix => {
            let variables =
                env.iter().map(|(n, v)| (n.to_string_lossy().into_owned(), n.len() + 1 + v.len()));
            words.chain(variables).collect()
        }
        // There the environment has a block of its own, which is as good as unlimited.
        Platform::Windows => words.collect(),
    };
    if platform == Platform::Unix
        && let Some((what, bytes)) = sized.iter().find(|(_, n)| *n > MAX_WORD_BYTES)
    {
        return Err(TooBig::Piece { what: what.clone(), bytes: *bytes, limit: MAX_WORD_BYTES });
    }
    let limit = match platform {
        Platform::Unix => UNIX_TOTAL,
        Platform::Windows if super::windows::is_cmd(argv) => CMD_LINE,
        Platform::Windows => WINDOWS_LINE,
    };
    // A terminator each, and a pointer on Unix.
    let overhead = if platform == Platform::Unix { 9 } else { 3 };
    let bytes = sized.iter().map(|(_, n)| n + overhead).sum();
    if bytes > limit {
        let largest = sized.into_iter().max_by_key(|(_, n)| *n).map(|(what, _)| what).unwrap_or_default();
        return Err(TooBig::Total { bytes, limit, largest });
    }
    Ok(())
}

/// The beginning of a word.
fn shown(word: &OsStr) -> String {
    let text = word.to_string_lossy();
    let short: String = text.chars().take(40).collect();
    if short.len() < text.len() { format!("{short}…") } else { short }
}
