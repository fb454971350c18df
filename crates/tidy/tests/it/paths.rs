//! The paths that code names: `a::b::c` where it stands, and every `use` spelled out.

use super::tokens::{Token, after_group, find, tokens};

/// Every path of blanked code with its line: `std::fs::read`, `thread::sleep`, `std::time::*`. Renamings are left out.
pub(crate) fn paths(code: &str) -> Vec<(usize, String)> {
    let all = tokens(code);
    let mut out = Vec::new();
    let mut i = 0;
    while i < all.len() {
        if all[i].text == "use"
            && all.get(i + 1).is_some_and(|t| t.is_name() || t.text == ":" || t.text == "{")
        {
            let end = find(&all[i..], &[";"]).first().map_or(all.len(), |n| i + n);
            tree(&all[i + 1..end], &[], &mut out);
            i = end;
        } else if all[i].is_name() && is_path_start(&all, i) {
            let (path, next) = path_at(&all, i);
            out.push((all[i].line, path.join("::")));
            i = next;
        } else {
            i += 1;
        }
    }
    out
}

/// A name that `::` and another name follow.
fn is_path_start(all: &[Token], i: usize) -> bool {
    separator(all, i + 1) && all.get(i + 3).is_some_and(Token::is_name)
}

fn separator(all: &[Token], i: usize) -> bool {
    all.get(i).is_some_and(|t| t.text == ":") && all.get(i + 1).is_some_and(|t| t.text == ":")
}

fn path_at(all: &[Token], start: usize) -> (Vec<String>, usize) {
    let mut path = vec![all[start].text.clone()];
    let mut i = start + 1;
    while separator(all, i) && all.get(i + 2).is_some_and(Token::is_name) {
        path.push(all[i + 2].text.clone());
        i += 3;
    }
    (path, i)
}

/// One `use` tree below `prefix`.
fn tree(all: &[Token], prefix: &[String], out: &mut Vec<(usize, String)>) {
    let mut path = prefix.to_vec();
    let mut i = 0;
    while i < all.len() {
        match all[i].text.as_str() {
            ":" => i += 1,
            "as" => break,
            "{" => {
                let end = after_group(all, i) - 1;
                for branch in branches(&all[i + 1..end.max(i + 1)]) {
                    tree(branch, &path, out);
                }
                return;
            }
            "self" if !path.is_empty() => i += 1,
            word => {
                path.push(word.to_owned());
                i += 1;
            }
        }
    }
    if let Some(first) = all.first() {
        out.push((first.line, path.join("::")));
    }
}

/// The parts of a `{…}` between its own commas.
fn branches(all: &[Token]) -> Vec<&[Token]> {
    let mut parts = Vec::new();
    let (mut start, mut i) = (0, 0);
    while i < all.len() {
        match all[i].text.as_str() {
            "{" => i = after_group(all, i),
            "," => {
                parts.push(&all[start..i]);
                i += 1;
                start = i;
            }
            _ => i += 1,
        }
    }
    parts.push(&all[start..]);
    parts
}

#[test]
fn uses_are_spelled_out() {
    let code = "use std::{fs::{self, File as F}, io, time::*};\nuse ::std::net as n;\nfn f() { thread::sleep(x); a::B::<u8>::c() }";
    let found: Vec<String> = paths(code).into_iter().map(|(line, path)| format!("{line} {path}")).collect();
    assert_eq!(
        found,
        [
            "1 std::fs",
            "1 std::fs::File",
            "1 std::io",
            "1 std::time::*",
            "2 std::net",
            "3 thread::sleep",
            "3 a::B"
        ]
    );
}
