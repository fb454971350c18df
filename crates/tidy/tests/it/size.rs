//! A file has one subject: 600 lines at most without its tests, 900 with; a script 300. From 400 on it is listed.

use super::source::{File, Finding, none, tracked};

const LISTED: usize = 400;
const PRODUCT: usize = 600;
const WHOLE: usize = 900;
const SCRIPT: usize = 300;

/// Lines of the whole file, and those that ship: up to the first and after the last blanked test item.
fn measure(file: &File) -> (usize, usize) {
    let whole = file.text.lines().count();
    let shipped = file.text.lines().zip(file.product.lines()).zip(file.lexed.code.lines());
    // A line is a test's when its code was blanked. Comments and empty lines count where they stand.
    let mut product = 0;
    let mut in_test = false;
    for ((_, product_line), code_line) in shipped {
        if !code_line.trim().is_empty() {
            in_test = product_line.trim().is_empty();
        }
        product += usize::from(!in_test);
    }
    (whole, product)
}

fn too_long(files: &[File]) -> Vec<Finding> {
    let mut out = Vec::new();
    for file in files {
        let (whole, product) = measure(file);
        if file.is_rust() && product > PRODUCT {
            let what = format!(
                "{product} lines without its tests, {PRODUCT} at most: give a part of it a file of its own"
            );
            out.push(Finding::new(file, 0, what));
        }
        if file.is_rust() && whole > WHOLE {
            let what = format!("{whole} lines with its tests, {WHOLE} at most: move tests or parts out");
            out.push(Finding::new(file, 0, what));
        }
        if file.path.starts_with("scripts/") && whole > SCRIPT {
            out.push(Finding::new(file, 0, format!("a script of {whole} lines, {SCRIPT} at most")));
        }
    }
    out
}

#[test]
fn no_file_is_too_long() {
    none(&too_long(&tracked()));
}

/// Fails never; nextest prints it on every run.
#[test]
fn reports_long_files() {
    let mut long: Vec<(usize, usize, String)> = tracked()
        .iter()
        .filter(|f| f.is_rust())
        .map(|f| (measure(f), f))
        .filter(|((whole, product), f)| *product > LISTED || (f.is_test() && *whole > LISTED))
        .map(|((whole, product), f)| (whole, product, f.path.clone()))
        .collect();
    long.sort_by(|a, b| b.cmp(a));
    println!("files over {LISTED} lines ({}): lines, lines without tests", long.len());
    for (whole, product, path) in long {
        println!("{whole:5} {product:5}  {path}");
    }
}

#[test]
fn finds_long_files() {
    let code = |n: usize| "fn f() {}\n".repeat(n);
    let tests = |n: usize| {
        format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "    // note\n    fn t() {}\n".repeat(n / 2))
    };
    let found = |path: &str, text: String| too_long(&[File::new(path, &text)]).len();
    assert_eq!(found("crates/a/src/b.rs", code(600)), 0);
    assert_eq!(found("crates/a/src/b.rs", code(601)), 1);
    assert_eq!(found("crates/a/src/b.rs", code(590) + &tests(200)), 0);
    assert_eq!(found("crates/a/src/b.rs", code(590) + &tests(400)), 1);
    assert_eq!(found("crates/a/tests/it/b.rs", code(900)), 0);
    assert_eq!(found("crates/a/tests/it/b.rs", code(901)), 1);
    assert_eq!(found("scripts/b", code(301)), 1);
    assert!(too_long(&[File::new("a.md", &code(2000))]).is_empty());
}
