//! A message on its way to claude: its text, and what else is in it.

use super::bytes;
use ostler_core::content::{Attached, Shown};

/// Its text, and `[image png 12 kB]` or `[document report.pdf 1.2 MB]` for each other block. The text comes first: a
/// line is cut at its end.
#[must_use]
pub fn said(message: &Shown) -> String {
    let text = Some(message.text.clone()).filter(|text| !text.is_empty());
    text.into_iter().chain(message.attached.iter().map(attached)).collect::<Vec<_>>().join(" ")
}

fn attached(a: &Attached) -> String {
    let name = Some(a.name.clone()).filter(|name| !name.is_empty());
    let words: Vec<String> = [Some(a.what.clone()), name, a.bytes.map(bytes)].into_iter().flatten().collect();
    format!("[{}]", words.join(" "))
}
