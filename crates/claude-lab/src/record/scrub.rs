//! Takes out of a recorded line what belongs to one machine, one moment, or to others: paths, uuids, times, and texts
//! that we did not write. What stays is byte for byte as it was.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// Texts of others stay up to this length; a longer one is replaced by a note of its length.
const LONGEST_TEXT: usize = 100;

/// Keys whose values are ids that the child made up.
const ID_KEYS: &[&str] = &["task_id", "run_id", "agent_id", "agentId", "backgroundTaskId"];

/// What every time becomes.
const TIME: &str = "2026-01-01T00:00:00.000Z";

/// Scrubs the lines of one recording; the same uuid becomes the same uuid in all of them.
#[derive(Debug)]
pub struct Scrubber {
    folder: String,
    slug: String,
    uuids: HashMap<String, String>,
    ids: BTreeMap<String, String>,
}

/// Where in the line the scan is.
struct Scan<'a> {
    text: &'a str,
    at: usize,
    out: String,
    /// The keys of the objects around this place.
    keys: Vec<String>,
}

impl Scrubber {
    /// `folder` is what the scenario ran in; it becomes `/scenario`.
    pub fn new(folder: &Path) -> Self {
        let folder = folder.to_string_lossy().into_owned();
        let slug = slug(&folder);
        Self { folder, slug, uuids: HashMap::new(), ids: BTreeMap::new() }
    }

    /// One line, without its end. A line that isn't JSON stays as it is.
    pub fn line(&mut self, line: &[u8]) -> Vec<u8> {
        let Ok(text) = std::str::from_utf8(line) else { return line.to_vec() };
        if serde_json::from_str::<serde::de::IgnoredAny>(text).is_err() {
            return line.to_vec();
        }
        let mut scan = Scan { text, at: 0, out: String::with_capacity(text.len()), keys: Vec::new() };
        self.value(&mut scan);
        scan.out.into_bytes()
    }

    fn value(&mut self, scan: &mut Scan<'_>) {
        match scan.next() {
            b'{' => self.object(scan),
            b'[' => self.array(scan),
            b'"' => {
                let raw = scan.string();
                let text: String = serde_json::from_str(raw).unwrap_or_default();
                match self.replaced(&text, scan.keys.last().map_or("", String::as_str)) {
                    Some(new) => scan.out.push_str(&serde_json::Value::from(new).to_string()),
                    None => scan.out.push_str(raw),
                }
            }
            _ => {
                let raw = scan.word();
                let fixed = scan.keys.last().and_then(|key| number(key)).filter(|_| raw != "null");
                scan.out.push_str(fixed.unwrap_or(raw));
            }
        }
    }

    fn object(&mut self, scan: &mut Scan<'_>) {
        scan.copy();
        while scan.next() != b'}' {
            if scan.next() == b',' {
                scan.copy();
                continue;
            }
            let raw = scan.string();
            let key: String = serde_json::from_str(raw).unwrap_or_default();
            scan.out.push_str(&serde_json::Value::from(self.paths(&key)).to_string());
            scan.keys.push(key);
            scan.copy(); // the colon
            self.value(scan);
            scan.keys.pop();
        }
        scan.copy();
    }

    fn array(&mut self, scan: &mut Scan<'_>) {
        scan.copy();
        while scan.next() != b']' {
            if scan.next() == b',' {
                scan.copy();
            } else {
                self.value(scan);
            }
        }
        scan.copy();
    }

    /// What a string becomes, if it changes.
    fn replaced(&mut self, text: &str, key: &str) -> Option<String> {
        if is_time(text) {
            return Some(TIME.to_owned());
        }
        if ID_KEYS.contains(&key) || is_api_id(text) {
            return Some(self.stable(text));
        }
        let new = self.uuids_in(&self.paths(text));
        let new = self.known_ids_in(&new);
        let own = new.starts_with("/scenario/");
        if new.len() > LONGEST_TEXT && !own || new.trim_end().contains('\n') {
            return Some(format!("({} characters)", new.chars().count()));
        }
        (new != text).then_some(new)
    }

    fn paths(&self, text: &str) -> String {
        let text = text.replace(&self.folder, "/scenario").replace(&self.slug, &slug("/scenario"));
        numbered(&text)
    }

    /// Every uuid in a text, numbered in the order in which they came up; those that the scenario chose stay.
    fn uuids_in(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = (0..rest.len()).find(|at| uuid_at(rest, *at)) {
            let uuid = &rest[start..start + 36];
            out.push_str(&rest[..start]);
            if uuid.starts_with("11111111-0000-") || uuid == super::SESSION {
                out.push_str(uuid);
            } else {
                let number = self.uuids.len() + 1;
                let new = format!("00000000-0000-4000-8000-{number:012}");
                out.push_str(self.uuids.entry(uuid.to_owned()).or_insert(new));
            }
            rest = &rest[start + 36..];
        }
        out.push_str(rest);
        out
    }

    /// An id of ours for one of the child's.
    fn stable(&mut self, id: &str) -> String {
        let kind = match id.split_once('_') {
            Some((kind, _)) => format!("{kind}_"),
            None => id.chars().take(1).collect(),
        };
        let new = format!("{kind}{:08}", self.ids.len() + 1);
        self.ids.entry(id.to_owned()).or_insert(new).clone()
    }

