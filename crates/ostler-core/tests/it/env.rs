//! The child's environment.

use crate::samples::{environment, plain};
use ostler_core::argv::Platform;
use ostler_core::env::{
    Action, ChildStart, Choice, EnvError, Identity, LabAccess, Place, capture, child_env, explain,
};
use ostler_core::ids::SessionId;
use ostler_core::spec::{ByName, CacheTtl, Credential, LabSpec, LaunchSpec, Source, Ttl};
use std::ffi::OsString;

type Env = Vec<(OsString, OsString)>;

const SESSION: &str = "0195c1de-0000-7000-8000-0000000000aa";

fn env(pairs: &[(&str, &str)]) -> Env {
    pairs.iter().map(|(n, v)| (n.into(), v.into())).collect()
}

fn start(lab: Option<LabAccess<'_>>) -> ChildStart<'_> {
    let session: SessionId = SESSION.parse().unwrap();
    let identity = Identity { session, generation: 3, token: "secret" };
    let place = Place { home: "/home/of/ostler", program: "/bin/ostler" };
    ChildStart { identity, place, lab, platform: Platform::Unix }
}

fn no_files(_: &str) -> Result<String, String> {
    Err("no such file".to_owned())
}

/// Capture and start in one, on the same environment.
fn through(parent: &Env, choice: &Choice) -> Env {
    let mut spec = plain();
    spec.environment = capture(parent, choice, Platform::Unix).unwrap();
    child_env(&spec, parent, &no_files, &start(None)).unwrap()
}

fn get<'a>(env: &'a Env, name: &str) -> Option<&'a str> {
    env.iter().find(|(n, _)| n == name).map(|(_, v)| v.to_str().unwrap())
}

fn text(env: &Env) -> String {
    env.iter().map(|(n, v)| format!("{}={}\n", n.to_str().unwrap(), v.to_str().unwrap())).collect()
}

/// What a shell inside another Claude Code session, inside a virtual environment, looks like.
fn nested() -> Env {
    env(&[
        ("PATH", "/home/ann/venv/bin:/home/ann/bin:/usr/bin:/bin"),
        ("HOME", "/home/ann"),
        ("USER", "ann"),
        ("SHELL", "/bin/zsh"),
        ("LANG", "de_DE.UTF-8"),
        ("LC_TIME", "C"),
        ("TZ", "Europe/Berlin"),
        ("TERM", "xterm-256color"),
        ("TMPDIR", "/var/tmp/ann"),
        ("XDG_CONFIG_HOME", "/home/ann/.config"),
        ("XDG_SESSION_ID", "4"),
        ("SSH_AUTH_SOCK", "/run/ssh.sock"),
        ("HTTPS_PROXY", "http://proxy:3128"),
        ("https_proxy", "http://ann:pw@proxy:3128"),
        ("NODE_EXTRA_CA_CERTS", "/etc/ca.pem"),
        ("CLAUDE_CONFIG_DIR", "/home/ann/.claude-work"),
        ("ANTHROPIC_API_KEY", "sk-secret"),
        ("ANTHROPIC_AUTH_TOKEN", "other-secret"),
        ("CLAUDE_CODE_OAUTH_TOKEN", "third-secret"),
        ("ANTHROPIC_BASE_URL", "https://gateway.example"),
        ("AWS_SECRET_ACCESS_KEY", "aws-secret"),
        ("CLAUDE_CODE_MAX_RETRIES", "2"),
        ("CLAUDECODE", "1"),
        ("CLAUDE_CODE_ENTRYPOINT", "claude-desktop"),
        ("CLAUDE_CODE_EXECPATH", "/opt/desktop/claude"),
        ("CLAUDE_CODE_MESSAGING_SOCKET", "/run/x.sock"),
        ("CLAUDE_CODE_CHILD_SESSION", "1"),
        ("CLAUDE_CODE_SSE_PORT", "5555"),
        ("VIRTUAL_ENV", "/home/ann/venv"),
        ("VIRTUAL_ENV_PROMPT", "venv"),
        ("OSTLER_SESSION", "outer"),
        ("OSTLER_HOME", "/home/ann/o"),
        ("NODE_OPTIONS", "--inspect"),
        ("DEBUG", "*"),
        ("ANTHROPIC_LOG", "debug"),
        ("ENABLE_PROMPT_CACHING_1H", "1"),
        ("ANTHROPIC_MODEL", "opus"),
        ("IS_SANDBOX", "1"),
        ("GITHUB_TOKEN", "gh-secret"),
        ("EDITOR", "vi"),
    ])
}

