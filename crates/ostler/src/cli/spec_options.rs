//! Options about a session: they are stored with it and hold for all of its turns.

use clap::{Args, ValueEnum};
use ostler_core::spec::{Credential, OnCut, OnLimit, PermissionMode, PermissionPolicy, SettingSource, Ttl};
use std::path::PathBuf;
use std::time::Duration;

/// Options about a session.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options about the session (stored with it)")]
pub(super) struct SpecArgs {
    /// Talk to a scripted model that costs nothing, instead of an account; SCRIPT is a file
    #[arg(long, value_name = "SCRIPT", require_equals = true, num_args = 0..=1)]
    pub(super) lab: Option<Option<PathBuf>>,
    /// The command line that starts Claude Code [default: $OSTLER_CLAUDE, the configuration file, `claude` on PATH, or
    /// ostler's own copy, which it installs when there is none]
    #[arg(long, value_name = "COMMAND LINE")]
    pub(super) claude: Option<String>,
    /// Fail rather than install Claude Code
    #[arg(long)]
    pub(super) no_install: bool,
    /// A name for people
    #[arg(long, value_name = "NAME")]
    pub(super) label: Option<String>,
    /// Working directory [default: this one]
    #[arg(long, value_name = "DIR")]
    pub(super) cwd: Option<PathBuf>,
    /// Work in a git worktree of its own, on a new branch [default: ostler/ and the beginning of the session's id]
    #[arg(long, value_name = "BRANCH", require_equals = true, num_args = 0..=1)]
    pub(super) worktree: Option<Option<String>>,
    /// Model: a full id, or an alias that is replaced by one
    #[arg(long, value_name = "MODEL")]
    pub(super) model: Option<String>,
    /// Models to fall back to, in order
    #[arg(long, value_name = "MODEL", value_delimiter = ',')]
    pub(super) fallback_model: Vec<String>,
    /// low, medium, high, xhigh, max
    #[arg(long, value_name = "LEVEL")]
    pub(super) effort: Option<String>,
    /// What claude asks about
    #[arg(long, value_name = "MODE", value_parser = permission_mode)]
    pub(super) permission_mode: Option<PermissionMode>,
    /// Who answers when claude asks [default: ask; `ostler run` in a pipe denies]
    #[arg(long, value_name = "POLICY")]
    pub(super) permission: Option<PolicyChoice>,
    /// A question that nobody answers for so long is denied, and its turn ends (such as 90s, 2h) [default: it waits]
    #[arg(long, value_name = "TIME", value_parser = super::gc::age)]
    pub(super) permission_timeout: Option<Duration>,
    /// Answer questions of the model, never tools or plans, with "Continue. Do not ask for confirmation.": five in a turn
    #[arg(long)]
    pub(super) auto_continue: bool,
    /// claude asks nothing at all (its own flag of that name). claude refuses it as root
    #[arg(long, visible_alias = "dangerously-skip-permissions")]
    pub(super) skip_permissions: bool,
    /// The built-in tools to offer, by name; an empty list is none [default: claude's own set]
    #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
    pub(super) tools: Option<Vec<String>>,
    /// Rules that allow without asking, such as `Bash(git *)`
    #[arg(long, value_name = "RULE")]
    pub(super) allowed_tools: Vec<String>,
    /// Rules that deny without asking
    #[arg(long, value_name = "RULE")]
    pub(super) disallowed_tools: Vec<String>,
    /// MCP servers: a file, or JSON
    #[arg(long, value_name = "FILE")]
    pub(super) mcp_config: Vec<String>,
    /// Use no MCP server but those
    #[arg(long)]
    pub(super) strict_mcp_config: bool,
    /// Further settings: a file, or JSON
    #[arg(long, value_name = "FILE")]
    pub(super) settings: Option<String>,
    /// Which settings files count: user, project, local; an empty list is none [default: all]
    #[arg(long, value_name = "SOURCES", value_delimiter = ',', conflicts_with = "bare", value_parser = setting_source)]
    pub(super) setting_sources: Option<Vec<MaybeSource>>,
    /// No discovery of settings, hooks, skills and MCP servers, and three tools only
    #[arg(long)]
    pub(super) bare: bool,
    /// A plugin for this session
    #[arg(long, value_name = "DIR")]
    pub(super) plugin_dir: Vec<PathBuf>,
    /// A further directory that the tools may use
    #[arg(long, value_name = "DIR")]
    pub(super) add_dir: Vec<PathBuf>,
    /// Subagents: a file, or JSON
    #[arg(long, value_name = "FILE")]
    pub(super) agents: Option<String>,
    /// The agent that the session itself is
    #[arg(long, value_name = "NAME")]
    pub(super) agent: Option<String>,
    /// Replaces the system prompt
    #[arg(long, value_name = "TEXT")]
    pub(super) system_prompt: Option<String>,
    /// The same, from a file
    #[arg(long, value_name = "FILE", conflicts_with = "system_prompt")]
    pub(super) system_prompt_file: Option<PathBuf>,
    /// Is added to the system prompt
    #[arg(long, value_name = "TEXT")]
    pub(super) append_system_prompt: Option<String>,
    /// The same, from a file
    #[arg(long, value_name = "FILE", conflicts_with = "append_system_prompt")]
    pub(super) append_system_prompt_file: Option<PathBuf>,
    /// The answer's JSON schema: a file, or JSON
    #[arg(long, value_name = "FILE")]
    pub(super) json_schema: Option<String>,
    /// How long the prompt cache is to hold: 5m or 1h [default: as claude decides]
    #[arg(long, value_name = "TTL", value_parser = ttl)]
    pub(super) cache_ttl: Option<Ttl>,
    /// Rounds of the model in one turn
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) max_turns: Option<u32>,
    /// Dollars that one child process may spend
    #[arg(long, value_name = "USD")]
    pub(super) max_budget_usd: Option<f64>,
    /// Who pays [default: what the environment says, as claude decides]
    #[arg(long, value_name = "WHO", value_parser = credential)]
    pub(super) credential: Option<Credential>,
    /// The most processes and threads that claude and all that it starts may be at once, itself included. Needs a control
    /// group; refused where the machine has none to give
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) max_pids: Option<u32>,
    /// The most memory that they may use together: bytes, or with K, M, G. Whatever exceeds it is killed, and nothing
    /// outside. Needs a control group too
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(super) max_memory: Option<u64>,
    /// When claude dies in the middle of a turn, and the next one knows the message and does not run it again: show it,
    /// or continue by a message of ostler's own
    #[arg(long, value_name = "POLICY", default_value = "show")]
    pub(super) on_cut: OnCutChoice,
    /// When the API refuses a turn for a while (a rate limit): continue by a message of ostler's own as soon as it takes
    /// requests again, or only show it
    #[arg(long, value_name = "POLICY", default_value = "continue")]
    pub(super) on_limit: OnLimitChoice,
    /// Keep a variable of the environment (NAME), or set one (NAME=VALUE)
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(super) env: Vec<String>,
    /// Pass a flag on to claude: --claude-flag=--brief
    #[arg(long, value_name = "FLAG", allow_hyphen_values = true)]
    pub(super) claude_flag: Vec<String>,
}

