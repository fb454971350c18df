//! What of a stream a client wants.

use ostler_store::Entry;

/// How many words `types` may have.
const MOST_WORDS: usize = 64;

/// A choice among lines and events. Everything, unless told otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    /// Only lines of these types and events of these names; None: all.
    types: Option<Vec<String>>,
    no_deltas: bool,
    /// What claude wrote, and nothing else.
    raw: bool,
}

impl Filter {
    /// From the words of `types`, parted by commas.
    ///
    /// # Errors
    /// What can't be meant.
    pub(crate) fn new(types: Option<&str>, deltas: bool, raw: bool) -> Result<Self, String> {
        let types: Option<Vec<String>> =
            types.map(|types| types.split(',').map(|word| word.trim().to_owned()).collect());
        if let Some(types) = &types {
            if types.len() > MOST_WORDS {
                return Err(format!("`types` has more than {MOST_WORDS} words"));
            }
            let is_word = |word: &String| {
                !word.is_empty() && word.len() <= 100 && word.bytes().all(|b| b.is_ascii_graphic())
            };
            if !types.iter().all(is_word) {
                return Err(
                    "`types` is a list of types, like `assistant,result,system/init,control`".to_owned()
                );
            }
        }
        Ok(Self { types, no_deltas: !deltas, raw })
    }

    /// Whether there is a line that it keeps back: then lines must be looked into.
    pub(crate) fn is_open(&self) -> bool {
        self.types.is_none() && !self.no_deltas
    }

    /// Whether a line of claude's is wanted. Of a long one `line` may be the beginning alone; `is_whole` says so. One whose
    /// type can't be known is wanted rather than lost.
    pub(crate) fn wants_line(&self, line: &[u8], is_whole: bool) -> bool {
        if self.is_open() {
            return true;
        }
        match claude_wire::names(line) {
            Some((kind, subtype)) => self.wants(&kind, subtype.as_deref()),
            None if is_whole => self.wants("noise", None),
            None => true,
        }
    }

    /// Whether an entry is wanted that is no line of claude's.
    pub(crate) fn wants_entry(&self, entry: &Entry) -> bool {
        match entry {
            Entry::Out { .. } | Entry::OutOversized { .. } | Entry::Tail { .. } => true,
            _ if self.raw => false,
            Entry::Generation { .. } => self.wants("generation", None),
            Entry::Ctl { row, .. } => self.wants("control", Some(super::control::kind(&row.ev))),
            Entry::CtlGarbled { .. } => self.wants("garbled", None),
        }
    }

    fn wants(&self, kind: &str, subtype: Option<&str>) -> bool {
        if self.no_deltas && kind == "stream_event" {
            return false;
        }
        let Some(types) = &self.types else { return true };
        types.iter().any(|word| match word.split_once('/') {
            Some((of, sub)) => of == kind && Some(sub) == subtype,
            None => word == kind,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wants(types: Option<&str>, deltas: bool, line: &str) -> bool {
        Filter::new(types, deltas, false).unwrap().wants_line(line.as_bytes(), true)
    }

    #[test]
    fn lines_are_chosen_by_type() {
        let delta = r#"{"type":"stream_event","event":{}}"#;
        let init = r#"{"type":"system","subtype":"init"}"#;
        let result = r#"{"subtype":"success","is_error":false,"type":"result"}"#;
        for line in [delta, init, result, "noise", ""] {
            assert!(wants(None, true, line));
            assert_eq!(wants(None, false, line), line != delta);
        }
        assert!(wants(Some("result, assistant"), true, result));
        assert!(!wants(Some("result"), true, init));
        assert!(wants(Some("system"), true, init) && wants(Some("system/init"), true, init));
        assert!(!wants(Some("system/status"), true, init));
        assert!(wants(Some("noise"), true, "Warning: …") && !wants(Some("result"), true, "Warning"));
        assert!(!wants(Some("stream_event"), false, delta), "both conditions hold");
    }

    #[test]
    fn what_can_not_be_meant_is_refused() {
        for types in ["", "a,,b", "a b"] {
            assert!(Filter::new(Some(types), true, false).is_err(), "{types:?}");
        }
    }
}
