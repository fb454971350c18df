//! Attributes that this repository does not use.

use super::source::{File, Finding, lines, none, tracked};
use super::tokens::{Token, attributes, tokens};

fn unwanted(files: &[File]) -> Vec<Finding> {
    let mut out = Vec::new();
    for file in files.iter().filter(|f| f.is_rust()) {
        let code = tokens(&file.lexed.code);
        for attribute in attributes(&code) {
            if let Some(what) = verdict(attribute) {
                out.push(Finding::new(file, attribute[0].line, what));
            }
        }
    }
    out
}

fn verdict(attribute: &[Token]) -> Option<&'static str> {
    let first = attribute.first()?.text.as_str();
    let calls = |name: &str| attribute.windows(2).any(|w| w[0].text == name && w[1].text == "(");
    let has = |name: &str| attribute.iter().any(|t| t.text == name);
    match first {
        "allow" | "cfg_attr" if calls("allow") => {
            Some("`allow`: use `#[expect(…, reason = \"…\")]`, which tells when it is needed no more")
        }
        "expect" | "cfg_attr" if calls("expect") && !has("reason") => Some("`expect` without its reason"),
        "serde" if has("flatten") => {
            Some("serde `flatten`: it buffers the value and loses raw JSON; write the fields out")
        }
        "serde" if has("untagged") => {
            Some("serde `untagged`: its errors say nothing; match on the tag by hand")
        }
        _ => None,
    }
}

#[test]
fn no_unwanted_attributes() {
    none(&unwanted(&tracked()));
}

#[test]
fn finds_unwanted_attributes() {
    let text = "#![allow(dead_code)]\n#[serde(flatten)]\nstruct A { flatten: u8 }\n#[serde(rename = \"b\", untagged)]\nenum C {}\n\
                #[expect(x, reason = \"y\")]\n#[expect(x)]\n#[cfg_attr(test, allow(x))]\nfn d() { allow(1) }\n// #[allow(x)]";
    assert_eq!(lines(&unwanted(&[File::new("crates/a/src/b.rs", text)])), [1, 2, 4, 7, 8]);
}
