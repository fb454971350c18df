//! Writing to a terminal with a status line at the bottom. Elsewhere there is no status line.

use super::Face;
use crate::failure::Failure;

/// To the beginning of the line, and erase it.
const ERASE: &str = "\r\u{1b}[K";

/// What is on the screen below the text.
#[derive(Debug, Default)]
pub(super) struct Screen {
    drawn: Option<String>,
}

impl Screen {
    /// Writes `text`, and `status` below it where the text ends with a whole line.
    pub(super) fn put(&mut self, face: &Face, text: &str, status: Option<String>) -> Result<(), Failure> {
        if text.is_empty() && status == self.drawn {
            return Ok(());
        }
        let mut out = String::new();
        if self.drawn.take().is_some() {
            out.push_str(ERASE);
        }
        out.push_str(text);
        if let Some(status) = status {
            out.push_str(&status);
            self.drawn = Some(status);
        }
        face.print(&out)
    }
}
