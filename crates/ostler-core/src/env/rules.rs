//! The list: which variables a child gets, and why. Data first, then how it is read.

use super::EnvError;
use crate::argv::Platform;
use crate::spec::Credential;
use std::ffi::OsString;

/// How a variable is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Store the value.
    Value,
    /// Store the value, less the virtual environment's entry.
    Path,
    /// Store the name only.
    Secret {
        /// Start without it when it isn't there.
        optional: bool,
    },
    /// Leave it out.
    Drop,
}

/// A class and its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) class: Class,
    pub(super) why: String,
}

/// Where programs are looked for when the creator has no `PATH`.
pub(super) const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

const V: Class = Class::Value;
const S: Class = Class::Secret { optional: false };
const O: Class = Class::Secret { optional: true };

const BASICS: &str = "programs need it";
const LANGUAGE: &str = "language and time";
const FOLDERS: &str = "where programs keep their files";
const NETWORK: &str = "how the network is reached";
const CERTS: &str = "which certificates are trusted";
const TUNING: &str = "a setting of Claude Code that you made";
const WINDOWS: &str = "Windows programs need it";

/// Names (or beginnings, with a `*` at the end) that are kept for every session on an account.
const KEPT: &[(&str, Class, &str)] = &[
    ("HOME", V, BASICS),
    ("LOGNAME", V, BASICS),
    ("PATH", Class::Path, "programs are found by it"),
    ("SHELL", V, BASICS),
    ("SSH_AUTH_SOCK", O, "git over ssh; it changes with every login, so it is looked up at each start"),
    ("TERM", V, BASICS),
    ("USER", V, BASICS),
    ("LANG", V, LANGUAGE),
    ("LANGUAGE", V, LANGUAGE),
    ("LC_*", V, LANGUAGE),
    ("TZ", V, LANGUAGE),
    ("TEMP", V, FOLDERS),
    ("TMP", V, FOLDERS),
    ("TMPDIR", V, FOLDERS),
    ("XDG_CACHE_HOME", V, FOLDERS),
    ("XDG_CONFIG_DIRS", V, FOLDERS),
    ("XDG_CONFIG_HOME", V, FOLDERS),
    ("XDG_DATA_DIRS", V, FOLDERS),
    ("XDG_DATA_HOME", V, FOLDERS),
    ("XDG_RUNTIME_DIR", V, FOLDERS),
    ("XDG_STATE_HOME", V, FOLDERS),
    ("CURL_CA_BUNDLE", V, CERTS),
    ("GIT_SSL_CAINFO", V, CERTS),
    ("NODE_EXTRA_CA_CERTS", V, CERTS),
    ("REQUESTS_CA_BUNDLE", V, CERTS),
    ("SSL_CERT_DIR", V, CERTS),
    ("SSL_CERT_FILE", V, CERTS),
    ("CLAUDE_CODE_CERT_STORE", V, CERTS),
    ("CLAUDE_CODE_CLIENT_CERT", V, CERTS),
    ("CLAUDE_CODE_CLIENT_KEY", V, CERTS),
    ("CLAUDE_CODE_CLIENT_KEY_PASSPHRASE", S, CERTS),
    ("API_TIMEOUT_MS", V, TUNING),
    ("BASH_DEFAULT_TIMEOUT_MS", V, TUNING),
    ("BASH_MAX_OUTPUT_LENGTH", V, TUNING),
    ("BASH_MAX_TIMEOUT_MS", V, TUNING),
    ("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", V, TUNING),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", V, TUNING),
    ("CLAUDE_CODE_GIT_BASH_PATH", V, TUNING),
    ("CLAUDE_CODE_MAX_OUTPUT_TOKENS", V, TUNING),
    ("CLAUDE_CODE_MAX_RETRIES", V, TUNING),
    ("CLAUDE_CODE_PROXY_RESOLVES_HOSTS", V, TUNING),
    ("CLAUDE_CODE_SHELL", V, TUNING),
    ("DISABLE_ERROR_REPORTING", V, TUNING),
    ("DISABLE_PROMPT_CACHING*", V, TUNING),
    ("DISABLE_TELEMETRY", V, TUNING),
    ("MAX_MCP_OUTPUT_TOKENS", V, TUNING),
    ("MAX_THINKING_TOKENS", V, TUNING),
    ("MCP_TIMEOUT", V, TUNING),
    ("MCP_TOOL_TIMEOUT", V, TUNING),
    ("CLAUDE_CONFIG_DIR", V, "where Claude Code keeps its login, settings and transcripts"),
];