#[test]
fn out_of_a_nested_shell() {
    insta::assert_snapshot!(text(&through(&nested(), &Choice::default())));
}

#[test]
fn every_decision_has_its_reason() {
    let lines: String = explain(&nested(), &Choice::default(), None, Platform::Unix)
        .iter()
        .map(|d| format!("{}: {}: {}\n", d.name, d.action.word(), d.why))
        .collect();
    insta::assert_snapshot!(lines);
}

#[test]
fn explained_and_done_are_the_same() {
    let choice = Choice { keep: vec!["EDITOR".to_owned(), "GITHUB_TOKEN".to_owned()], ..Choice::default() };
    let made = through(&nested(), &choice);
    for d in explain(&nested(), &choice, None, Platform::Unix) {
        let there = get(&made, &d.name).is_some();
        let again = explain(&nested(), &choice, None, Platform::Unix);
        let any = again.iter().any(|o| o.name == d.name && o.action != Action::Dropped);
        assert_eq!(there, any, "{d:?}");
    }
    assert_eq!(explain(&nested(), &choice, None, Platform::Unix).len(), nested().len() + 7);
}

#[test]
fn no_secret_is_stored() {
    let stored = capture(&nested(), &Choice::default(), Platform::Unix).unwrap();
    let json = serde_json::to_string(&stored).unwrap();
    for secret in ["sk-secret", "other-secret", "third-secret", "aws-secret", "gh-secret", "ann:pw"] {
        assert!(!json.contains(secret), "{secret} in {json}");
    }
}

#[test]
fn one_credential_and_never_two() {
    let all = [
        ("CLAUDE_CODE_USE_BEDROCK", "1"),
        ("CLAUDE_CODE_USE_VERTEX", "1"),
        ("CLAUDE_CODE_USE_FOUNDRY", "1"),
        ("ANTHROPIC_API_KEY", "k"),
        ("ANTHROPIC_AUTH_TOKEN", "t"),
        ("CLAUDE_CODE_OAUTH_TOKEN", "o"),
    ];
    let order = [
        Credential::Bedrock,
        Credential::Vertex,
        Credential::Foundry,
        Credential::ApiKey,
        Credential::AuthToken,
        Credential::OauthToken,
        Credential::Login,
    ];
    for (from, credential) in order.into_iter().enumerate() {
        let parent = env(&all[from..]);
        let stored = capture(&parent, &Choice::default(), Platform::Unix).unwrap();
        assert_eq!(stored.credential, credential);
        let made = through(&parent, &Choice::default());
        let paying: Vec<&str> = all.iter().map(|(n, _)| *n).filter(|n| get(&made, n).is_some()).collect();
        assert_eq!(paying, all.get(from).map(|(n, _)| *n).into_iter().collect::<Vec<_>>());
    }
    let off = env(&[("CLAUDE_CODE_USE_BEDROCK", "0"), ("ANTHROPIC_API_KEY", "k")]);
    assert_eq!(capture(&off, &Choice::default(), Platform::Unix).unwrap().credential, Credential::ApiKey);
}

#[test]
fn a_chosen_credential_wins_or_fails_by_name() {
    let parent = env(&[("ANTHROPIC_API_KEY", "k")]);
    let login = Choice { credential: Some(Credential::Login), ..Choice::default() };
    assert_eq!(get(&through(&parent, &login), "ANTHROPIC_API_KEY"), None);
    let token = Choice { credential: Some(Credential::AuthToken), ..Choice::default() };
    let e = capture(&parent, &token, Platform::Unix).unwrap_err();
    assert_eq!(e, EnvError::NoCredential { credential: "auth_token", name: "ANTHROPIC_AUTH_TOKEN" });
    let from_file = Choice {
        credential: Some(Credential::AuthToken),
        secrets: vec![by_name("ANTHROPIC_AUTH_TOKEN", Source::File("/etc/token".to_owned()))],
        ..Choice::default()
    };
    assert!(capture(&parent, &from_file, Platform::Unix).is_ok());
}

fn by_name(name: &str, source: Source) -> ByName {
    ByName { name: name.to_owned(), source, optional: false }
}

fn with_secret(source: Source) -> LaunchSpec {
    let mut spec = plain();
    spec.environment = environment(Credential::Login);
    spec.environment.by_name = vec![by_name("MY_TOKEN", source)];
    spec
}