    /// The child's ids inside a text, such as a file's name.
    fn known_ids_in(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (id, new) in &self.ids {
            if text.contains(id.as_str()) {
                text = text.replace(id.as_str(), new);
            }
        }
        text
    }
}

impl<'a> Scan<'a> {
    /// The next byte that isn't space.
    fn next(&mut self) -> u8 {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.out.push(' ');
            self.at += 1;
        }
        // The text is valid JSON, so the scan never asks beyond its end; `}` and `]` end any loop all the same.
        bytes.get(self.at).copied().unwrap_or(b'}')
    }

    /// Takes one byte over.
    fn copy(&mut self) {
        let byte = self.next();
        self.out.push(char::from(byte));
        self.at += 1;
    }

    /// The string here, quotes included.
    fn string(&mut self) -> &'a str {
        let bytes = self.text.as_bytes();
        let start = self.at;
        self.at += 1;
        while self.at < bytes.len() && bytes[self.at] != b'"' {
            self.at += if bytes[self.at] == b'\\' { 2 } else { 1 };
        }
        self.at = (self.at + 1).min(bytes.len());
        &self.text[start..self.at]
    }

    /// The number or name here.
    fn word(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let length = rest.find([',', '}', ']', ' ', '\n', '\r', '\t']).unwrap_or(rest.len()).max(1);
        self.at += length;
        &rest[..length.min(rest.len())]
    }
}

/// What a number of that key becomes, if it differs from run to run.
fn number(key: &str) -> Option<&'static str> {
    match key {
        "pid" => Some("4242"),
        "end_time" | "start_time" | "startTime" | "request_sent_wall_ms" | "resetsAt" => {
            Some("1767225600000")
        }
        _ if key.ends_with("_ms") || key.ends_with("Ms") => Some("7"),
        _ => None,
    }
}

fn slug(path: &str) -> String {
    path.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

/// `…/cc-socks/<pid>.sock` holds a process id, `…/claude-<uid>/…` a user's.
fn numbered(text: &str) -> String {
    if let Some((before, _)) = text.split_once("/cc-socks/") {
        return format!("{before}/cc-socks/4242.sock");
    }
    let Some((before, after)) = text.split_once("/claude-") else { return text.to_owned() };
    let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.len() == after.len() { text.to_owned() } else { format!("{before}/claude-1000{rest}") }
}

/// `2026-11-30T15:49:00.564Z`.
fn is_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    (20..=24).contains(&bytes.len())
        && bytes[bytes.len() - 1] == b'Z'
        && [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')]
            .iter()
            .all(|(at, byte)| bytes[*at] == *byte)
}

/// `toolu_…` and `msg_…` of the API, not a word such as `msg_lifecycle_v1`.
fn is_api_id(text: &str) -> bool {
    let rest = text.strip_prefix("toolu_").or_else(|| text.strip_prefix("msg_"));
    rest.is_some_and(|rest| rest.len() >= 16 && rest.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

fn uuid_at(text: &str, at: usize) -> bool {
    let Some(candidate) = text.as_bytes().get(at..at + 36) else { return false };
    candidate.iter().enumerate().all(|(index, byte)| match index {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scrub(line: &str) -> String {
        let mut scrubber = Scrubber::new(Path::new("/tmp/x1/run"));
        String::from_utf8(scrubber.line(line.as_bytes())).unwrap()
    }

    #[test]
    fn paths_uuids_and_times_become_stable() {
        assert_eq!(
            scrub(
                r#"{"cwd":"/tmp/x1/run/work","p":"c/projects/-tmp-x1-run-work/7b19fdc4-0000-4000-8000-aaaaaaaaaaaa.jsonl","timestamp":"2026-11-30T15:49:00.564Z","duration_ms":123,"uuid":"7b19fdc4-0000-4000-8000-aaaaaaaaaaaa","keep":"11111111-0000-4000-8000-000000000001"}"#
            ),
            r#"{"cwd":"/scenario/work","p":"c/projects/-scenario-work/00000000-0000-4000-8000-000000000001.jsonl","timestamp":"2026-01-01T00:00:00.000Z","duration_ms":7,"uuid":"00000000-0000-4000-8000-000000000001","keep":"11111111-0000-4000-8000-000000000001"}"#
        );
    }

    #[test]
    fn ids_of_the_api_are_numbered_and_words_are_not() {
        assert_eq!(
            scrub(
                r#"{"a":"toolu_91dc753ab81d5a7a5bc477a7","b":"msg_lifecycle_v1","task_id":"b8oc3bgem","file":"t/b8oc3bgem.output"}"#
            ),
            r#"{"a":"toolu_00000001","b":"msg_lifecycle_v1","task_id":"b00000002","file":"t/b00000002.output"}"#
        );
    }

    #[test]
    fn long_texts_leave_their_length() {
        let line = format!(r#"{{"a":["{}","short\n"],"n":[1,-2.5e3,null,true]}}"#, "x".repeat(200));
        assert_eq!(scrub(&line), r#"{"a":["(200 characters)","short\n"],"n":[1,-2.5e3,null,true]}"#);
    }

    #[test]
    fn what_needs_no_change_keeps_its_bytes() {
        for line in
            [r#"{ "z" : 1.0e2, "a":"\u00e9\ud99c" }"#, "no JSON", "{\"a\":\"\\/\"}", "[]", "{}", "\"x\""]
        {
            assert_eq!(scrub(line), line);
        }
    }
}
