//! No place, host or tool of one machine is named: what is checked in must make sense everywhere.

use super::source::{File, Finding, lines, none, tracked};

/// Halves, so that this file passes its own rule.
const FORBIDDEN: &[(&str, &str)] = &[
    ("/work", "/main"),
    ("/work", "/shared"),
    ("/work", "/.library"),
    ("/work", "/.mirror"),
    ("../sha", "red/"),
    ("/opt/cla", "ude-dl"),
    ("/opt/cargo", "-tools"),
    ("/tmp/con", "tract"),
    ("/tmp/pro", "be"),
    ("/tmp/", "t/"),
    ("/root", "/"),
    ("/home/", "user"),
    ("registry.npm", "js.org"),
    ("npm", "js.com"),
    ("crates", ".io"),
    ("pypi", ".org"),
    ("pythonhosted", ".org"),
    ("deb.debian", ".org"),
    ("issues ", "show"),
];

fn named(files: &[File]) -> Vec<Finding> {
    let words: Vec<String> = FORBIDDEN.iter().map(|(a, b)| format!("{a}{b}")).collect();
    let mut out = Vec::new();
    for file in files {
        // Cargo writes the name of its default registry into every lock file.
        if file.path == "Cargo.lock" || file.path.ends_with("/Cargo.lock") {
            continue;
        }
        for (number, line) in file.text.lines().enumerate() {
            if let Some(word) = words.iter().find(|w| line.contains(w.as_str())) {
                out.push(Finding::new(file, number + 1, format!("names `{word}`")));
            }
        }
    }
    out
}

#[test]
fn no_machine_is_named() {
    none(&named(&tracked()));
}

#[test]
fn finds_machine_names() {
    let text = format!(
        "a\nsee {}{}\n/tmp/x\n{}{}",
        FORBIDDEN[0].0, FORBIDDEN[0].1, FORBIDDEN[12].0, FORBIDDEN[12].1
    );
    assert_eq!(lines(&named(&[File::new("docs/a.md", &text)])), [2, 4]);
    assert!(named(&[File::new("Cargo.lock", &text)]).is_empty());
}
