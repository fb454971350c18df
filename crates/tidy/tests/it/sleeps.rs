//! Tests don't sleep: they wait for an event, with a deadline.

use super::paths::paths;
use super::source::{File, Finding, lines, none, tracked};

/// Files that may, how often they name a sleep, and why there.
const ALLOWED: &[(&str, usize, &str)] = &[];

fn sleeps(files: &[File], allowed: &[(&str, usize, &str)]) -> Vec<Finding> {
    let mut out = Vec::new();
    for file in files.iter().filter(|f| f.is_rust()) {
        let may = allowed.iter().find(|(path, ..)| *path == file.path).map_or(0, |(_, times, _)| *times);
        let found: Vec<(usize, String)> = paths(&file.test_code())
            .into_iter()
            .filter(|(_, path)| ["thread::sleep", "time::sleep"].iter().any(|end| path.ends_with(end)))
            .collect();
        for (line, path) in found.into_iter().skip(may) {
            out.push(Finding::new(
                file,
                line,
                format!("`{path}` in a test: wait for what it waits for, with a deadline"),
            ));
        }
    }
    out
}

#[test]
fn tests_wait_for_events() {
    none(&sleeps(&tracked(), ALLOWED));
}

#[test]
fn finds_sleeps() {
    let text = "use std::thread::{self, sleep};\nfn a() { thread::sleep(x) }\n// thread::sleep\nfn b() { tokio::time::sleep(y) }";
    let test = [File::new("crates/a/tests/it/b.rs", text)];
    assert_eq!(lines(&sleeps(&test, &[])), [1, 2, 4]);
    assert_eq!(lines(&sleeps(&test, &[("crates/a/tests/it/b.rs", 2, "because")])), [4]);
    assert!(sleeps(&[File::new("crates/a/src/b.rs", text)], &[]).is_empty());
}