#[test]
fn secrets_are_looked_up_at_each_start() {
    let spec = with_secret(Source::Env("OUTER".to_owned()));
    for value in ["one", "two"] {
        let made = child_env(&spec, &env(&[("OUTER", value)]), &no_files, &start(None)).unwrap();
        assert_eq!(get(&made, "MY_TOKEN"), Some(value));
    }
    for parent in [env(&[]), env(&[("OUTER", "")])] {
        let e = child_env(&spec, &parent, &no_files, &start(None)).unwrap_err();
        assert!(matches!(&e, EnvError::Missing { name, .. } if name == "MY_TOKEN"), "{e}");
        assert!(e.to_string().contains("OUTER"), "{e}");
    }
}

#[test]
fn secrets_from_files() {
    let spec = with_secret(Source::File("/run/secret".to_owned()));
    let read = |path: &str| if path == "/run/secret" { Ok("s3\r\n".to_owned()) } else { Err("?".to_owned()) };
    let made = child_env(&spec, &env(&[]), &read, &start(None)).unwrap();
    assert_eq!(get(&made, "MY_TOKEN"), Some("s3"));
    let e = child_env(&spec, &env(&[]), &no_files, &start(None)).unwrap_err();
    assert!(matches!(&e, EnvError::Unreadable { why, .. } if why == "no such file"), "{e}");
    let empty = child_env(&spec, &env(&[]), &|_| Ok("\n".to_owned()), &start(None)).unwrap_err();
    assert!(matches!(empty, EnvError::Missing { .. }));
}

#[test]
fn only_what_the_spec_names_is_taken_from_the_starter() {
    let spec = plain();
    let quiet = env(&[("ANTHROPIC_API_KEY", "k")]);
    let mut noisy = nested();
    noisy.retain(|(n, _)| n != "ANTHROPIC_API_KEY");
    noisy.extend(quiet.clone());
    let make = |parent: &Env| child_env(&spec, parent, &no_files, &start(None)).unwrap();
    assert_eq!(make(&quiet), make(&noisy));
    noisy.reverse();
    assert_eq!(make(&quiet), make(&noisy), "order must not matter");
}

#[test]
fn what_goes_stale_is_optional() {
    let mut spec = plain();
    spec.environment = capture(&env(&[("SSH_AUTH_SOCK", "/a")]), &Choice::default(), Platform::Unix).unwrap();
    let made = child_env(&spec, &env(&[("SSH_AUTH_SOCK", "/b")]), &no_files, &start(None)).unwrap();
    assert_eq!(get(&made, "SSH_AUTH_SOCK"), Some("/b"));
    assert!(child_env(&spec, &env(&[]), &no_files, &start(None)).is_ok());
}

#[test]
fn the_lab_gets_nothing_that_leads_elsewhere() {
    let choice = Choice { credential: Some(Credential::Lab), ..Choice::default() };
    let mut spec = plain();
    spec.environment = capture(&nested(), &choice, Platform::Unix).unwrap();
    spec.lab = Some(LabSpec::default());
    let lab = LabAccess { base_url: "http://127.0.0.1:4711", config_dir: "/home/ann/o/lab/config" };
    let made = child_env(&spec, &nested(), &no_files, &start(Some(lab))).unwrap();
    insta::assert_snapshot!(text(&made));
    // Not even when the stored spec was tampered with.
    spec.environment.values.insert("HTTPS_PROXY".to_owned(), "http://x".to_owned());
    spec.environment.values.insert("ANTHROPIC_BASE_URL".to_owned(), "https://api.example".to_owned());
    spec.environment.values.insert("CLAUDE_CODE_USE_BEDROCK".to_owned(), "1".to_owned());
    assert_eq!(child_env(&spec, &nested(), &no_files, &start(Some(lab))).unwrap(), made);
    assert!(child_env(&spec, &nested(), &no_files, &start(None)).is_err(), "no lab, no start");
}

#[test]
fn ttl_and_markers_are_set_by_the_spec_alone() {
    let mut spec = plain();
    spec.cache_ttl = CacheTtl { main: Some(Ttl::OneHour), subagents: Some(Ttl::FiveMinutes) };
    spec.launcher.resolved.env = vec![("FOO".to_owned(), "1".to_owned())];
    let made = child_env(&spec, &env(&[("ANTHROPIC_API_KEY", "k")]), &no_files, &start(None)).unwrap();
    insta::assert_snapshot!(text(&made));
}

