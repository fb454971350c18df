//! The launch spec: everything that decides how a child of a session starts.
//!
//! It is made once, when the session is created, stored whole in `session.json`, and applied again on every start,
//! because the CLI keeps neither permission mode, tools, MCP, settings nor directories over a resume (protocol page,
//! "Identity"). What it becomes is decided elsewhere: [`crate::argv`] for the command line and the files beside it,
//! [`crate::env`] for the environment.
//!
//! **Reading a spec fails closed.** Unknown fields and unknown values are refused everywhere, since a field that this
//! version doesn't know may well be the one that keeps a tool from running. So that a newer ostler can add a field
//! without shutting out an older one for nothing, a new field is written only when it isn't at its default: an older
//! reader then opens every spec that doesn't use it and refuses every spec that does. [`SPEC_VERSION`] grows only
//! when the meaning of an existing field changes.

mod environment;
mod error;
mod extra;
mod fork;
mod launcher;
mod model;
mod permission;
mod settings;
mod validate;

pub use environment::{ByName, Credential, Environment, Source};
pub use error::SpecError;
pub use extra::{ExtraFlag, parse_extra};
pub use fork::{Forked, OnMiss, Transcript};
pub use launcher::{Launcher, PinnedFile, Resolved};
pub use model::{DEFAULT_MODEL, full_model_id};
pub use permission::{PermissionMode, PermissionPolicy};
pub use settings::{SettingSource, SettingSources};
pub use validate::{MAX_SCHEMA_BYTES, MAX_WORD_BYTES};

use crate::limits::Limits;
use serde::{Deserialize, Serialize};

/// The version that this ostler writes.
pub const SPEC_VERSION: u32 = 1;

/// Everything that decides how a child starts.
///
/// Paths are absolute. Texts that could hold a secret (settings, MCP, agents, prompts) are kept here, in a file that
/// only its owner can read, and reach the child as files; never in argv.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchSpec {
    /// [`SPEC_VERSION`] of its writer.
    pub version: u32,
    /// What is executed.
    pub launcher: Launcher,
    /// Full model id, with `[1m]` where it is asked for; never an alias, for aliases change with the CLI's version.
    pub model: String,
    /// Full ids of the models to fall back to, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallback_models: Vec<String>,
    /// The built-in tools: None is the CLI's own set, an empty list is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Rules that allow without asking, such as `Bash(git *)`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<String>,
    /// Rules that deny without asking; a bare tool name removes the tool.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disallowed: Vec<String>,
    /// Always passed, because its default differs between versions.
    pub permission_mode: PermissionMode,
    /// `--dangerously-skip-permissions`. It wins over [`Self::permission_mode`]; the CLI refuses it as root.
    #[serde(default, skip_serializing_if = "is_false")]
    pub skip_permissions: bool,
    /// What ostler's own broker answers when the child asks.
    pub permission_policy: PermissionPolicy,
    /// A question that nobody has answered for so long is denied, milliseconds; None: it waits for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission_timeout: Option<u64>,
    /// ostler answers questions of the model itself (never a tool, never a plan), a few each turn.
    #[serde(default, skip_serializing_if = "is_false")]
    pub auto_continue: bool,
    /// MCP configurations: JSON texts, each an object with `mcpServers`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mcp: Vec<String>,
    /// Use no MCP server but those of [`Self::mcp`].
    #[serde(default, skip_serializing_if = "is_false")]
    pub strict_mcp: bool,
    /// Settings on top of those from [`Self::setting_sources`]: a JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<String>,
    /// Which settings files count.
    pub setting_sources: SettingSources,
    /// Plugins for this session only: directories or zip files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plugin_dirs: Vec<String>,
    /// Directories that the tools may use besides [`Self::cwd`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added_dirs: Vec<String>,
    /// Subagents: a JSON text, an object of name → definition. Needs a CLI that reads them from a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents: Option<String>,
    /// The agent that the session itself is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Replaces the CLI's system prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// Is added to the system prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub append_system_prompt: Option<String>,
    /// The answer's JSON schema. The only text that goes by argv: no CLI version takes it from a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json_schema: Option<String>,
    /// `low`, `medium`, `high`, `xhigh`, `max`, or what a newer CLI adds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// How long the prompt cache is asked to hold.
    #[serde(default, skip_serializing_if = "CacheTtl::is_default")]
    pub cache_ttl: CacheTtl,
    /// Rounds of the model in one turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// Dollars that one child may spend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_budget_usd: Option<f64>,
    /// Where the child runs: the real path, symbolic links resolved, because older CLIs find a conversation only from
    /// the directory that it was started in.
    pub cwd: String,
    /// Where the child's environment comes from.
    pub environment: Environment,
    /// Set when the session talks to the lab instead of an account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lab: Option<LabSpec>,
    /// Flags that are passed through; only reviewed ones, see [`parse_extra`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Vec<ExtraFlag>,
    /// How long its controllers wait for what.
    #[serde(default, skip_serializing_if = "Limits::is_default")]
    pub limits: Limits,
    /// What follows when a crash cut a turn off.
    #[serde(default, skip_serializing_if = "OnCut::is_default")]
    pub on_cut: OnCut,
    /// What follows when the API refused a turn for a while.
    #[serde(default, skip_serializing_if = "OnLimit::is_default")]
    pub on_limit: OnLimit,
    /// What one child and everything that it starts may use, where the machine can hold them to it.
    #[serde(default, skip_serializing_if = "Caps::is_default")]
    pub caps: Caps,
    /// The git worktree that ostler made for the session; [`Self::cwd`] is in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<Worktree>,
    /// What the session is a fork of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork: Option<Forked>,
}