/// Kept on Windows only.
const KEPT_WINDOWS: &[(&str, Class, &str)] = &[
    ("ALLUSERSPROFILE", V, WINDOWS),
    ("APPDATA", V, WINDOWS),
    ("COMPUTERNAME", V, WINDOWS),
    ("COMSPEC", V, WINDOWS),
    ("HOMEDRIVE", V, WINDOWS),
    ("HOMEPATH", V, WINDOWS),
    ("LOCALAPPDATA", V, WINDOWS),
    ("NUMBER_OF_PROCESSORS", V, WINDOWS),
    ("OS", V, WINDOWS),
    ("PATHEXT", V, WINDOWS),
    ("PROCESSOR_ARCHITECTURE", V, WINDOWS),
    ("PROGRAMDATA", V, WINDOWS),
    ("PROGRAMFILES*", V, WINDOWS),
    ("PROGRAMW6432", V, WINDOWS),
    ("PUBLIC", V, WINDOWS),
    ("SYSTEMDRIVE", V, WINDOWS),
    ("SYSTEMROOT", V, WINDOWS),
    ("USERDOMAIN", V, WINDOWS),
    ("USERNAME", V, WINDOWS),
    ("USERPROFILE", V, WINDOWS),
    ("WINDIR", V, WINDOWS),
];

/// Kept on an account; a lab is on loopback and must not be reached through a proxy.
const PROXIES: &[&str] = &["ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"];

/// What belongs to each credential. A variable that belongs to others only is dropped: a key that is merely lying
/// about must not change who pays.
const PAYING: &[(&str, Class, &[Credential])] = &[
    ("ANTHROPIC_API_KEY", S, &[Credential::ApiKey]),
    ("ANTHROPIC_AUTH_TOKEN", S, &[Credential::AuthToken]),
    ("CLAUDE_CODE_OAUTH_TOKEN", S, &[Credential::OauthToken]),
    // The address and the key were set together. Dropping the one would send the other to somebody it isn't for.
    (
        "ANTHROPIC_BASE_URL",
        V,
        &[Credential::ApiKey, Credential::AuthToken, Credential::OauthToken, Credential::Login],
    ),
    ("ANTHROPIC_CUSTOM_HEADERS", S, &[Credential::ApiKey, Credential::AuthToken]),
    ("ANTHROPIC_BETAS", V, &[Credential::ApiKey, Credential::AuthToken]),
    ("CLAUDE_CODE_USE_BEDROCK", V, &[Credential::Bedrock]),
    ("CLAUDE_CODE_SKIP_BEDROCK_AUTH", V, &[Credential::Bedrock]),
    ("ANTHROPIC_BEDROCK_BASE_URL", V, &[Credential::Bedrock]),
    ("AWS_ACCESS_KEY_ID", O, &[Credential::Bedrock]),
    ("AWS_BEARER_TOKEN_BEDROCK", O, &[Credential::Bedrock]),
    ("AWS_CONFIG_FILE", V, &[Credential::Bedrock]),
    ("AWS_DEFAULT_REGION", V, &[Credential::Bedrock]),
    ("AWS_PROFILE", V, &[Credential::Bedrock]),
    ("AWS_REGION", V, &[Credential::Bedrock]),
    ("AWS_ROLE_ARN", V, &[Credential::Bedrock]),
    ("AWS_SECRET_ACCESS_KEY", O, &[Credential::Bedrock]),
    ("AWS_SESSION_TOKEN", O, &[Credential::Bedrock]),
    ("AWS_SHARED_CREDENTIALS_FILE", V, &[Credential::Bedrock]),
    ("AWS_WEB_IDENTITY_TOKEN_FILE", V, &[Credential::Bedrock]),
    ("CLAUDE_CODE_USE_VERTEX", V, &[Credential::Vertex]),
    ("CLAUDE_CODE_SKIP_VERTEX_AUTH", V, &[Credential::Vertex]),
    ("ANTHROPIC_VERTEX_BASE_URL", V, &[Credential::Vertex]),
    ("ANTHROPIC_VERTEX_PROJECT_ID", V, &[Credential::Vertex]),
    ("CLOUD_ML_REGION", V, &[Credential::Vertex]),
    ("GCLOUD_PROJECT", V, &[Credential::Vertex]),
    ("GOOGLE_APPLICATION_CREDENTIALS", V, &[Credential::Vertex]),
    ("GOOGLE_CLOUD_PROJECT", V, &[Credential::Vertex]),
    ("VERTEX_REGION_*", V, &[Credential::Vertex]),
    ("CLAUDE_CODE_USE_FOUNDRY", V, &[Credential::Foundry]),
    ("CLAUDE_CODE_SKIP_FOUNDRY_AUTH", V, &[Credential::Foundry]),
    ("ANTHROPIC_FOUNDRY_API_KEY", O, &[Credential::Foundry]),
    ("ANTHROPIC_FOUNDRY_BASE_URL", V, &[Credential::Foundry]),
    ("ANTHROPIC_FOUNDRY_RESOURCE", V, &[Credential::Foundry]),
    ("AZURE_CLIENT_ID", V, &[Credential::Foundry]),
    ("AZURE_CLIENT_SECRET", O, &[Credential::Foundry]),
    ("AZURE_TENANT_ID", V, &[Credential::Foundry]),
];

