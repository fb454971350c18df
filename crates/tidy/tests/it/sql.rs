//! SQL stands in `ostler-store` only.

use super::paths::paths;
use super::source::{File, Finding, lines, none, tracked};

const HOME: &str = "ostler-store";

/// Words that make a text of more words SQL when all of one row stand in it in this order.
const STATEMENTS: [&[&str]; 10] = [
    &["SELECT", "FROM"],
    &["INSERT", "INTO"],
    &["INSERT", "OR"],
    &["UPDATE", "SET"],
    &["DELETE", "FROM"],
    &["CREATE", "TABLE"],
    &["CREATE", "INDEX"],
    &["ALTER", "TABLE"],
    &["DROP", "TABLE"],
    &["PRAGMA"],
];

/// In capitals anywhere; in small letters only from the first word on and with a bracket, for English uses these words
/// too.
fn is_sql(text: &str) -> bool {
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    let upper: Vec<String> = words.iter().map(|w| w.to_uppercase()).collect();
    STATEMENTS.iter().any(|statement| {
        let lower = text.contains('(') && upper.first().is_some_and(|w| w == statement[0]);
        words.len() > statement.len()
            && (in_order(&words, statement) || (lower && in_order(&upper, statement)))
    })
}

fn in_order(text: &[String], words: &[&str]) -> bool {
    let mut rest = text.iter();
    words.iter().all(|word| rest.any(|w| w == word))
}

fn misplaced(files: &[File]) -> Vec<Finding> {
    let mut out = Vec::new();
    for file in files.iter().filter(|f| f.krate() != Some(HOME)) {
        if file.path.ends_with(".sql") {
            out.push(Finding::new(file, 0, "an SQL file outside ostler-store"));
        }
        for (line, text) in &file.lexed.strings {
            if is_sql(text) {
                out.push(Finding::new(
                    file,
                    *line,
                    "SQL outside ostler-store: give the store a function for it",
                ));
            }
        }
        for (line, path) in paths(&file.lexed.code) {
            if path.split("::").next() == Some("rusqlite") {
                out.push(Finding::new(file, line, "rusqlite outside ostler-store: its types stay in there"));
            }
        }
    }
    out
}

#[test]
fn only_ostler_store_speaks_sql() {
    none(&misplaced(&tracked()));
}

#[test]
fn finds_sql() {
    // Built from halves, so that this file passes its own rule.
    let select = ["SEL", "ECT id FR", "OM t"].concat();
    let insert = ["insert ", "into t values (1)"].concat();
    let code = format!(
        "// {select}\nf(\"{select}\");\nf(\"please select one from the list\");\nuse rusqlite::Connection;\nf(\"{insert}\");"
    );
    assert_eq!(lines(&misplaced(&[File::new("crates/ostler/tests/it/a.rs", &code)])), [2, 4, 5]);
    assert!(misplaced(&[File::new("crates/ostler-store/src/a.rs", &code)]).is_empty());
    assert_eq!(misplaced(&[File::new("docs/a.sql", "")]).len(), 1);
}
