//! Only the crate `ostler` writes to the terminal: libraries return what there is to say.

use super::source::{File, Finding, lines, none, tracked};
use super::tokens::{find, tokens};

const HOME: &str = "ostler";

fn prints(files: &[File]) -> Vec<Finding> {
    let mut out = Vec::new();
    for file in files.iter().filter(|f| f.is_rust()) {
        let is_program = file.path.contains("/src/bin/")
            || file.path.ends_with("/src/main.rs")
            || file.path.contains("/examples/");
        if file.krate() != Some(HOME) && !is_program {
            let code = tokens(&file.product);
            for word in ["println", "eprintln", "print", "eprint"] {
                for at in find(&code, &[word, "!"]) {
                    out.push(Finding::new(
                        file,
                        code[at].line,
                        format!("`{word}!` outside the crate ostler"),
                    ));
                }
            }
        }
        let code = tokens(&file.lexed.code);
        for at in find(&code, &["dbg", "!"]) {
            out.push(Finding::new(file, code[at].line, "`dbg!`"));
        }
    }
    out
}

#[test]
fn only_ostler_prints() {
    none(&prints(&tracked()));
}

#[test]
fn finds_printing() {
    let text = "// println!(\"a\")\nfn a() { println!(\"b\") }\n#[cfg(test)]\nfn c() { eprint!(\"d\"); dbg!(1) }\nfn e() { eprintln!() }";
    assert_eq!(lines(&prints(&[File::new("crates/ostler-core/src/a.rs", text)])), [2, 4, 5]);
    assert_eq!(lines(&prints(&[File::new("crates/ostler/src/a.rs", text)])), [4]);
    assert_eq!(lines(&prints(&[File::new("crates/claude-lab/src/bin/a.rs", text)])), [4]);
    assert_eq!(lines(&prints(&[File::new("crates/claude-lab/tests/it/a.rs", text)])), [4]);
}
