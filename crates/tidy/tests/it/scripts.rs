//! The scripts that judge a test run can fail.

use super::source::{File, Finding, none, root, tracked};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// Ends a process however its test ends.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        // Both fail only when it is gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A process that lives until its guard goes. Its marker is not this run's, or a broken test would hide itself.
fn sleeper(configure: impl FnOnce(&mut Command) -> &mut Command) -> Guard {
    let mut command = Command::new("sleep");
    command.arg("60").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Guard(configure(&mut command).spawn().expect("sleep is in every system"))
}

fn leftovers(marker: &str, folder: &Path) -> (Option<i32>, String) {
    let out: Output = Command::new(root().join("scripts/leftovers"))
        .arg(marker)
        .arg(folder)
        .env_remove("TMPDIR")
        .current_dir("/")
        .output()
        .expect("the script can be run");
    let said = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    (out.status.code(), said)
}

#[test]
fn leftovers_finds_processes_and_files() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let marker = format!("TIDY_MARK={}", folder.path().file_name().expect("it has a name").display());
    let (name, value) = marker.split_once('=').expect("it has both");

    assert_eq!(leftovers(&marker, folder.path()), (Some(0), String::new()), "a clean run");

    let marked = sleeper(|c| c.env(name, value).current_dir("/"));
    let hidden = sleeper(|c| c.env_clear().current_dir(folder.path()));
    let named = sleeper(|c| c.env_clear().env("HOME", folder.path().join("home")).current_dir("/"));
    fs::write(folder.path().join("forgotten"), "").expect("the folder is ours");
    let (code, said) = leftovers(&marker, folder.path());
    assert_eq!(code, Some(1), "{said}");
    for (process, reason) in [(&marked, "has the marker"), (&hidden, "holds"), (&named, "names the folder")] {
        assert!(said.contains(&format!("process {} {reason}", process.0.id())), "{reason}: {said}");
    }
    assert!(said.contains("forgotten"), "{said}");
    assert_eq!(said.lines().count(), 4, "nothing of its own: {said}");

    drop((marked, hidden, named));
    fs::remove_file(folder.path().join("forgotten")).expect("it is there");
    assert_eq!(leftovers(&marker, folder.path()), (Some(0), String::new()), "clean again");
}

#[test]
fn leftovers_refuses_a_folder_that_is_not_there() {
    assert_eq!(leftovers("A=b", Path::new("/nonexistent")).0, Some(2));
}

#[test]
fn get_claude_refuses_what_is_not_pinned() {
    let out =
        Command::new(root().join("scripts/get-claude")).arg("0.0.1").output().expect("the script can be run");
    assert_eq!(out.status.code(), Some(1));
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(said.contains("no integrity is pinned") && said.contains("scripts/get-claude"), "{said}");
    assert_eq!(
        Command::new(root().join("scripts/get-claude")).output().expect("it runs").status.code(),
        Some(2)
    );
}

/// Scripts begin with what they do and stop at the first error.
fn careless(files: &[File]) -> Vec<Finding> {
    let mut out = Vec::new();
    for file in files.iter().filter(|f| f.path.starts_with("scripts/") || f.path == ".ci/run") {
        if !file.text.starts_with("#!/usr/bin/env bash\n# ") {
            out.push(Finding::new(file, 1, "does not begin with the shell and what it is for"));
        }
        if !file.text.lines().any(|l| l == "set -euo pipefail") {
            out.push(Finding::new(file, 0, "no `set -euo pipefail`"));
        }
    }
    out
}

#[test]
fn scripts_are_careful() {
    none(&careless(&tracked()));
    let ours: Vec<String> =
        tracked().into_iter().map(|f| f.path).filter(|p| p.starts_with("scripts/")).collect();
    for path in ours.iter().map(String::as_str).chain([".ci/run"]) {
        let check = Command::new("bash").arg("-n").arg(root().join(path)).output().expect("bash is there");
        assert!(check.status.success(), "{path}: {}", String::from_utf8_lossy(&check.stderr));
    }
}

#[test]
fn finds_careless_scripts() {
    let good = "#!/usr/bin/env bash\n# Does a thing.\nset -euo pipefail\n";
    assert!(careless(&[File::new("scripts/a", good)]).is_empty());
    assert_eq!(careless(&[File::new("scripts/a", "#!/bin/sh\necho\n")]).len(), 2);
}
