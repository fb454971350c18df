//! Launch spec → argv, by golden vectors.

use crate::samples::{conversation, full, launcher, plain};
use ostler_core::argv::windows::command_line;
use ostler_core::argv::{Files, Platform, Start, TooBig, build, check_size, files};
use ostler_core::spec::{LaunchSpec, SettingSources, SpecError, parse_extra};
use std::ffi::OsString;
use std::fmt::Write;

const NPX: &str = r"C:\Program Files\nodejs\npx";

const FRESH: fn() -> Start = || Start::Fresh { conversation: conversation() };

fn unix(spec: &LaunchSpec, start: Start) -> Vec<OsString> {
    build(spec, start, Platform::Unix, &Files::in_dir("/home/ann/s/launch")).unwrap()
}

fn windows(spec: &LaunchSpec) -> Result<Vec<OsString>, SpecError> {
    build(spec, FRESH(), Platform::Windows, &Files::in_dir(r"C:\Users\Ann Lee\s\launch"))
}

fn on_windows(mut spec: LaunchSpec, program: &str, args: &[&str]) -> LaunchSpec {
    spec.launcher = launcher(program, args);
    spec.cwd = r"C:\work".to_owned();
    spec.plugin_dirs.clear();
    spec.added_dirs = vec![r"D:\more space\".to_owned()];
    spec
}

fn lines(argv: &[OsString]) -> String {
    argv.iter().map(|w| format!("{}\n", w.to_string_lossy())).collect()
}

#[test]
fn a_plain_session() {
    insta::assert_snapshot!(lines(&unix(&plain(), FRESH())));
}

#[test]
fn a_resume_differs_in_the_conversation_only() {
    let fresh = unix(&full(), FRESH());
    let resumed = unix(&full(), Start::Resume { conversation: conversation() });
    let different: Vec<_> = fresh.iter().zip(&resumed).filter(|(a, b)| a != b).collect();
    assert_eq!(different, [(&OsString::from("--session-id"), &OsString::from("--resume"))]);
    assert_eq!(fresh.len(), resumed.len());
}

#[test]
fn a_fork_resumes_the_other_conversation_under_its_own_id() {
    let from = "0195c1de-0000-7000-8000-00000000ba5e";
    let fork = Start::Fork { conversation: conversation(), from: from.parse().unwrap() };
    let (fork, fresh) = (unix(&full(), fork), unix(&full(), FRESH()));
    let at = fork.iter().position(|word| word == "--resume").unwrap();
    let own = conversation().to_string();
    assert_eq!(
        fork[at..at + 5],
        ["--resume", from, "--fork-session", "--session-id", &own].map(OsString::from)
    );
    // Nothing else differs: what reaches the prefix is the same.
    let rest = [&fork[..at], &fork[at + 5..]].concat();
    let at = fresh.iter().position(|word| word == "--session-id").unwrap();
    assert_eq!(rest, [&fresh[..at], &fresh[at + 2..]].concat());
}

#[test]
fn every_field() {
    insta::assert_snapshot!(lines(&unix(&full(), FRESH())));
}

#[test]
fn the_forms_of_single_fields() {
    let mut out = String::new();
    let mut show = |name: &str, change: &dyn Fn(&mut LaunchSpec)| {
        let (base, mut spec) = (plain(), plain());
        change(&mut spec);
        let before = unix(&base, FRESH());
        let words: Vec<OsString> = unix(&spec, FRESH()).into_iter().filter(|w| !before.contains(w)).collect();
        writeln!(out, "{name}: {words:?}").unwrap();
    };
    show("no tools", &|s| s.tools = Some(Vec::new()));
    show("bare", &|s| s.setting_sources = SettingSources::Bare);
    show("no setting sources", &|s| s.setting_sources = SettingSources::Chosen(Vec::new()));
    show("no permissions asked", &|s| s.skip_permissions = true);
    show("a whole budget", &|s| s.max_budget_usd = Some(5.0));
    show("a small budget", &|s| s.max_budget_usd = Some(0.000_001));
    show("a wrapper", &|s| s.launcher = launcher("/usr/bin/npx", &["@anthropic-ai/claude-code"]));
    show("a script", &|s| s.launcher = launcher("/bin/sh", &["/opt/my claude.sh"]));
    show("passed on", &|s| s.extra = parse_extra(&["--name=x y".to_owned(), "--brief".to_owned()]).unwrap());
    insta::assert_snapshot!(out);
}

#[test]
fn what_could_hold_a_secret_goes_by_file() {
    let mut out = String::new();
    for f in files(&full()) {
        writeln!(out, "{} {}: {}", f.flag, f.name, String::from_utf8(f.contents).unwrap()).unwrap();
    }
    insta::assert_snapshot!(out);
    let argv = lines(&unix(&full(), FRESH()));
    for text in ["SECRET", "mcpServers", "You are terse", "is not a flag here", "description"] {
        assert!(!argv.contains(text), "{text} is in argv");
    }
}

#[test]
fn windows_batch_files_go_through_cmd() {
    let mut out = String::new();
    let mut npx = on_windows(plain(), NPX, &["@anthropic-ai/claude-code"]);
    npx.allowed = vec!["Bash(a & b | c ^ d > e)".to_owned()];
    let shim = on_windows(plain(), r"C:\Program Files\nodejs\claude.cmd", &[]);
    let exe = on_windows(full(), r"C:\Users\Ann Lee\.local\bin\claude.exe", &[]);
    for (name, spec) in [("npx", npx), ("a shim", shim), ("an executable", exe)] {
        let argv = windows(&spec).unwrap();
        writeln!(out, "{name}:\n{}= {}\n", lines(&argv), command_line(&argv)).unwrap();
    }
    insta::assert_snapshot!(out);
}

#[test]
fn what_cmd_would_change_is_refused() {
    for rule in ["Bash(echo %PATH%)", "Bash(say \"x\")", "Bash(a!b)"] {
        let mut spec = on_windows(plain(), NPX, &[]);
        spec.allowed = vec![rule.to_owned()];
        assert!(matches!(windows(&spec), Err(SpecError::Cmd { .. })), "{rule}");
        let mut spec = on_windows(plain(), r"C:\claude.exe", &[]);
        spec.allowed = vec![rule.to_owned()];
        assert!(windows(&spec).is_ok(), "{rule}");
    }
    let mut spec = on_windows(plain(), NPX, &[]);
    spec.json_schema = Some("{}".to_owned());
    assert!(windows(&spec).is_ok());
    spec.json_schema = Some(r#"{"type":"object"}"#.to_owned());
    assert!(matches!(windows(&spec), Err(SpecError::Cmd { .. })));
}

#[test]
fn the_runtime_rules_of_windows() {
    let line = |words: &[&str]| command_line(&words.iter().map(OsString::from).collect::<Vec<_>>());
    assert_eq!(line(&["a.exe", "b"]), "a.exe b");
    assert_eq!(line(&["a.exe", "", "b c"]), r#"a.exe "" "b c""#);
    assert_eq!(line(&[r#"say "x""#]), r#""say \"x\"""#);
    assert_eq!(line(&[r"a b\", r#"c\"d"#]), r#""a b\\" "c\\\"d""#);
    assert_eq!(line(&[r"a\b\"]), r"a\b\");
}

#[test]
fn too_long_is_said_before_the_start() {
    let env = |n: usize| vec![(OsString::from("LONG"), OsString::from("x".repeat(n)))];
    let argv = unix(&plain(), FRESH());
    assert_eq!(check_size(&argv, &env(100), Platform::Unix), Ok(()));
    let piece = check_size(&argv, &env(131_072), Platform::Unix).unwrap_err();
    assert!(matches!(&piece, TooBig::Piece { what, .. } if what == "LONG"), "{piece}");
    let many: Vec<_> = (0..10).flat_map(|_| env(120_000)).collect();
    assert!(matches!(check_size(&argv, &many, Platform::Unix), Err(TooBig::Total { .. })));
    let mut words = windows(&on_windows(plain(), NPX, &[])).unwrap();
    assert_eq!(check_size(&words, &env(200_000), Platform::Windows), Ok(()));
    words.push("x".repeat(8_000).into());
    assert!(matches!(check_size(&words, &[], Platform::Windows), Err(TooBig::Total { limit: 8_191, .. })));
}
