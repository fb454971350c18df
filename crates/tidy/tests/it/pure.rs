//! The pure crates do no I/O, read no clock or chance, and start nothing.

use super::paths::paths;
use super::source::{File, Finding, lines, none, tracked};

const PURE: [&str; 2] = ["claude-wire", "ostler-core"];

/// Paths that a pure crate may not name, nor anything below them.
const IMPURE: [&str; 14] = [
    "std::env",
    "std::fs",
    "std::net",
    "std::os",
    "std::process",
    "std::thread",
    "std::sync::mpsc",
    "std::io::stdin",
    "std::io::stdout",
    "std::io::stderr",
    "std::time::Instant",
    "std::time::SystemTime",
    "std::time::UNIX_EPOCH",
    "std::*",
];

/// Last names of functions that read the clock or chance.
const CALLS: [&str; 3] = ["new_v4", "now_v7", "now"];

fn impure(files: &[File]) -> Vec<Finding> {
    let mut out = Vec::new();
    for file in files.iter().filter(|f| f.krate().is_some_and(|k| PURE.contains(&k))) {
        for (line, path) in paths(&file.product) {
            let below = |name: &str| path == name || path.starts_with(&format!("{name}::"));
            let last = path.rsplit("::").next().unwrap_or_default();
            if IMPURE.iter().any(|name| below(name)) || path == "std::time::*" || CALLS.contains(&last) {
                out.push(Finding::new(
                    file,
                    line,
                    format!("`{path}` in a pure crate: let the caller pass it in"),
                ));
            }
        }
    }
    out
}

#[test]
fn pure_crates_are_pure() {
    none(&impure(&tracked()));
}

#[test]
fn finds_impure_code() {
    let text = "use std::{fmt, fs::File};\nuse std::time::{Duration, Instant};\nfn a() { std::process::abort() }\n\
                fn b() { Uuid::new_v4() }\n#[cfg(test)]\nmod t { use std::fs; }\n// std::net\nuse std::io::Write;\n\
                fn c(x: &str) { f(\"std::env\") }\nuse std::time::*;";
    assert_eq!(lines(&impure(&[File::new("crates/claude-wire/src/a.rs", text)])), [1, 2, 3, 4, 10]);
    assert!(impure(&[File::new("crates/ostler-store/src/a.rs", text)]).is_empty());
    assert!(impure(&[File::new("crates/ostler-core/tests/it/a.rs", text)]).is_empty());
}
