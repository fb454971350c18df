//! What is checked in under `recordings/`: complete, small, and free of what belongs to one machine or to others.

use std::path::Path;

use claude_lab::record::scenarios;
use serde_json::Value;

const VERSIONS: [&str; 5] = ["2.1.200", "2.1.240", "2.1.283", "2.1.299", "2.1.332"];
const LARGEST: usize = 3_000_000;
const LONGEST_TEXT: usize = 120;

/// Every text of a line that isn't a path of the scenario's.
fn texts<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::String(text) if !text.starts_with("/scenario/") => found.push(text),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| texts(field, found)),
        _ => {}
    }
}

#[test]
fn every_version_has_every_recorded_scenario() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings");
    let mut whole = 0;
    for version in VERSIONS {
        for scenario in scenarios().iter().filter(|scenario| scenario.recorded) {
            let path = folder.join(version).join(format!("{}.ndjson", scenario.name));
            let text = std::fs::read_to_string(&path).unwrap_or_else(|error| {
                panic!(
                    "{}: {error}; cargo run -p claude-lab --bin record-claude -- {version}",
                    path.display()
                )
            });
            whole += text.len();
            assert!(text.ends_with('\n'), "{}", path.display());
            for line in text.lines() {
                let value: Value =
                    serde_json::from_str(line).unwrap_or_else(|error| panic!("{path:?}: {error}"));
                let mut found = Vec::new();
                texts(&value, &mut found);
                for text in found {
                    assert!(text.len() <= LONGEST_TEXT, "{}: {text}", path.display());
                    let home =
                        ["/tmp/", "/home/", "/root", "/Users/"].iter().any(|start| text.contains(start));
                    assert!(!home, "{}: {text}", path.display());
                }
            }
        }
    }
    assert!(whole > 100_000 && whole < LARGEST, "{whole} bytes");
}
