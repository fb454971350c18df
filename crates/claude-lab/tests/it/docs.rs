//! The page that describes scripts is right.

use claude_lab::Script;

const PAGE: &str = include_str!("../../../../docs/lab.md");

#[test]
fn every_example_parses() {
    let mut examples = 0;
    let mut rest = PAGE;
    while let Some((_, after)) = rest.split_once("```lab\n") {
        let (example, behind) = after.split_once("```").expect("a closed example");
        Script::parse(example).unwrap_or_else(|error| panic!("{error} in:\n{example}"));
        examples += 1;
        rest = behind;
    }
    assert!(examples >= 3);
}

/// Every statement that the parser offers in its hint is described.
#[test]
fn every_statement_is_on_the_page() {
    let error = Script::parse("otherwise\n nonsense\n").expect_err("no such statement");
    let words = error
        .hint
        .trim_start_matches("use ")
        .split([',', ' '])
        .filter(|word| !word.is_empty() && *word != "or");
    let missing: Vec<&str> = words
        .filter(|word| !PAGE.contains(&format!("`{word}")) && !PAGE.contains(&format!("\n{word}\n")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
