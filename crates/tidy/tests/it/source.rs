//! The repository's files, as the rules see them, and what a rule finds.

use super::lexer::{Lexed, lex};
use super::tokens::without_tests;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One tracked text file.
#[derive(Debug)]
pub(crate) struct File {
    /// Its path from the root of the repository, with `/`.
    pub(crate) path: String,
    /// Its text.
    pub(crate) text: String,
    /// Rust: the file taken apart. Empty for other files.
    pub(crate) lexed: Lexed,
    /// Rust: the code that ships; empty in a test file, without its `#[cfg(test)]` items elsewhere.
    pub(crate) product: String,
    is_test: bool,
}

impl File {
    /// A file from its text, for the tests of the rules.
    pub(crate) fn new(path: &str, text: &str) -> Self {
        files(vec![(path.to_owned(), text.to_owned())]).pop().expect("one file in, one file out")
    }

    /// Whether it is Rust.
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether nothing of it ships: integration tests, benchmarks, fuzz targets, `#[cfg(test)] mod …;`.
    pub(crate) fn is_test(&self) -> bool {
        self.is_test
    }

    /// The code that is compiled for tests only: all of a test file, else the `#[cfg(test)]` items.
    pub(crate) fn test_code(&self) -> String {
        if self.is_test {
            return self.lexed.code.clone();
        }
        let ships = |(c, p): (u8, u8)| if c == p && c != b'\n' { b' ' } else { c };
        let bytes = self.lexed.code.bytes().zip(self.product.bytes()).map(ships).collect();
        String::from_utf8(bytes).expect("blanked from whole tokens")
    }

    /// The crate it belongs to: the folder under `crates/`.
    pub(crate) fn krate(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }
}

/// A broken rule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    path: String,
    line: usize,
    what: String,
}

impl Finding {
    /// At a line of a file (from 1; 0 for the whole file): what is wrong and what to do instead.
    pub(crate) fn new(file: &File, line: usize, what: impl Into<String>) -> Self {
        Self { path: file.path.clone(), line, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.what),
            line => write!(f, "{}:{line}: {}", self.path, self.what),
        }
    }
}

/// Fails with the findings, one a line.
#[track_caller]
pub(crate) fn none(findings: &[Finding]) {
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{} finding(s):\n{}", lines.len(), lines.join("\n"));
}

/// The lines that findings name, sorted, for the tests of the rules.
pub(crate) fn lines(findings: &[Finding]) -> Vec<usize> {
    let mut lines: Vec<usize> = findings.iter().map(|f| f.line).collect();
    lines.sort_unstable();
    lines
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("this crate lies two folders below the root").to_owned()
}

/// Every path that git tracks or would track (new files count before they are added), links left out.
pub(crate) fn tracked_paths() -> Vec<String> {
    let git = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .expect("git is needed to know which files belong to the repository");
    assert!(git.status.success(), "git ls-files failed: {}", String::from_utf8_lossy(&git.stderr));
    let listed = String::from_utf8(git.stdout).expect("paths here are UTF-8");
    let mut paths: Vec<String> = listed.split_terminator('\0').map(str::to_owned).collect();
    paths.sort();
    paths.dedup();
    // One that is deleted in the working tree only is gone as far as the rules are concerned.
    paths.retain(|path| root().join(path).symlink_metadata().is_ok_and(|m| m.is_file()));
    assert!(paths.iter().any(|p| p == "Cargo.toml"), "the list is not this repository's: {paths:?}");
    paths
}

/// Every tracked file that is text.
pub(crate) fn tracked() -> Vec<File> {
    let read = |path: String| {
        let text = String::from_utf8(std::fs::read(root().join(&path)).ok()?).ok()?;
        Some((path, text))
    };
    files(tracked_paths().into_iter().filter_map(read).collect())
}

/// Files from paths and texts; finds out which of them are tests.
pub(crate) fn files(texts: Vec<(String, String)>) -> Vec<File> {
    let mut all: Vec<File> = texts.into_iter().map(|(path, text)| file(path, text)).collect();
    let mut only_tests = Vec::new();
    for file in &mut all {
        let (product, modules) = without_tests(&file.lexed.code);
        let folder = module_folder(&file.path);
        only_tests.extend(modules.into_iter().map(|name| format!("{folder}/{name}")));
        file.product = product;
    }
    for file in &mut all {
        let stem = file.path.trim_end_matches(".rs");
        file.is_test |= only_tests.iter().any(|t| stem == t || stem.starts_with(&format!("{t}/")));
        if file.is_test {
            file.product.clear();
        }
    }
    all
}

fn file(path: String, text: String) -> File {
    let lexed = if path.ends_with(".rs") { lex(&text) } else { Lexed::default() };
    let is_test = path.split('/').any(|part| matches!(part, "tests" | "benches" | "fuzz"));
    File { path, text, lexed, product: String::new(), is_test }
}

/// Where a file's `mod name;` lie: beside a crate root, else in the folder of its own name.
pub(crate) fn module_folder(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_root = matches!(name, "lib.rs" | "main.rs" | "mod.rs")
        || folder.ends_with("/src/bin")
        || (folder.ends_with("/tests") && folder.matches('/').count() == 2);
    if is_root { folder.to_owned() } else { path.trim_end_matches(".rs").to_owned() }
}

#[test]
fn modules_for_tests_are_tests() {
    let all = files(vec![
        ("crates/a/src/lib.rs".into(), "#[cfg(test)] mod cases;\nmod real;".into()),
        ("crates/a/src/cases/one.rs".into(), "fn x() {}".into()),
        ("crates/a/src/real.rs".into(), "fn y() {}\n#[cfg(test)]\nfn z() {}".into()),
    ]);
    assert_eq!(all.iter().map(File::is_test).collect::<Vec<_>>(), [false, true, false]);
    assert!(all[2].product.contains("fn y") && !all[2].product.contains("fn z"));
    assert!(!all[2].test_code().contains("fn y") && all[2].test_code().contains("fn z"));
    assert!(all[1].test_code().contains("fn x"));
}

#[test]
fn the_repository_is_read() {
    let all = tracked();
    assert!(all.iter().any(|f| f.path == "crates/tidy/tests/it/source.rs" && f.is_test()));
    assert!(all.iter().any(|f| f.path == "crates/ostler-core/src/ctl.rs" && !f.product.is_empty()));
}
