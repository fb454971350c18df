//! Reading and refusing specs.

use crate::samples::{full, launcher, plain};
use ostler_core::argv::Platform;
use ostler_core::spec::{
    Credential, LabSpec, LaunchSpec, PermissionMode, SettingSources, SpecError, full_model_id, parse_extra,
};
use serde_json::{Value, json};

/// Version 1 as it was released. A change that needs another file here is a change that older ostlers can't read.
const FULL_V1: &str = include_str!("../golden/spec-v1-full.json");
const PLAIN_V1: &str = include_str!("../golden/spec-v1-plain.json");

fn text(spec: &LaunchSpec) -> String {
    format!("{}\n", serde_json::to_string_pretty(spec).unwrap())
}

#[test]
fn the_stored_form_of_version_1() {
    assert_eq!(text(&full()), FULL_V1);
    assert_eq!(text(&plain()), PLAIN_V1);
    assert_eq!(LaunchSpec::from_json(FULL_V1).unwrap(), full());
    assert_eq!(LaunchSpec::from_json(PLAIN_V1).unwrap(), plain());
}

#[test]
fn what_a_newer_ostler_wrote_is_refused_not_guessed() {
    let mut value: Value = serde_json::from_str(PLAIN_V1).unwrap();
    value["version"] = json!(2);
    value["sandbox"] = json!("strict");
    let e = LaunchSpec::from_json(&value.to_string()).unwrap_err();
    assert!(matches!(e, SpecError::Newer { found: 2, known: 1 }), "{e}");
    assert!(e.to_string().contains("newer ostler"));
}

#[test]
fn unknown_fields_and_values_are_refused_at_every_depth() {
    let paths =
        ["", "/launcher", "/launcher/resolved", "/launcher/resolved/program", "/environment", "/cache_ttl"];
    for path in paths {
        let mut value: Value = serde_json::from_str(FULL_V1).unwrap();
        value.pointer_mut(path).unwrap().as_object_mut().unwrap().insert("unheard_of".to_owned(), json!(1));
        let e = LaunchSpec::from_json(&value.to_string()).unwrap_err();
        assert!(matches!(e, SpecError::Unreadable(_)), "{path}: {e}");
    }
    for (path, odd) in [
        ("/permission_mode", json!("relaxed")),
        ("/permission_policy", json!("sometimes")),
        ("/setting_sources", json!("none")),
        ("/environment/credential", json!("friend")),
        ("/environment/by_name/0/source", json!({"vault": "x"})),
        ("/skip_permissions", json!("true")),
        ("/cache_ttl/main", json!("2h")),
    ] {
        let mut value: Value = serde_json::from_str(FULL_V1).unwrap();
        *value.pointer_mut(path).unwrap() = odd;
        assert!(LaunchSpec::from_json(&value.to_string()).is_err(), "{path}");
    }
}

#[test]
fn a_field_at_its_default_is_not_written() {
    let value: Value = serde_json::from_str(PLAIN_V1).unwrap();
    let keys: Vec<&String> = value.as_object().unwrap().keys().collect();
    let always = [
        "cwd",
        "environment",
        "launcher",
        "model",
        "permission_mode",
        "permission_policy",
        "setting_sources",
    ];
    assert_eq!(keys.len(), always.len() + 1, "{keys:?}");
}

/// One refusal: what is changed, and what the message must say.
fn refused(change: impl Fn(&mut LaunchSpec), says: &str) {
    let mut spec = plain();
    change(&mut spec);
    let e = spec.validate(Platform::Unix).expect_err(says).to_string();
    assert!(e.contains(says), "{e:?} does not say {says:?}");
}

