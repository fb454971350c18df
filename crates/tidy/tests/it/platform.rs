//! `unsafe` and everything that depends on the platform stand in `ostler-os` only.

use super::paths::paths;
use super::source::{File, Finding, lines, none, tracked};
use super::tokens::{attributes, find, tokens};

const HOME: &str = "ostler-os";
const PLATFORMS: [&str; 4] = ["unix", "windows", "target_os", "target_family"];

fn misplaced(files: &[File]) -> Vec<Finding> {
    let mut out = Vec::new();
    for file in files.iter().filter(|f| f.is_rust() && f.krate() != Some(HOME)) {
        let all = tokens(&file.lexed.code);
        for token in all.iter().filter(|t| t.text == "unsafe") {
            out.push(Finding::new(file, token.line, "`unsafe`: ask ostler-os for it"));
        }
        let in_attributes =
            attributes(&all).into_iter().filter(|a| a.iter().any(|t| t.text.starts_with("cfg")));
        let macros =
            find(&all, &["cfg", "!"]).into_iter().map(|i| &all[i..super::tokens::after_group(&all, i + 2)]);
        for group in in_attributes.chain(macros) {
            if let Some(token) = group.iter().find(|t| PLATFORMS.contains(&t.text.as_str())) {
                let what =
                    format!("`cfg({})`: put the difference behind a function of ostler-os", token.text);
                out.push(Finding::new(file, token.line, what));
            }
        }
        for (line, path) in paths(&file.product) {
            let names = ["std::os::unix", "std::os::linux", "std::os::windows"];
            if names.iter().any(|n| path == *n || path.starts_with(&format!("{n}::"))) {
                out.push(Finding::new(
                    file,
                    line,
                    format!("`{path}` ships for one platform only: ask ostler-os for it"),
                ));
            }
        }
    }
    out
}

#[test]
fn only_ostler_os_knows_the_platform() {
    none(&misplaced(&tracked()));
}

#[test]
fn finds_platform_code() {
    let text = "// unsafe, cfg(unix)\nlet s = \"unsafe\";\n#[cfg(unix)] fn a() {}\nif cfg!(target_os = \"linux\") {}\n\
                unsafe { b() }\n#[cfg_attr(windows, path = \"w.rs\")] mod c;\n#[cfg(test)] use std::os::unix::fs;\n\
                use std::os::unix::ffi::OsStrExt;\n#![forbid(unsafe_code)]\n#[cfg(feature = \"x\")] fn d() {}";
    let found = lines(&misplaced(&[File::new("crates/ostler/src/a.rs", text)]));
    assert_eq!(found, [3, 4, 5, 6, 8]);
    assert!(misplaced(&[File::new("crates/ostler-os/src/a.rs", text)]).is_empty());
}