/// Who answers when claude asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum PolicyChoice {
    /// A person: at the terminal, or by `ostler approve` and `ostler deny`
    Ask,
    /// ostler allows tools; questions still wait
    Allow,
    /// ostler denies
    Deny,
    /// ostler denies what no rule allows (`ostler rule`)
    Rules,
}

impl From<PolicyChoice> for PermissionPolicy {
    fn from(choice: PolicyChoice) -> Self {
        match choice {
            PolicyChoice::Ask => Self::Ask,
            PolicyChoice::Allow => Self::Allow,
            PolicyChoice::Deny => Self::Deny,
            PolicyChoice::Rules => Self::Rules,
        }
    }
}

/// What follows when a turn was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum OnCutChoice {
    /// People are told; the next message goes on
    Show,
    /// ostler asks the model to go on, at most twice in a row
    Continue,
}

/// What follows a turn that the API refused for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum OnLimitChoice {
    /// ostler tells the model to go on when the limit is over
    Continue,
    /// It is shown; a message of yours goes on
    Show,
}

impl From<OnLimitChoice> for OnLimit {
    fn from(choice: OnLimitChoice) -> Self {
        match choice {
            OnLimitChoice::Continue => Self::Continue,
            OnLimitChoice::Show => Self::Show,
        }
    }
}

impl From<OnCutChoice> for OnCut {
    fn from(choice: OnCutChoice) -> Self {
        match choice {
            OnCutChoice::Show => Self::Show,
            OnCutChoice::Continue => Self::Continue,
        }
    }
}

/// A source, or the empty word of an empty list.
#[derive(Clone, Copy, Debug)]
pub(super) struct MaybeSource(pub(super) Option<SettingSource>);

fn setting_source(word: &str) -> Result<MaybeSource, String> {
    if word.is_empty() {
        return Ok(MaybeSource(None));
    }
    let found = SettingSource::ALL.into_iter().find(|s| s.word() == word);
    found.map(|s| MaybeSource(Some(s))).ok_or_else(|| one_of(SettingSource::ALL.map(SettingSource::word)))
}

fn permission_mode(word: &str) -> Result<PermissionMode, String> {
    PermissionMode::from_word(word).ok_or_else(|| one_of(PermissionMode::ALL.map(PermissionMode::word)))
}

fn credential(word: &str) -> Result<Credential, String> {
    let word = word.replace('-', "_");
    Credential::ALL
        .into_iter()
        .find(|c| c.word() == word && *c != Credential::Lab)
        .ok_or_else(|| one_of(Credential::ALL.map(Credential::word).into_iter().filter(|w| *w != "lab")))
}

/// Bytes, with K, M or G for 2¹⁰, 2²⁰, 2³⁰.
fn size(word: &str) -> Result<u64, String> {
    let upper = word.to_ascii_uppercase();
    let (digits, shift) = match upper.strip_suffix("B").unwrap_or(&upper) {
        text if text.ends_with('K') => (&text[..text.len() - 1], 10),
        text if text.ends_with('M') => (&text[..text.len() - 1], 20),
        text if text.ends_with('G') => (&text[..text.len() - 1], 30),
        text => (text, 0),
    };
    let bytes = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift)).filter(|n| *n > 0);
    bytes.ok_or_else(|| "give a number of bytes, such as 2000000000, 900M or 4G".to_owned())
}

fn ttl(word: &str) -> Result<Ttl, String> {
    [Ttl::FiveMinutes, Ttl::OneHour]
        .into_iter()
        .find(|t| t.word() == word)
        .ok_or_else(|| one_of(["5m", "1h"]))
}

fn one_of(words: impl IntoIterator<Item = &'static str>) -> String {
    format!("possible are: {}", words.into_iter().collect::<Vec<_>>().join(", "))
}