/// Left out with a better reason than "not on the list".
const DROPPED: &[(&str, &str)] = &[
    ("CLAUDECODE", "marks a nested session; some versions refuse to start or print nothing under it"),
    ("OSTLER", "the program that an outer session was given"),
    ("OSTLER_*", "a marker of an outer session, or a setting of ostler's own"),
    ("VIRTUAL_ENV*", "the virtual environment of whoever started ostler"),
    ("NODE_OPTIONS", "it changes or breaks a Node program, and with it a claude that runs on Node"),
    ("DEBUG", "debug output could land in the stream"),
    ("ANTHROPIC_LOG", "debug output could land in the stream"),
    ("ENABLE_PROMPT_CACHING_1H*", "the launch spec's cache TTL decides"),
    ("FORCE_PROMPT_CACHING_5M", "the launch spec's cache TTL decides"),
    ("CLAUDE_CODE_PROMPT_CACHE_TTL", "the launch spec's cache TTL decides"),
    ("CLAUDE_CODE_SUBAGENT_PROMPT_CACHE_TTL", "the launch spec's cache TTL decides"),
    ("ANTHROPIC_MODEL", "the launch spec's model decides"),
    ("ANTHROPIC_DEFAULT_*", "the launch spec's model decides"),
    ("ANTHROPIC_SMALL_FAST_MODEL", "the launch spec's model decides"),
    ("IS_SANDBOX", "it lets root skip all permissions; name it to keep it"),
    (
        "CLAUDE_CODE_*",
        "set by a host such as an editor, the desktop app or an outer session; name it to keep it",
    ),
    ("CLAUDE_*", "set by a host such as an editor, the desktop app or an outer session; name it to keep it"),
];

/// Variables that nobody may set for a child but ostler.
const RESERVED: &[(&str, &str)] = &[
    ("CLAUDECODE", "it marks a nested session"),
    ("OSTLER", "this name is ostler's own"),
    ("OSTLER_*", "these names are ostler's own"),
    ("DISABLE_AUTOUPDATER", "the updater is always off, or the binary would change under the session"),
    ("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "it is always on: turns are settled by it"),
    ("CLAUDE_CODE_PROMPT_CACHE_TTL", "use the launch spec's cache TTL"),
    ("CLAUDE_CODE_SUBAGENT_PROMPT_CACHE_TTL", "use the launch spec's cache TTL"),
];

/// What the list says about a variable.
pub(super) fn verdict(name: &str, credential: Credential, platform: Platform) -> Verdict {
    let is = |pattern: &str| matches(pattern, name, platform);
    if let Some((_, class, owners)) = PAYING.iter().find(|(p, _, _)| is(p)) {
        return if owners.contains(&credential) {
            Verdict { class: *class, why: format!("belongs to the credential {}", credential.word()) }
        } else {
            Verdict {
                class: Class::Drop,
                why: format!("the session pays by {}; this belongs to another credential", credential.word()),
            }
        };
    }
    if let Some(p) = PROXIES.iter().find(|p| p.eq_ignore_ascii_case(name)) {
        return if credential == Credential::Lab {
            Verdict { class: Class::Drop, why: format!("the lab is on this machine: no {p}") }
        } else {
            Verdict { class: Class::Value, why: NETWORK.to_owned() }
        };
    }
    if credential == Credential::Lab && is("CLAUDE_CONFIG_DIR") {
        return Verdict {
            class: Class::Drop,
            why: "the lab has a configuration directory of its own".to_owned(),
        };
    }
    let windows: &[(&str, Class, &str)] = if platform == Platform::Windows { KEPT_WINDOWS } else { &[] };
    if let Some((_, class, why)) = KEPT.iter().chain(windows).find(|(p, _, _)| is(p)) {
        return Verdict { class: *class, why: (*why).to_owned() };
    }
    let why = DROPPED
        .iter()
        .find(|(p, _)| is(p))
        .map_or("not on the list of what a child gets; name it to keep it", |(_, why)| *why);
    Verdict { class: Class::Drop, why: why.to_owned() }
}

/// The variable that a credential can't do without.
pub(super) const fn needs(credential: Credential) -> Option<&'static str> {
    match credential {
        Credential::ApiKey => Some("ANTHROPIC_API_KEY"),
        Credential::AuthToken => Some("ANTHROPIC_AUTH_TOKEN"),
        Credential::OauthToken => Some("CLAUDE_CODE_OAUTH_TOKEN"),
        Credential::Bedrock => Some("CLAUDE_CODE_USE_BEDROCK"),
        Credential::Vertex => Some("CLAUDE_CODE_USE_VERTEX"),
        Credential::Foundry => Some("CLAUDE_CODE_USE_FOUNDRY"),
        Credential::Login | Credential::Lab => None,
    }
}

