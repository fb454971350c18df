//! Specs that several tests start from.

use ostler_core::ids::ConversationId;
use ostler_core::spec::{
    ByName, CacheTtl, Credential, Environment, ExtraFlag, LaunchSpec, Launcher, PermissionMode,
    PermissionPolicy, PinnedFile, Resolved, SettingSource, SettingSources, Source, Ttl,
};
use std::collections::BTreeMap;

pub(crate) const CONVERSATION: &str = "0195c1de-0000-7000-8000-000000000001";

pub(crate) fn conversation() -> ConversationId {
    CONVERSATION.parse().unwrap()
}

pub(crate) fn pinned(path: &str) -> PinnedFile {
    PinnedFile {
        path: path.to_owned(),
        sha256: "a2df1f41bb00250992926420d0063f89b127cb81abdd284dbefb80c50ff1d026".to_owned(),
        size: 402_325_736,
        mtime_ns: 1_796_053_215_000_000_000,
    }
}

pub(crate) fn launcher(program: &str, args: &[&str]) -> Launcher {
    let args: Vec<String> = args.iter().map(|a| (*a).to_owned()).collect();
    Launcher {
        command: std::iter::once(program.to_owned()).chain(args.clone()).collect(),
        resolved: Resolved {
            env: Vec::new(),
            program: pinned(program),
            args,
            scripts: Vec::new(),
            version: "2.1.332".to_owned(),
            agents_by_file: true,
        },
    }
}

pub(crate) fn environment(credential: Credential) -> Environment {
    let values = [("HOME", "/home/ann"), ("PATH", "/usr/bin:/bin")];
    let values = values.map(|(n, v)| (n.to_owned(), v.to_owned())).into_iter().collect::<BTreeMap<_, _>>();
    let by_name = match credential {
        Credential::ApiKey => vec![ByName {
            name: "ANTHROPIC_API_KEY".to_owned(),
            source: Source::Env("ANTHROPIC_API_KEY".to_owned()),
            optional: false,
        }],
        _ => Vec::new(),
    };
    Environment { credential, values, by_name }
}

/// Nothing but what must be there.
pub(crate) fn plain() -> LaunchSpec {
    let launcher = launcher("/opt/claude/claude", &[]);
    LaunchSpec::new(launcher, "claude-opus-5-5", "/srv/work", environment(Credential::ApiKey))
}

/// Every field is set.
pub(crate) fn full() -> LaunchSpec {
    let text = |s: &str| Some(s.to_owned());
    let mut spec = plain();
    spec.launcher.resolved.env = vec![("FOO".to_owned(), "1".to_owned())];
    spec.launcher.command.insert(0, "FOO=1".to_owned());
    spec.model = "claude-opus-5-5[1m]".to_owned();
    spec.fallback_models = vec!["claude-sonnet-5-5".to_owned(), "claude-haiku-5-5".to_owned()];
    spec.tools = Some(vec!["Bash".to_owned(), "Read".to_owned()]);
    spec.allowed = vec!["Bash(git log:*)".to_owned(), "Edit".to_owned()];
    spec.disallowed = vec!["WebFetch".to_owned()];
    spec.permission_mode = PermissionMode::AcceptEdits;
    spec.skip_permissions = true;
    spec.permission_policy = PermissionPolicy::Deny;
    spec.mcp = vec![r#"{"mcpServers":{"a":{"command":"a"}}}"#.to_owned(), r#"{"mcpServers":{}}"#.to_owned()];
    spec.strict_mcp = true;
    spec.settings = text(r#"{"env":{"SECRET":"x"}}"#);
    spec.setting_sources = SettingSources::Chosen(vec![SettingSource::Local, SettingSource::User]);
    spec.plugin_dirs = vec!["/opt/plugins/one".to_owned(), "/opt/plugins/two.zip".to_owned()];
    spec.added_dirs = vec!["/srv/more space".to_owned()];
    spec.agents = text(r#"{"rev":{"description":"d","prompt":"p"}}"#);
    spec.agent = text("rev");
    spec.system_prompt = text("You are terse.\nVery.");
    spec.append_system_prompt = text("--continue is not a flag here");
    spec.json_schema = text("{\n  \"type\": \"object\",\n  \"properties\": { \"b\": {}, \"a b\": {} }\n}");
    spec.effort = text("high");
    spec.cache_ttl = CacheTtl { main: Some(Ttl::OneHour), subagents: Some(Ttl::FiveMinutes) };
    spec.max_turns = Some(12);
    spec.max_budget_usd = Some(0.1 + 0.2);
    spec.extra = vec![
        ExtraFlag { flag: "--betas".to_owned(), value: text("context-1m") },
        ExtraFlag { flag: "--no-chrome".to_owned(), value: None },
    ];
    spec
}