#[test]
fn what_must_not_be_started_is_refused_by_name() {
    let own = str::to_owned;
    refused(|s| s.model = own("opus[1m]"), "alias");
    refused(|s| s.model = own(""), "model is empty");
    refused(|s| s.model = own("--continue"), "dash");
    refused(|s| s.fallback_models = vec![own("haiku")], "alias");
    refused(|s| s.cwd = own("work"), "cwd must be an absolute path");
    refused(|s| s.added_dirs = vec![own("../x")], "added_dirs must be");
    refused(|s| s.plugin_dirs = vec![own("x")], "plugin_dirs must be");
    refused(|s| s.allowed = vec![own("Bash(a\nb)")], "control character");
    refused(|s| s.disallowed = vec![own(" ")], "disallowed is empty");
    refused(|s| s.settings = Some(own("{")), "settings is not JSON");
    refused(|s| s.mcp = vec![own("[]")], "mcp must be a JSON object");
    refused(|s| s.json_schema = Some(format!("{{\"a\":\"{}\"}}", "x".repeat(30_000))), "json_schema has");
    refused(|s| s.system_prompt = Some(String::new()), "system_prompt is empty");
    refused(|s| s.max_turns = Some(0), "max turns");
    refused(|s| s.max_budget_usd = Some(0.0), "budget");
    refused(|s| s.max_budget_usd = Some(f64::NAN), "budget");
    refused(|s| s.max_budget_usd = Some(-1.0), "budget");
    refused(|s| s.lab = Some(LabSpec::default()), "lab");
    refused(|s| s.environment.credential = Credential::Lab, "lab");
    refused(|s| s.launcher = launcher("claude", &[]), "must be an absolute path");
    refused(|s| s.launcher.command.clear(), "launcher.command is empty");
    refused(|s| s.launcher = launcher("/bin/sh", &["x.sh", "--sdk-url=ws://x"]), "--sdk-url");
    refused(
        |s| {
            s.agents = Some(own("{}"));
            s.launcher.resolved.agents_by_file = false;
        },
        "agents",
    );
    refused(
        |s| {
            s.setting_sources = SettingSources::Bare;
            s.environment.credential = Credential::Login;
        },
        "bare",
    );
}

#[test]
fn a_pass_through_list() {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let flags = parse_extra(&words("--betas=a --brief --name b")).unwrap();
    let shown: Vec<String> =
        flags.iter().map(|f| format!("{} {}", f.flag, f.value.as_deref().unwrap_or("-"))).collect();
    assert_eq!(shown, ["--betas a", "--brief -", "--name b"]);
    let says = |text: &str, part: &str| {
        let e = parse_extra(&words(text)).unwrap_err().to_string();
        assert!(e.contains(part), "{text}: {e}");
    };
    says("--brief=1", "takes no value");
    says("--betas", "needs a value");
    says("--brief --brief", "twice");
    says("--no-session-persistence", "can't be resumed");
    says("--model x", "launch spec");
    says("--frobnicate", "--betas");
    says("hello", "not a flag");
    says("--betas --continue", "dash");
}

#[test]
fn names_of_models() {
    assert_eq!(full_model_id("opus"), "claude-opus-5-5");
    assert_eq!(full_model_id("Sonnet[1m]"), "claude-sonnet-5-5[1m]");
    assert_eq!(full_model_id("claude-opus-4-8"), "claude-opus-4-8");
    assert_eq!(full_model_id("my-gateway/model"), "my-gateway/model");
}

#[test]
fn modes_by_their_words() {
    for mode in PermissionMode::ALL {
        assert_eq!(PermissionMode::from_word(mode.word()), Some(mode));
        assert_eq!(serde_json::to_value(mode).unwrap(), json!(mode.word()));
    }
    assert_eq!(PermissionMode::from_word("manual"), Some(PermissionMode::Default));
    assert_eq!(PermissionMode::from_word("yolo"), None);
}

#[test]
fn a_start_stops_when_another_pays() {
    use Credential::{ApiKey, Bedrock, Lab, Login, OauthToken};
    for (credential, source, fine) in [
        (ApiKey, Some("ANTHROPIC_API_KEY"), true),
        (ApiKey, Some("none"), false),
        (Login, Some("none"), true),
        (Login, Some("apiKeyHelper"), true),
        (Login, Some("ANTHROPIC_API_KEY"), false),
        (OauthToken, Some("ANTHROPIC_API_KEY"), false),
        (Lab, Some("ANTHROPIC_API_KEY"), true),
        (Bedrock, Some("none"), true),
        (ApiKey, None, true),
    ] {
        assert_eq!(credential.accepts(source), fine, "{credential:?} {source:?}");
    }
}
