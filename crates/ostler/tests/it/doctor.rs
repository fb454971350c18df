//! `doctor`'s findings.

use super::fake_machine::{Machine, claude};
use ostler::doctor::{Context, Finding, Kind, Report, Status, examine};
use std::path::Path;

fn report(m: &Machine) -> Report {
    report_on(m, &m.path("home/ostler"))
}

fn report_on(m: &Machine, home: &Path) -> Report {
    examine(&Context { env: &m.env, cwd: &m.path("work"), home, command: None })
}

fn finding<'a>(report: &'a Report, id: &str) -> &'a Finding {
    report.findings.iter().find(|f| f.id == id).unwrap_or_else(|| panic!("no {id} in {report:#?}"))
}

#[test]
fn a_machine_with_claude() {
    let m = Machine::new();
    m.program("bin/claude", &claude("2.1.332"));
    let report = report(&m);
    let found = finding(&report, "claude");
    assert_eq!(found.status, Status::Ok);
    assert!(found.what.contains("2.1.332") && found.what.contains("PATH"), "{found:?}");
    assert_eq!(finding(&report, "home.file_system").status, Status::Ok);
    for id in ["home.disk", "limits.inotify", "limits.open_files", "limits.memory", "account.root"] {
        assert!(!finding(&report, id).what.is_empty());
    }
    assert!(finding(&report, "account.credential").what.contains("login"));
}

#[test]
fn every_finding_that_is_not_fine_says_why_and_what_to_do() {
    let mut m = Machine::new();
    m.set("CLAUDECODE", "1");
    m.program("bin/claude", &claude("2.0.1"));
    let report = report(&m);
    assert_eq!(report.status, Status::Fail);
    assert_eq!(finding(&report, "claude").status, Status::Fail);
    assert_eq!(finding(&report, "account.nested").status, Status::Warn);
    for f in &report.findings {
        let fine = f.status == Status::Ok;
        assert_eq!((f.why.is_empty(), f.advice.is_empty()), (fine, fine), "{f:?}");
    }
}

#[test]
fn without_claude_it_depends_on_npm() {
    let m = Machine::new();
    let none = report(&m);
    assert_eq!(finding(&none, "claude").status, Status::Fail);
    assert!(finding(&none, "claude").advice.contains("https://"));
    assert!(none.installations.is_empty());
    m.program("bin/npm", "#!/bin/sh\nexit 1\n");
    let some = report(&m);
    assert_eq!(finding(&some, "claude").status, Status::Ok);
    assert!(finding(&some, "claude").what.contains("will install 2.1.332"));
    assert!(!m.path("cache/ostler").exists(), "doctor installs nothing");
}

#[test]
fn every_installation_is_listed_once_with_its_version() {
    let mut m = Machine::new();
    let native = m.program("home/.local/share/claude/versions/2.1.320", &claude("2.1.320"));
    std::fs::create_dir_all(m.path("home/.local/bin")).unwrap();
    let link = m.path("home/.local/bin/claude");
    assert!(
        std::process::Command::new("/bin/ln").arg("-s").args([&native, &link]).status().unwrap().success()
    );
    m.program("bin/claude", &claude("2.1.321"));
    m.program("prefix/bin/npm", "#!/bin/sh\n");
    m.program("prefix/bin/claude", "#!/bin/sh\necho no >&2\nexit 1\n");
    let host = m.program("host/claude", &claude("2.1.323"));
    m.program(
        "cache/ostler/claude/2.1.300/node_modules/@anthropic-ai/claude-code-x/claude",
        &claude("2.1.300"),
    );
    let path = format!("{}:{}", m.text("bin"), m.text("prefix/bin"));
    m.set("PATH", path);
    m.set("CLAUDE_CODE_EXECPATH", &host);
    let seen: Vec<_> = report(&m)
        .installations
        .into_iter()
        .map(|i| (i.kind, i.version.unwrap_or_else(|| i.note.unwrap_or_default())))
        .collect();
    let versions: Vec<(Kind, &str)> = seen.iter().map(|(k, v)| (*k, v.as_str())).collect();
    assert_eq!(versions[0], (Kind::Path, "2.1.321"));
    assert!(versions[1].0 == Kind::Path && versions[1].1.contains("no"), "{:?}", versions[1]);
    assert_eq!(
        versions[2..],
        [(Kind::Host, "2.1.323"), (Kind::Native, "2.1.320"), (Kind::OstlerCache, "2.1.300")]
    );
}

#[test]
fn the_printed_form_has_these_fields() {
    let mut m = Machine::new();
    m.set("CLAUDECODE", "1");
    m.program("bin/claude", &claude("2.1.332"));
    let value = serde_json::to_value(report(&m)).unwrap();
    let nested = value["findings"].as_array().unwrap().iter().find(|f| f["id"] == "account.nested").unwrap();
    let mut keys: Vec<_> = nested.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["do", "id", "status", "what", "why"]);
    assert_eq!(nested["status"], "warn");
    assert_eq!(value["installations"][0]["kind"], "path");
    assert_eq!(value["installations"][0]["version"], "2.1.332");
}

#[test]
fn a_home_that_is_not_there_yet_is_judged_by_what_is() {
    let m = Machine::new();
    let report = report_on(&m, &m.path("home/a/b/c"));
    assert_eq!(finding(&report, "home.file_system").status, Status::Ok);
}
