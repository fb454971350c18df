//! No forgotten file: every Rust file is compiled into something.

use super::source::{File, Finding, none, tracked};
use super::tokens::{find, tokens};

fn forgotten(files: &[File]) -> Vec<Finding> {
    files
        .iter()
        .filter(|f| f.is_rust() && f.krate().is_some() && !is_root(&f.path) && !is_declared(f, files))
        .map(|file| {
            let parent = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            Finding::new(
                file,
                0,
                format!("no `mod` names it (looked in {parent}.rs and the crate roots in {parent}/)"),
            )
        })
        .collect()
}

/// Whether cargo compiles it by its place alone.
fn is_root(path: &str) -> bool {
    let inside = path.splitn(3, '/').nth(2).unwrap_or_default();
    let depth = inside.matches('/').count();
    matches!(inside, "src/lib.rs" | "src/main.rs" | "build.rs")
        || (inside.starts_with("src/bin/") && depth == 2)
        || (["tests/", "benches/", "examples/"].iter().any(|folder| inside.starts_with(folder)) && depth == 1)
        || (["src/bin/", "tests/", "benches/", "examples/"].iter().any(|f| inside.starts_with(f))
            && inside.ends_with("/main.rs"))
}

fn is_declared(file: &File, files: &[File]) -> bool {
    let Some((folder, name)) = file.path.rsplit_once('/') else { return false };
    let name = name.trim_end_matches(".rs");
    let parents = [format!("{folder}.rs"), format!("{folder}/lib.rs"), format!("{folder}/main.rs")];
    files.iter().filter(|f| f.krate() == file.krate()).any(|other| {
        let declared = || !find(&tokens(&other.lexed.code), &["mod", name, ";"]).is_empty();
        (parents.contains(&other.path) && declared()) || names_path(other, &file.path)
    })
}

/// Whether a file has `path = "…"` for the other one: each platform's form of a module, of which one is compiled.
fn names_path(file: &File, path: &str) -> bool {
    let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let named =
        |text: &str| path.strip_prefix(folder).is_some_and(|rest| rest.strip_prefix('/') == Some(text));
    let lines: Vec<usize> =
        file.lexed.strings.iter().filter(|(_, t)| named(t)).map(|(line, _)| *line).collect();
    if lines.is_empty() {
        return false;
    }
    let code = tokens(&file.lexed.code);
    find(&code, &["path", "="]).into_iter().any(|i| lines.contains(&code[i].line))
}

#[test]
fn every_file_is_compiled() {
    none(&forgotten(&tracked()));
}

#[test]
fn finds_forgotten_files() {
    let mut files: Vec<File> = [
        ("crates/a/src/lib.rs", "mod b;\n// mod c;"),
        (
            "crates/a/src/b.rs",
            "mod d;\n#[cfg_attr(unix, path = \"b/unix.rs\")]\nmod platform;\nf(\"b/not.rs\");",
        ),
        ("crates/a/src/b/unix.rs", ""),
        ("crates/a/src/b/not.rs", ""),
        ("crates/a/src/b/d.rs", ""),
        ("crates/a/src/c.rs", ""),
        ("crates/a/src/bin/fake.rs", ""),
        ("crates/a/tests/it.rs", "mod it { mod e; }"),
        ("crates/a/tests/it/e.rs", ""),
    ]
    .iter()
    .map(|(path, text)| File::new(path, text))
    .collect();
    let paths =
        |files: &[File]| forgotten(files).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    assert_eq!(paths(&files).matches("no `mod`").count(), 2);
    assert!(paths(&files).contains("a/src/b/not.rs") && paths(&files).contains("a/src/c.rs"));
    files.push(File::new("crates/a/tests/it/f.rs", "#[test] fn never_run() {}"));
    assert!(paths(&files).contains("crates/a/tests/it/f.rs"));
}
