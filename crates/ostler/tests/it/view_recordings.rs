//! The live view of every recorded session of the real CLI, as snapshots.

use claude_wire::Message;
use ostler::view::{Detail, Look, Paint, View};
use std::fs;
use std::path::{Path, PathBuf};

fn recordings(version: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../claude-lab/recordings").join(version);
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "ndjson"))
        .collect();
    files.sort();
    assert!(files.len() >= 10, "{} recordings in {}", files.len(), folder.display());
    files
}

fn shown(file: &Path, paint: Paint) -> String {
    let mut view = View::new(Look { paint, columns: 80, detail: Detail::Turn });
    let bytes = fs::read(file).unwrap();
    let mut text = String::new();
    for line in bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
        let (message, _) = Message::parse(line);
        view.message(&message, line);
        text.push_str(&view.take());
    }
    view.end_line();
    text + &view.take()
}

fn all(version: &str) -> String {
    let one = |file: &PathBuf| {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        format!("=== {name}\n{}", shown(file, Paint::Plain))
    };
    recordings(version).iter().map(one).collect()
}

#[test]
fn what_a_new_cli_says() {
    insta::assert_snapshot!(all("2.1.332"));
}

#[test]
fn what_the_oldest_supported_cli_says() {
    insta::assert_snapshot!(all("2.1.200"));
}

/// Colours change nothing but colours, and no text of a recording reaches the terminal as a command.
#[test]
fn colours_are_all_there_is_of_control_characters() {
    for version in ["2.1.332", "2.1.200"] {
        for file in recordings(version) {
            let coloured = shown(&file, Paint::Colour);
            let plain = shown(&file, Paint::Plain);
            assert!(plain.chars().all(|c| c == '\n' || c == '\t' || !c.is_control()), "{}", file.display());
            let mut rest = coloured.as_str();
            let mut stripped = String::new();
            while let Some(at) = rest.find('\u{1b}') {
                stripped.push_str(&rest[..at]);
                let end = rest[at..].find('m').expect("an SGR sequence ends with m");
                let parameters = &rest[at + 1..at + end];
                assert!(parameters.starts_with('['), "{parameters:?}");
                assert!(parameters[1..].bytes().all(|b| b.is_ascii_digit()), "{parameters:?}");
                rest = &rest[at + end + 1..];
            }
            stripped.push_str(rest);
            assert_eq!(stripped, plain, "{}", file.display());
        }
    }
}