/// What follows when the API refused a turn for a while (a rate limit).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnLimit {
    /// ostler asks the model to go on as soon as the limit is over.
    #[default]
    Continue,
    /// It is shown; people send something.
    Show,
}

impl OnLimit {
    /// True when nothing was set.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What follows when a message is in the transcript, but its turn was cut off by a crash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnCut {
    /// People are told.
    #[default]
    Show,
    /// A new message, marked as ostler's own, asks the model to go on.
    Continue,
}

impl OnCut {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What a process tree may use at most; None is no limit of ostler's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Caps {
    /// Processes and threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pids: Option<u32>,
    /// Bytes of memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
}

impl Caps {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A git worktree that ostler made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Worktree {
    /// Its top directory.
    pub path: String,
    /// The top directory of the working tree that it was made from.
    pub repository: String,
    /// Its branch.
    pub branch: String,
    /// The commit that the branch began at.
    pub base: String,
}

/// How long the prompt cache is asked to hold, for each of the CLI's two lanes; None leaves it to the CLI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheTtl {
    /// The main conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub main: Option<Ttl>,
    /// Everything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagents: Option<Ttl>,
}

impl CacheTtl {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The two lives that a cache entry can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Ttl {
    /// Five minutes.
    #[serde(rename = "5m")]
    FiveMinutes,
    /// An hour; written at a higher price.
    #[serde(rename = "1h")]
    OneHour,
}

impl Ttl {
    /// The word that the CLI's variables take.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::FiveMinutes => "5m",
            Self::OneHour => "1h",
        }
    }

    /// How long that is, in milliseconds.
    #[must_use]
    pub const fn ms(self) -> i64 {
        match self {
            Self::FiveMinutes => 5 * 60_000,
            Self::OneHour => 3_600_000,
        }
    }
}

/// A session on the lab. The port is never stored: each start takes the address of whatever lab runs then.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabSpec {
    /// The script's text; None is the lab's own default behaviour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
}

impl LaunchSpec {
    /// A spec with everything optional left out: permission mode `default`, policy `ask`, all setting sources.
    #[must_use]
    pub fn new(launcher: Launcher, model: &str, cwd: &str, environment: Environment) -> Self {
        Self {
            version: SPEC_VERSION,
            launcher,
            model: model.to_owned(),
            fallback_models: Vec::new(),
            tools: None,
            allowed: Vec::new(),
            disallowed: Vec::new(),
            permission_mode: PermissionMode::Default,
            skip_permissions: false,
            permission_policy: PermissionPolicy::Ask,
            permission_timeout: None,
            auto_continue: false,
            mcp: Vec::new(),
            strict_mcp: false,
            settings: None,
            setting_sources: SettingSources::Full,
            plugin_dirs: Vec::new(),
            added_dirs: Vec::new(),
            agents: None,
            agent: None,
            system_prompt: None,
            append_system_prompt: None,
            json_schema: None,
            effort: None,
            cache_ttl: CacheTtl::default(),
            max_turns: None,
            max_budget_usd: None,
            cwd: cwd.to_owned(),
            environment,
            lab: None,
            extra: Vec::new(),
            limits: Limits::default(),
            on_cut: OnCut::default(),
            on_limit: OnLimit::default(),
            caps: Caps::default(),
            worktree: None,
            fork: None,
        }
    }

    /// Reads a stored spec.
    ///
    /// # Errors
    /// [`SpecError::Newer`] when a newer ostler wrote it, [`SpecError::Unreadable`] when a field is missing, unknown
    /// or has a value that this version doesn't know. Nothing is guessed.
    pub fn from_json(text: &str) -> Result<Self, SpecError> {
        /// The one field that every version can read.
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        let Versioned { version } = serde_json::from_str(text).map_err(SpecError::Unreadable)?;
        if version > SPEC_VERSION {
            return Err(SpecError::Newer { found: version, known: SPEC_VERSION });
        }
        serde_json::from_str(text).map_err(SpecError::Unreadable)
    }
}

/// For fields that are only written when they are set.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
const fn is_false(b: &bool) -> bool {
    !*b
}
