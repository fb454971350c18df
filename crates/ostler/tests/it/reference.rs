//! The command line as a document: docs/cli.md, completions and manual pages are made from the same definitions, and
//! every verb teaches by example.

use super::desk::{Desk, repository};
use std::fs;

fn reference() -> String {
    let mut whole = ostler::cli::command().term_width(100);
    whole.build();
    let mut out = String::from(
        "# The command line\n\nMade from the program's own help by a test; `OSTLER_UPDATE_DOCS=1 cargo test -p ostler reference` writes it\nanew.\n",
    );
    section(&whole, &mut out);
    out
}

fn section(command: &clap::Command, out: &mut String) {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name()).to_owned();
    let help = command.clone().term_width(100).render_long_help().to_string();
    let help: String = help.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    out.push_str(&format!("\n## {name}\n\n```text\n{}\n```\n", help.trim_end()));
    for verb in command.get_subcommands().filter(|c| !c.is_hide_set()) {
        section(verb, out);
    }
}

#[test]
fn the_page_says_what_the_help_says() {
    let path = repository().join("docs/cli.md");
    let now = reference();
    if std::env::var_os("OSTLER_UPDATE_DOCS").is_some() {
        fs::write(&path, &now).unwrap();
    }
    let page = fs::read_to_string(&path).unwrap_or_default();
    assert!(page == now, "docs/cli.md is not what the help says; OSTLER_UPDATE_DOCS=1 writes it anew");
}

#[test]
fn every_verb_has_an_example_and_every_option_a_text() {
    let mut whole = ostler::cli::command();
    whole.build();
    for verb in whole.get_subcommands() {
        let long = verb.get_long_about().map(ToString::to_string).unwrap_or_default();
        assert!(long.contains(&format!("ostler {}", verb.get_name())), "{} has no example", verb.get_name());
        for argument in verb.get_arguments() {
            assert!(argument.get_help().is_some(), "{} {} has no help", verb.get_name(), argument.get_id());
        }
    }
}

#[test]
fn completions_for_every_shell() {
    let desk = Desk::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ran = desk.run(&["completions", shell]).exits(0);
        assert!(ran.out.contains("ostler") && ran.out.contains("interrupt"), "{shell}");
    }
    desk.run(&["completions", "tcsh"]).exits(2).err.contains("possible values");
}

#[test]
fn manual_pages_for_every_verb() {
    let desk = Desk::new();
    let ran = desk.run(&["man", "pages"]).exits(0);
    assert!(ran.out.lines().any(|line| line == "pages/ostler-run.1"), "{}", ran.out);
    let page = fs::read_to_string(desk.path("work/pages/ostler-doctor-rebuild.1")).unwrap();
    assert!(page.contains("\\-\\-repair"), "{page}");
}

#[test]
fn help_and_version_go_to_standard_output() {
    let desk = Desk::new();
    let ran = desk.run(&["--version"]).exits(0);
    assert_eq!(ran.out, format!("ostler {}\n", env!("CARGO_PKG_VERSION")));
    let ran = desk.run(&["--help"]).exits(0);
    assert!(ran.out.contains("Exit status:") && ran.err.is_empty(), "{}", ran.all());
    let ran = desk.run::<&str>(&[]).exits(2);
    assert!(ran.err.contains("Usage:"), "{}", ran.all());
    assert!(!desk.home().exists(), "asking for help makes no home");
}
