//! What the recordings of the real CLI hold that no view knows: `tests/golden/unknown.txt`.
//!
//! A new CLI version adds fields, and none of them may break a view; here somebody sees them. When the recordings
//! change, look at the difference and take the new list over with `CLAUDE_WIRE_UPDATE_GOLDEN=1`.

use claude_wire::{Frame, Message, known};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const UPDATE: &str = "CLAUDE_WIRE_UPDATE_GOLDEN";

/// Every recording with the version that made it: `recordings/<version>/<scenario>.ndjson`.
fn recordings() -> Vec<(String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../claude-lab/recordings");
    let mut found = Vec::new();
    let mut dirs = vec![root.clone()];
    while let Some(dir) = dirs.pop() {
        let entries = fs::read_dir(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
        for entry in entries {
            let path = entry.expect("the folder can be listed").path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.extension().is_some_and(|ext| ext == "ndjson") {
                let below = path.strip_prefix(&root).expect("it is below the root");
                let version = below.iter().next().expect("it has a name").to_string_lossy().into_owned();
                found.push((version, path));
            }
        }
    }
    assert!(!found.is_empty(), "no recordings under {}", root.display());
    found.sort();
    found
}

fn lines(path: &Path) -> Vec<Vec<u8>> {
    let bytes = fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    bytes.split(|&b| b == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect()
}

/// What kind of line it is: `system/init`, `control_request/can_use_tool`, `stream_event/message_stop`, …
fn kind(line: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let name = text(&line["type"]);
    let below = match name.as_str() {
        "system" | "result" => &line["subtype"],
        "control_request" => &line["request"]["subtype"],
        "stream_event" => &line["event"]["type"],
        _ => return name,
    };
    format!("{name}/{}", text(below))
}

#[test]
fn no_recorded_line_is_noise() {
    for (_, path) in recordings() {
        for line in lines(&path) {
            let frame = Frame::parse(&line);
            let lost = matches!(frame.message(), Message::Noise | Message::Blank);
            assert!(!lost, "{}: {}", path.display(), String::from_utf8_lossy(&line));
            assert_eq!(frame.bytes(), line);
        }
    }
}

#[test]
fn the_list_of_what_no_view_knows_is_up_to_date() {
    let mut unknown: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for (version, path) in recordings() {
        for line in lines(&path) {
            let value: Value = serde_json::from_slice(&line).unwrap_or_default();
            for field in known::unknown_fields(&line) {
                unknown.entry((kind(&value), field)).or_default().insert(version.clone());
            }
        }
    }
    let mut list = String::from(
        "# Kind of line, field that no view knows (* is the whole line), CLI versions that print it.\n\
         # Written by the test `drift`; see there how to renew it.\n",
    );
    for ((kind, field), versions) in &unknown {
        let versions: Vec<_> = versions.iter().map(String::as_str).collect();
        writeln!(list, "{kind}  {field}  {}", versions.join(" ")).expect("a string takes everything");
    }
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/unknown.txt");
    if std::env::var_os(UPDATE).is_some_and(|on| on == "1") {
        fs::create_dir_all(golden.parent().expect("it is in a folder")).expect("the folder can be made");
        fs::write(&golden, &list).expect("the list can be written");
    }
    let old = fs::read_to_string(&golden)
        .unwrap_or_else(|e| panic!("{}: {e}; {UPDATE}=1 makes it", golden.display()));
    let (old, new): (BTreeSet<_>, BTreeSet<_>) = (old.lines().collect(), list.lines().collect());
    let gone: Vec<_> = old.difference(&new).collect();
    let came: Vec<_> = new.difference(&old).collect();
    assert!(
        gone.is_empty() && came.is_empty(),
        "the recordings hold other unknown fields than {} says; if that is right, run this test with {UPDATE}=1\n\
         new: {came:#?}\ngone: {gone:#?}",
        golden.display(),
    );
}