#[test]
fn what_a_person_may_add() {
    let parent = env(&[("EDITOR", "vi"), ("GITHUB_TOKEN", "gh"), ("IS_SANDBOX", "1")]);
    let choice = Choice {
        keep: vec!["EDITOR".to_owned(), "GITHUB_TOKEN".to_owned(), "IS_SANDBOX".to_owned()],
        set: vec![("RUST_LOG".to_owned(), "info".to_owned())],
        ..Choice::default()
    };
    let made = through(&parent, &choice);
    for (name, value) in [("EDITOR", "vi"), ("GITHUB_TOKEN", "gh"), ("IS_SANDBOX", "1"), ("RUST_LOG", "info")]
    {
        assert_eq!(get(&made, name), Some(value));
    }
    let stored = capture(&parent, &choice, Platform::Unix).unwrap();
    assert!(!stored.values.contains_key("GITHUB_TOKEN") && stored.values.contains_key("EDITOR"));
}

#[test]
fn what_a_person_may_not_add() {
    let refuse =
        |choice: Choice, parent: &[(&str, &str)]| capture(&env(parent), &choice, Platform::Unix).unwrap_err();
    let set = |n: &str, v: &str| Choice { set: vec![(n.to_owned(), v.to_owned())], ..Choice::default() };
    let keep = |n: &str| Choice { keep: vec![n.to_owned()], ..Choice::default() };
    for name in
        ["CLAUDECODE", "OSTLER_SESSION", "DISABLE_AUTOUPDATER", "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS"]
    {
        assert!(matches!(refuse(set(name, "0"), &[]), EnvError::Reserved { .. }), "{name}");
        assert!(matches!(refuse(keep(name), &[(name, "0")]), EnvError::Reserved { .. }), "{name}");
    }
    assert!(matches!(refuse(set("MY_API_KEY", "x"), &[]), EnvError::SecretValue { .. }));
    assert!(matches!(refuse(set("A=B", "x"), &[]), EnvError::BadName { .. }));
    assert!(matches!(refuse(set("A", "x\0"), &[]), EnvError::BadValue { .. }));
    assert!(matches!(refuse(keep("NOWHERE"), &[]), EnvError::NotSet { .. }));
    let relative = Choice { secrets: vec![by_name("A", Source::File("x".to_owned()))], ..Choice::default() };
    assert!(matches!(refuse(relative, &[]), EnvError::NotAbsolute { .. }));
    let mut spec = plain();
    spec.launcher.resolved.env = vec![("ANTHROPIC_API_KEY".to_owned(), "k".to_owned())];
    assert!(spec.validate(Platform::Unix).is_err(), "a key in a command line is stored and shown");
}

#[test]
fn windows_knows_no_case() {
    let parent = env(&[
        ("Path", r"C:\Users\Ann\venv\Scripts;C:\Windows"),
        ("SystemRoot", r"C:\Windows"),
        ("VIRTUAL_ENV", r"C:\Users\Ann\venv"),
        ("Anthropic_Api_Key", "k"),
        ("ClaudeCode", "1"),
        ("ProgramFiles(x86)", r"C:\Program Files (x86)"),
    ]);
    let stored = capture(&parent, &Choice::default(), Platform::Windows).unwrap();
    assert_eq!(stored.credential, Credential::ApiKey);
    assert_eq!(stored.values["Path"], r"C:\Windows");
    assert!(stored.values.contains_key("SystemRoot") && stored.values.contains_key("ProgramFiles(x86)"));
    assert!(!stored.values.contains_key("ClaudeCode"));
    assert_eq!(stored.by_name[0].name, "Anthropic_Api_Key");
}

/// Strings that aren't Unicode can only be made where they are bytes.
mod not_unicode {
    use super::{Choice, Env, EnvError, Platform, capture};
    use std::ffi::OsString;

    fn broken(text: &str) -> OsString {
        let mut bytes = text.as_bytes().to_vec();
        bytes.push(0xff);
        std::os::unix::ffi::OsStringExt::from_vec(bytes)
    }

    #[test]
    fn a_value_that_cannot_be_stored_is_named() {
        let parent: Env = vec![("LANG".into(), broken("x"))];
        let e = capture(&parent, &Choice::default(), Platform::Unix).unwrap_err();
        assert_eq!(e, EnvError::NotUtf8 { name: "LANG".to_owned() });
    }

    #[test]
    fn what_is_dropped_anyway_does_no_harm() {
        let parent: Env = vec![("ODD".into(), broken("x")), (broken("NAME"), "x".into())];
        assert!(capture(&parent, &Choice::default(), Platform::Unix).is_ok());
    }
}
