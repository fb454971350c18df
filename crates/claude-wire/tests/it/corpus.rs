//! Plays what the fuzz targets start from, so that every test run has it.

use super::invariants::{reads_right, splits_right};
use claude_wire::Message;
use serde_json::Value;
use std::fs;
use std::path::Path;

fn seeds(target: &str) -> Vec<(String, Vec<u8>)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let entries = fs::read_dir(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let seeds: Vec<_> = entries
        .map(|entry| {
            let entry = entry.expect("the folder can be listed");
            let bytes = fs::read(entry.path()).expect("the seed can be read");
            (entry.file_name().to_string_lossy().into_owned(), bytes)
        })
        .collect();
    assert!(!seeds.is_empty(), "no seeds in {}", dir.display());
    seeds
}

#[test]
fn every_seed_of_the_splitter_splits_right() {
    for (name, bytes) in seeds("split") {
        for sizes in [&[1][..], &[2, 3], &[64], &[usize::MAX]] {
            for max_line in [0, 8, 1 << 20] {
                eprintln!("{name}, chunks of {sizes:?}, at most {max_line}");
                splits_right(&bytes, sizes, 1 << 33, max_line);
            }
        }
    }
}

#[test]
fn every_seed_of_the_frame_reads_right() {
    for (name, bytes) in seeds("frame") {
        eprintln!("{name}");
        reads_right(&bytes);
        // Cut anywhere, as by a full disk or a death; a long one at some places only.
        for at in (0..bytes.len()).step_by(1 + bytes.len() / 500) {
            reads_right(&bytes[..at]);
        }
    }
}

/// The tag is found by its place where it stands in front, and by a search where it doesn't.
#[test]
fn a_line_says_the_same_wherever_its_tag_stands() {
    let mut tried = 0;
    for (name, bytes) in seeds("frame") {
        if !name.starts_with("real-") {
            continue;
        }
        let line: serde_json::Map<String, Value> =
            serde_json::from_slice(&bytes).expect("a real line is an object");
        let tag = |key: &&str| line.get(*key).map(|value| format!("\"{key}\":{value}"));
        let tags: Vec<_> = ["type", "subtype"].iter().filter_map(tag).collect();
        let rest = line.iter().filter(|(key, _)| !["type", "subtype"].contains(&key.as_str()));
        let rest: Vec<_> = rest.map(|(key, value)| format!("\"{key}\":{value}")).collect();
        let said = |parts: &[&[String]]| {
            let line = format!("{{{}}}", parts.concat().join(","));
            let (message, tolerant) = Message::parse(line.as_bytes());
            assert!(!tolerant && !matches!(message, Message::Noise | Message::Unknown(_)), "{name}");
            format!("{message:?}")
        };
        let reversed: Vec<_> = tags.iter().rev().cloned().collect();
        assert_eq!(said(&[&tags, &rest]), said(&[&rest, &tags]), "{name}");
        assert_eq!(said(&[&tags, &rest]), said(&[&reversed, &rest]), "{name}");
        tried += 1;
    }
    assert!(tried > 20, "only {tried} real lines");
}
