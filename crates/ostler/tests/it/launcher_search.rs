//! Where `claude` is looked for, and in which order.

use super::fake_machine::{Machine, claude, told};
use ostler::launcher::{Hidden, LauncherError, Origin, seen_on_path};

/// One at every place, each with a version of its own.
fn everywhere() -> Machine {
    let mut m = Machine::new();
    for (place, version) in
        [("option", "2.1.301"), ("variable", "2.1.302"), ("config", "2.1.303"), ("bin", "2.1.304")]
    {
        m.program(&format!("{place}/claude"), &claude(version));
    }
    let package = "cache/ostler/claude/2.1.332/node_modules/@anthropic-ai/claude-code";
    for os in ["linux-x64", "linux-arm64", "linux-x64-musl", "linux-arm64-musl"] {
        m.program(&format!("{package}-{os}/claude"), &claude("2.1.332"));
    }
    std::fs::create_dir_all(m.path("home/.config/ostler")).unwrap();
    let config = format!("# mine\nclaude = {:?}\n[other]\nx = 1\n", m.text("config/claude"));
    std::fs::write(m.path("home/.config/ostler/config.toml"), config).unwrap();
    let variable = m.path("variable/claude");
    m.set("OSTLER_CLAUDE", variable);
    m
}

#[test]
fn the_order() {
    let mut m = everywhere();
    let said = |v: &str, o: &str| (v.to_owned(), o.to_owned());
    let option = m.text("option/claude");
    assert_eq!(m.who(Some(&option)), said("2.1.301", "--claude"));
    assert_eq!(m.who(None), said("2.1.302", "OSTLER_CLAUDE"));
    m.set("OSTLER_CLAUDE", "");
    let config = m.text("home/.config/ostler/config.toml");
    assert_eq!(m.who(None), said("2.1.303", &config));
    std::fs::remove_file(config).unwrap();
    assert_eq!(m.who(None), said("2.1.304", "PATH"));
    std::fs::remove_file(m.path("bin/claude")).unwrap();
    assert_eq!(m.who(None), said("2.1.332", "ostler's cache"));
    std::fs::remove_dir_all(m.path("cache")).unwrap();
    let e = m.find(None).unwrap_err();
    assert!(matches!(e, LauncherError::InstallRefused { .. }), "{e}");
    let text = told(&e);
    assert!(text.contains("--no-install") && text.contains("--claude") && text.contains("2.1.332"), "{text}");
}

#[test]
fn what_a_person_named_is_never_passed_over() {
    let mut m = everywhere();
    for bad in ["/nowhere/claude", "no-such-program", "./claude"] {
        let e = m.find(Some(bad)).unwrap_err();
        assert!(matches!(e, LauncherError::NotFound { .. }), "{bad}: {e}");
        assert!(told(&e).contains("--claude"), "{e}");
    }
    assert!(matches!(m.find(Some("  ")).unwrap_err(), LauncherError::Empty { .. }));
    assert!(matches!(m.find(Some("A=1")).unwrap_err(), LauncherError::Empty { .. }));
    assert!(matches!(m.find(Some("claude 'x")).unwrap_err(), LauncherError::Words { .. }));
    m.set("OSTLER_CLAUDE", "/nowhere/claude");
    assert!(matches!(m.find(None).unwrap_err(), LauncherError::NotFound { origin: Origin::Variable, .. }));
}

#[test]
fn a_configuration_file_that_cannot_be_used_is_an_error() {
    let mut m = Machine::new();
    m.program("bin/claude", &claude("2.1.300"));
    let path = m.path("my.toml");
    m.set("OSTLER_CONFIG", &path);
    assert!(matches!(m.find(None).unwrap_err(), LauncherError::Config { .. }), "named and not there");
    for (text, says) in [("claude = 3", "must be a string"), ("claude = ", ""), ("[[", "")] {
        std::fs::write(&path, text).unwrap();
        let e = told(&m.find(None).unwrap_err());
        assert!(e.contains("my.toml") && e.contains(says), "{e}");
    }
    std::fs::write(&path, "other = 1").unwrap();
    assert_eq!(m.who(None).0, "2.1.300");
}

#[test]
fn a_host_and_a_virtual_environment_are_passed_over() {
    let mut m = Machine::new();
    let host = m.program("host/claude", &claude("2.1.310"));
    m.program("venv/bin/claude", &claude("2.1.311"));
    m.program("own/claude", &claude("2.1.312"));
    let path = format!("{}:{}:{}", m.text("host"), m.text("venv/bin"), m.text("own"));
    m.set("PATH", path);
    assert_eq!(m.who(None).0, "2.1.310");
    m.set("CLAUDE_CODE_EXECPATH", &host);
    assert_eq!(m.who(None).0, "2.1.311");
    let venv = m.path("venv");
    m.set("VIRTUAL_ENV", venv);
    assert_eq!(m.who(None).0, "2.1.312");
    assert_eq!(m.who(Some("claude")).0, "2.1.312", "also when it is named without a path");
    let hidden: Vec<_> = seen_on_path(&m.env).into_iter().map(|s| s.hidden).collect();
    assert_eq!(hidden, [Some(Hidden::Host), Some(Hidden::VirtualEnv), None]);
}

#[test]
fn a_repository_cannot_bring_its_own() {
    let mut m = Machine::new();
    m.program("work/claude", &claude("2.1.320"));
    m.program("own/claude", &claude("2.1.321"));
    let path = format!(":.:work:{}", m.text("own"));
    m.set("PATH", path);
    assert_eq!(m.who(None).0, "2.1.321");
}

#[test]
fn what_cannot_be_executed_is_passed_over_on_path_only() {
    let mut m = Machine::new();
    std::fs::create_dir(m.path("first")).unwrap();
    std::fs::write(m.path("first/claude"), "text").unwrap();
    std::fs::create_dir_all(m.path("folder/claude")).unwrap();
    m.program("own/claude", &claude("2.1.322"));
    let path = format!("{}:{}:{}", m.text("folder"), m.text("first"), m.text("own"));
    m.set("PATH", path);
    assert_eq!(m.who(None).0, "2.1.322");
    let named = m.text("first/claude");
    let e = m.find(Some(&named)).unwrap_err();
    assert!(matches!(e, LauncherError::NotExecutable { .. }), "{e}");
    assert!(told(&e).contains("chmod +x"));
}
