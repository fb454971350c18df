//! What a journal folds to: processes, turns, questions, spend.

use super::{rfc3339, word_of};
use ostler_core::ctl::{Decision, Exit};
use ostler_core::rows::{CacheSeen, Generation, Spend, Tokens, Turn};
use ostler_store::db::PermissionRow;
use serde::Serialize;
use utoipa::ToSchema;

/// One child process of a session.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct GenerationBody {
    /// Its number.
    pub(crate) generation: u32,
    /// Claude's session id in it.
    conversation: String,
    /// Started with `--resume`.
    resumed: bool,
    /// Claude's version.
    version: String,
    /// The model that it announced.
    model: Option<String>,
    /// Who pays, as it announced.
    credential: Option<String>,
    /// When its start was decided.
    started_at: String,
    /// When it was found dead; null while it lives.
    ended_at: Option<String>,
    /// Its exit status, where it is known.
    exit_code: Option<i32>,
    /// The signal that ended it.
    exit_signal: Option<i32>,
    /// Lines that could not be read.
    garbled: u32,
    /// Processes that had to be killed besides it.
    killed: u32,
    /// All of its processes are proven gone.
    proven: bool,
}

impl From<&Generation> for GenerationBody {
    fn from(g: &Generation) -> Self {
        Self {
            generation: g.no,
            conversation: g.conversation.to_string(),
            resumed: g.resumed,
            version: g.version.clone(),
            model: g.model.clone(),
            credential: g.credential.clone(),
            started_at: rfc3339(g.started_at),
            ended_at: g.ended_at.map(rfc3339),
            exit_code: if let Some(Exit::Code(code)) = g.exit { Some(code) } else { None },
            exit_signal: if let Some(Exit::Signal(signal)) = g.exit { Some(signal) } else { None },
            garbled: g.garbled,
            killed: g.killed,
            proven: g.proven,
        }
    }
}

/// One turn of a session.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TurnBody {
    /// Its number.
    pub(crate) turn: u32,
    /// The process that it ran in.
    generation: u32,
    /// When it began.
    started_at: String,
    /// When it settled; null while it runs.
    settled_at: Option<String>,
    /// `completed`, `interrupted`, `failed`, `unfinished`; null while it runs.
    outcome: Option<String>,
    /// Kind of the failure: `api_error`, `max_turns`, `exit 1`, …
    failure: Option<String>,
    /// What the failing line said.
    message: Option<String>,
    /// Results that it had.
    results: u32,
    /// Rounds of the model.
    rounds: u32,
    /// Calls that were denied, at least.
    denials: u32,
    /// Background tasks that were killed or given up.
    killed_tasks: u32,
    /// Claude ended uncleanly after its last result.
    unclean: bool,
    /// Something that claude printed could not be read.
    garbled: bool,
}

impl From<&Turn> for TurnBody {
    fn from(t: &Turn) -> Self {
        Self {
            turn: t.no,
            generation: t.generation,
            started_at: rfc3339(t.started_at),
            settled_at: t.settled_at.map(rfc3339),
            outcome: t.outcome.as_ref().map(word_of),
            failure: t.failure.clone(),
            message: t.message.clone(),
            results: t.results,
            rounds: t.rounds,
            denials: t.denials,
            killed_tasks: t.killed_tasks,
            unclean: t.unclean,
            garbled: t.garbled,
        }
    }
}

/// What was asked, in short.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PermissionBody {
    /// The process that asks.
    generation: u32,
    /// Claude's id for the question.
    request: String,
    /// `tool`, `question`, `plan`, `hook`, `elicitation`, `other`.
    kind: String,
    /// The tool, where it is about one.
    tool: Option<String>,
    /// `open`, `decided`, `answered`, `withdrawn`.
    state: String,
    /// `allow` or `deny`.
    decision: Option<&'static str>,
    /// By whom.
    by: Option<String>,
    /// What a denied claude was told.
    message: Option<String>,
    /// Why it was withdrawn.
    withdrawn: Option<String>,
}

impl From<&PermissionRow> for PermissionBody {
    fn from(p: &PermissionRow) -> Self {
        let face = p.face.as_ref();
        Self {
            generation: p.journal.generation,
            request: p.journal.request_id.clone(),
            kind: word_of(&p.journal.kind),
            tool: p.journal.tool.clone(),
            state: word_of(&p.state()),
            decision: p.journal.decision.or(face.map(|f| f.reply.decision)).map(decision_word),
            by: p.journal.decided_by.clone().or_else(|| face.map(|f| f.by.clone())),
            message: p.journal.message.clone().or_else(|| face.and_then(|f| f.reply.message.clone())),
            withdrawn: p.journal.withdrawn.clone(),
        }
    }
}

pub(crate) const fn decision_word(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "allow",
        Decision::Deny => "deny",
    }
}

/// Tokens by class.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TokensBody {
    /// Uncached input.
    input: u64,
    /// Output, thinking included.
    output: u64,
    /// Read from the cache.
    cache_read: u64,
    /// Written to the cache for five minutes.
    cache_write_5m: u64,
    /// Written to the cache for an hour.
    cache_write_1h: u64,
}

impl From<Tokens> for TokensBody {
    fn from(t: Tokens) -> Self {
        let Tokens { input, output, cache_read, cache_write_5m, cache_write_1h } = t;
        Self { input, output, cache_read, cache_write_5m, cache_write_1h }
    }
}

/// What one process spent on one model.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SpendBody {
    /// The process.
    generation: u32,
    /// The model.
    model: String,
    /// Its own tokens.
    tokens: TokensBody,
    /// Its own dollars; null is unknown, never free.
    usd: Option<f64>,
    /// How that is known: `reported`, `restored_difference`, `estimated`, `unattributed`.
    method: String,
    /// Dollars on this model before the process began.
    baseline_usd: f64,
}

impl From<&Spend> for SpendBody {
    fn from(s: &Spend) -> Self {
        Self {
            generation: s.generation,
            model: s.model.clone(),
            tokens: s.tokens.into(),
            usd: s.usd,
            method: word_of(&s.method),
            baseline_usd: s.baseline_usd,
        }
    }
}

/// A page of what a session spent.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SpendPage {
    /// What each process spent on each model.
    pub(crate) items: Vec<SpendBody>,
    /// What `after` is for the next page; null: this is the last.
    pub(crate) next: Option<String>,
    /// Tokens of the whole session.
    pub(crate) tokens: TokensBody,
    /// Dollars of the whole session; null: some of it is not known.
    pub(crate) usd: Option<f64>,
}

/// What a fork's first request found in the prompt cache.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(crate) struct CacheBody {
    /// `hit`, `partial`, `miss`.
    verdict: &'static str,
    /// Tokens that it should have read.
    expected_read: u64,
    /// Tokens that it read.
    read: u64,
    /// Tokens that it wrote.
    written: u64,
}

impl From<CacheSeen> for CacheBody {
    fn from(seen: CacheSeen) -> Self {
        Self {
            verdict: seen.verdict().word(),
            expected_read: seen.expected,
            read: seen.read,
            written: seen.written,
        }
    }
}
