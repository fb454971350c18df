//! What the program around the server does for a new session.
//!
//! Which `claude` is started, what of the environment it gets and which files an option names is known to the program, not to
//! this crate: it is the same for `ostler run`.

use ostler_core::spec::LaunchSpec;
use serde::Deserialize;
use std::error::Error;
use utoipa::ToSchema;

/// Makes launch specs.
pub trait Launch: Send + Sync + 'static {
    /// The launch spec for what was asked. May take as long as an installation does.
    ///
    /// # Errors
    /// What can't be meant, or can't be found.
    fn spec(&self, asked: &NewSpec) -> Result<LaunchSpec, Refused>;
}

/// Why no spec was made.
#[derive(Debug)]
pub struct Refused {
    /// Whose fault it is.
    pub fault: Fault,
    /// What happened, with its causes.
    pub source: Box<dyn Error + Send + Sync>,
    /// What to do about it.
    pub hints: Vec<String>,
}

/// Whose fault a refusal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The request's.
    Request,
    /// `claude` is missing, unsupported, or can't be started.
    Claude,
    /// The home, the store or the disk.
    Store,
}

/// Everything that decides how a new session's children start. What is left out is as `ostler run` has it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NewSpec {
    /// Working directory, absolute. Default: the server's own.
    pub cwd: Option<String>,
    /// The command line that starts Claude Code.
    pub claude: Option<String>,
    /// A full model id, or an alias that is replaced by one.
    pub model: Option<String>,
    /// Models to fall back to, in order.
    pub fallback_models: Vec<String>,
    /// `low`, `medium`, `high`, `xhigh`, `max`.
    pub effort: Option<String>,
    /// What claude asks about: `default`, `acceptEdits`, `auto`, `bypassPermissions`, `dontAsk`, `plan`.
    pub permission_mode: Option<String>,
    /// Who answers when claude asks: `ask`, `allow`, `deny`, `rules`.
    pub permission: Option<String>,
    /// A question that nobody answers for so long is denied, and its turn ends: `90s`, `2h`. Default: it waits.
    pub permission_timeout: Option<String>,
    /// Answer questions of the model, never tools or plans, with "Continue. Do not ask for confirmation.": five in a turn.
    pub auto_continue: bool,
    /// claude asks nothing at all. JSON `true` only.
    pub skip_permissions: bool,
    /// The built-in tools to offer, by name; an empty list is none.
    pub tools: Option<Vec<String>>,
    /// Rules of claude's own that allow without asking.
    pub allowed_tools: Vec<String>,
    /// Rules of claude's own that deny without asking.
    pub disallowed_tools: Vec<String>,
    /// MCP servers, each a JSON object as in a configuration file.
    pub mcp_config: Vec<serde_json::Value>,
    /// Use no MCP server but those.
    pub strict_mcp_config: bool,
    /// Further settings, a JSON object.
    pub settings: Option<serde_json::Value>,
    /// Which settings files count: `user`, `project`, `local`; an empty list is none.
    pub setting_sources: Option<Vec<String>>,
    /// No discovery of settings, hooks, skills and MCP servers.
    pub bare: bool,
    /// Directories of plugins.
    pub plugin_dirs: Vec<String>,
    /// Further directories that the tools may use.
    pub added_dirs: Vec<String>,
    /// Subagents, a JSON object.
    pub agents: Option<serde_json::Value>,
    /// The agent that the session itself is.
    pub agent: Option<String>,
    /// Replaces the system prompt.
    pub system_prompt: Option<String>,
    /// Is added to the system prompt.
    pub append_system_prompt: Option<String>,
    /// The answer's JSON schema.
    pub json_schema: Option<serde_json::Value>,
    /// How long the prompt cache is to hold: `5m` or `1h`.
    pub cache_ttl: Option<String>,
    /// Rounds of the model in one turn.
    pub max_turns: Option<u32>,
    /// Dollars that one child process may spend.
    pub max_budget_usd: Option<f64>,
    /// Who pays.
    pub credential: Option<String>,
    /// The most processes and threads that claude and all it starts may be.
    pub max_pids: Option<u32>,
    /// The most memory that they may use together, in bytes.
    pub max_memory: Option<u64>,
    /// When a turn was cut off: `show` or `continue`.
    pub on_cut: Option<String>,
    /// When the API refuses a turn for a while: `continue` or `show`.
    pub on_limit: Option<String>,
    /// Variables of the server's environment to keep (`NAME`), or to set (`NAME=VALUE`).
    pub env: Vec<String>,
    /// Flags to pass on to claude.
    pub claude_flags: Vec<String>,
    /// Talk to a scripted model that costs nothing: `true`, or a script's text.
    #[schema(value_type = Option<Object>)]
    pub lab: Option<Lab>,
}

/// A scripted model.
#[derive(Clone, Debug, PartialEq)]
pub enum Lab {
    /// The one that answers anything.
    Usual,
    /// This script.
    Script(String),
}

impl<'de> Deserialize<'de> for Lab {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::Bool(true) => Ok(Self::Usual),
            serde_json::Value::String(script) => Ok(Self::Script(script)),
            _ => Err(serde::de::Error::custom("`lab` is true, or the text of a script")),
        }
    }
}
