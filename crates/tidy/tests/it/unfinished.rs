//! Nothing unfinished, switched off or skipped is checked in.

use super::source::{File, Finding, lines, none, tracked};
use super::tokens::{attributes, find, tokens};

fn unfinished(files: &[File]) -> Vec<Finding> {
    let mut out = Vec::new();
    for file in files.iter().filter(|f| f.is_rust()) {
        let code = tokens(&file.lexed.code);
        for word in ["todo", "unimplemented"] {
            for at in find(&code, &[word, "!"]) {
                out.push(Finding::new(file, code[at].line, format!("`{word}!`")));
            }
        }
        for (line, comment) in &file.lexed.comments {
            let marks = ["FIXME", "TODO", "XXX", "HACK"];
            if let Some(mark) =
                marks.iter().find(|m| comment.split(|c: char| !c.is_alphanumeric()).any(|w| w == **m))
            {
                out.push(Finding::new(file, *line, format!("{mark}: do it, or file an issue")));
            }
            if comment.contains("```ignore") {
                out.push(Finding::new(file, *line, "a documentation test that is switched off"));
            }
        }
        for attribute in attributes(&code) {
            if attribute.iter().any(|t| t.text == "ignore") {
                out.push(Finding::new(
                    file,
                    attribute[0].line,
                    "`#[ignore]`: a test that does not run proves nothing",
                ));
            }
        }
        let skip = ["sk", "ip"].concat();
        // Claude's own flag, and a field of that name.
        let flag = [&skip, "_permissions"].concat();
        let test_code = file.test_code();
        for (line, text) in &file.lexed.strings {
            let in_test = test_code.lines().nth(line - 1).is_some_and(|l| !l.trim().is_empty());
            if in_test && text.to_lowercase().starts_with(&skip) && *text != flag {
                out.push(Finding::new(
                    file,
                    *line,
                    "a test that skips itself: let it fail and say what is missing",
                ));
            }
        }
    }
    out
}

#[test]
fn nothing_is_unfinished() {
    none(&unfinished(&tracked()));
}

#[test]
fn finds_unfinished_code() {
    let text = "fn a() { todo!() }\n// FIXME later\n// autotodos are fine\n#[test] #[ignore = \"slow\"]\nfn b() { unimplemented!() }\n\
                #[cfg(test)]\nfn c() { eprintln!(\"skipped: no claude\") }\nfn d() { f(\"skip\") }\n/// ```ignore\nfn e() {}";
    let found = lines(&unfinished(&[File::new("crates/a/src/b.rs", text)]));
    assert_eq!(found, [1, 2, 4, 5, 7, 9]);
}
