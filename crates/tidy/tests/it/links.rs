//! Links in Markdown lead somewhere, and pages that are named exist.

use super::source::{File, Finding, lines, none, tracked, tracked_paths};
use std::collections::BTreeSet;

/// The target of every link of a page with its line; code is left out.
fn targets(text: &str) -> Vec<(usize, String)> {
    let mut out = Vec::new();
    for (number, line) in prose(text) {
        let mut rest = line.as_str();
        while let Some(at) = rest.find("](") {
            rest = &rest[at + 2..];
            let end = rest.find([')', ' ']).unwrap_or(rest.len());
            out.push((number, rest[..end].trim_matches(['<', '>']).to_owned()));
        }
        if let Some((name, target)) = line.split_once("]: ")
            && name.starts_with('[')
        {
            out.push((number, target.trim().to_owned()));
        }
    }
    out
}

/// Lines outside fences, code spans blanked.
fn prose(text: &str) -> Vec<(usize, String)> {
    let mut fenced = false;
    let mut out = Vec::new();
    for (i, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            let outside = line.split('`').enumerate().map(|(n, part)| if n % 2 == 0 { part } else { "x" });
            out.push((i + 1, outside.collect()));
        }
    }
    out
}

/// The anchors of a page: its headings as the usual renderers spell them.
fn anchors(text: &str) -> BTreeSet<String> {
    let spell = |heading: &str| -> String {
        let kept = heading.trim().to_lowercase();
        kept.chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect()
    };
    let headings = text.lines().filter(|l| l.starts_with('#')).map(|l| l.trim_start_matches('#'));
    headings.map(spell).collect()
}

fn broken(files: &[File], paths: &BTreeSet<String>) -> Vec<Finding> {
    let exists =
        |path: &str| paths.contains(path) || paths.iter().any(|p| p.starts_with(&format!("{path}/")));
    let mut out = Vec::new();
    for file in files.iter().filter(|f| f.path.ends_with(".md")) {
        for (line, target) in targets(&file.text) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (page, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let path = resolve(&file.path, page);
            if !exists(&path) {
                out.push(Finding::new(
                    file,
                    line,
                    format!("the link `{target}` leads to {path}, which is not there"),
                ));
            } else if let Some(to) = files.iter().find(|f| f.path == path)
                && !anchor.is_empty()
                && !anchors(&to.text).contains(anchor)
            {
                out.push(Finding::new(file, line, format!("{path} has no heading for `#{anchor}`")));
            }
        }
    }
    out.extend(missing_pages(files, &exists));
    out
}

/// Pages that any file names as `docs/….md`.
fn missing_pages(files: &[File], exists: &dyn Fn(&str) -> bool) -> Vec<Finding> {
    let mut out = Vec::new();
    for file in files.iter().filter(|f| !f.path.starts_with("crates/tidy/")) {
        for (number, line) in file.text.lines().enumerate() {
            for word in line.split(|c: char| !(c.is_alphanumeric() || "/._-".contains(c))) {
                if word.starts_with("docs/") && word.ends_with(".md") && !exists(word) {
                    out.push(Finding::new(file, number + 1, format!("names {word}, which is not there")));
                }
            }
        }
    }
    out
}

/// A link's path from the root of the repository.
fn resolve(from: &str, link: &str) -> String {
    if link.is_empty() {
        return from.to_owned();
    }
    let mut parts: Vec<&str> = if link.starts_with('/') { Vec::new() } else { from.split('/').collect() };
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

#[test]
fn links_lead_somewhere() {
    none(&broken(&tracked(), &tracked_paths().into_iter().collect()));
}

#[test]
fn finds_broken_links() {
    let text = "# One thing, two\n[a](b.md) [c](../d.md#one) [e](#one-thing-two)\n`[f](g)` [h](https://x/y)\n```\n[i](j)\n```\n\
                [k](../crates)\n[l](b.md#nope)\n[m]: gone.md\nsee docs/away.md";
    let files = [File::new("docs/a.md", text), File::new("docs/b.md", "## Two\n")];
    let paths = ["docs/a.md", "docs/b.md", "crates/x/Cargo.toml"].map(str::to_owned).into_iter().collect();
    assert_eq!(lines(&broken(&files, &paths)), [2, 8, 9, 10]);
}
