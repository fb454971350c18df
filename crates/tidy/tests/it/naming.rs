//! A file's name says its subject, and its first words say more.

use super::source::{File, Finding, none, tracked};

const EMPTY_NAMES: [&str; 10] =
    ["utils", "util", "common", "helpers", "helper", "manager", "misc", "shared", "stuff", "mod"];

fn badly_named(files: &[File]) -> Vec<Finding> {
    let mut out = Vec::new();
    for file in files.iter().filter(|f| f.is_rust()) {
        let name = file.path.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs");
        if EMPTY_NAMES.contains(&name) {
            out.push(Finding::new(file, 0, format!("`{name}` is no subject: name what the file holds")));
        }
        if !file.is_test() && !file.text.starts_with("//!") {
            out.push(Finding::new(
                file,
                1,
                "does not begin with `//!`: what it owns, and what it must not know",
            ));
        }
    }
    out
}

#[test]
fn files_say_their_subject() {
    none(&badly_named(&tracked()));
}

#[test]
fn finds_bad_names() {
    let count = |path: &str, text: &str| badly_named(&[File::new(path, text)]).len();
    assert_eq!(count("crates/a/src/turn.rs", "//! Turns.\n"), 0);
    assert_eq!(count("crates/a/src/turn.rs", "use b;\n"), 1);
    assert_eq!(count("crates/a/tests/it/turn.rs", "use b;\n"), 0);
    assert_eq!(count("crates/a/tests/it/util.rs", "use b;\n"), 1);
    assert_eq!(count("crates/a/src/utils.rs", "//! All sorts.\n"), 1);
    assert_eq!(count("crates/a/src/turn/mod.rs", "fn a() {}\n"), 2);
    assert_eq!(count("docs/common.md", "x"), 0);
}