/// Whether a variable is one of those that decide who pays or where the requests go.
pub(super) fn is_paying(name: &str, platform: Platform) -> bool {
    PAYING.iter().any(|(p, _, _)| matches(p, name, platform))
}

/// Whether a variable is one that leads the network through a proxy.
pub(super) fn is_proxy(name: &str) -> bool {
    PROXIES.iter().any(|p| p.eq_ignore_ascii_case(name))
}

/// Refuses names that only ostler sets.
pub(super) fn reserved(name: &str, platform: Platform) -> Result<(), EnvError> {
    match RESERVED.iter().find(|(p, _)| matches(p, name, platform)) {
        Some((_, why)) => Err(EnvError::Reserved { name: name.to_owned(), why }),
        None => Ok(()),
    }
}

/// A name that says that its value is a secret.
pub(super) fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let listed = PAYING.iter().any(|(p, class, _)| matches!(class, Class::Secret { .. }) && *p == name);
    let telling = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS"];
    listed || name.split('_').any(|part| telling.contains(&part))
}

/// An address with a user's password in it.
pub(super) fn holds_password(value: &str) -> bool {
    value
        .split_once("://")
        .is_some_and(|(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or("").contains('@'))
}

/// `PATH` without the programs of a virtual environment; and the entry that was taken out.
pub(super) fn clean_path(
    path: &str,
    parent: &[(OsString, OsString)],
    platform: Platform,
) -> (String, Option<String>) {
    let Some(venv) =
        super::lookup(parent, "VIRTUAL_ENV", platform).and_then(|v| v.to_str()).filter(|v| !v.is_empty())
    else {
        return (path.to_owned(), None);
    };
    let separator = platform.path_list_separator();
    let bins = ["bin", "Scripts"].map(|b| format!("{}{}{b}", trimmed(venv), platform.separator()));
    let is_venv = |entry: &&str| bins.iter().any(|b| same_path(b, trimmed(entry), platform));
    let removed = path.split(separator).find(is_venv).map(str::to_owned);
    let kept: Vec<&str> = path.split(separator).filter(|e| !is_venv(e)).collect();
    (kept.join(&separator.to_string()), removed)
}

fn trimmed(path: &str) -> &str {
    path.trim_end_matches(['/', '\\'])
}

fn same_path(a: &str, b: &str, platform: Platform) -> bool {
    match platform {
        Platform::Unix => a == b,
        Platform::Windows => a.replace('/', "\\").eq_ignore_ascii_case(&b.replace('/', "\\")),
    }
}

/// Names are the same on Windows whatever their case.
pub(super) fn same(a: &str, b: &str, platform: Platform) -> bool {
    match platform {
        Platform::Unix => a == b,
        Platform::Windows => a.eq_ignore_ascii_case(b),
    }
}

fn matches(pattern: &str, name: &str, platform: Platform) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.get(..start.len()).is_some_and(|head| same(start, head, platform)),
        None => same(pattern, name, platform),
    }
}
