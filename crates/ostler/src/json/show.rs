//! Everything about one session: `show`.

use super::event::{decision_word, word_of};
use super::{Listed, SessionDocument, Tokens};
use crate::view::rfc3339;
use ostler_controller::client::{Status, Summary};
use ostler_core::ctl::Exit;
use ostler_core::rows::{Generation, Projection, Spend, Turn};
use ostler_core::spec::{Forked, LaunchSpec};
use ostler_store::SessionDir;
use ostler_store::db::{DeliveryRow, PermissionRow};
use serde::Serialize;
use serde_json::value::RawValue;

/// What is known of a session.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) listed: Listed,
    pub(crate) dir: SessionDir,
    pub(crate) spec: LaunchSpec,
    pub(crate) status: Status,
    pub(crate) rows: Projection,
    pub(crate) deliveries: Vec<DeliveryRow>,
    pub(crate) permissions: Vec<PermissionRow>,
    pub(crate) summary: Summary,
    /// As a trained base.
    pub(crate) base: Option<super::BaseView>,
    /// Why a fork did not find its prefix.
    pub(crate) causes: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ShowDocument {
    session: SessionDocument,
    base: Option<super::BaseDocument>,
    fork: Option<ForkBody>,
    process: ProcessBody,
    spec: SpecBody,
    generations: Vec<GenerationBody>,
    turns: Vec<TurnBody>,
    deliveries: Vec<DeliveryBody>,
    permissions: Vec<PermissionBody>,
    spend: Vec<SpendBody>,
    tokens: Tokens,
    usd: Option<f64>,
    answer: Option<String>,
    paths: PathsBody,
}

#[derive(Debug, Serialize)]
struct ForkBody {
    source: String,
    base: Option<String>,
    expected_read: u64,
    cache: Option<super::CacheBody>,
    causes: Vec<String>,
    on_miss: Option<String>,
    differs: Vec<String>,
    forced: Vec<String>,
    parallel: Option<u32>,
}

fn fork_body(fork: &Forked, s: &Shown) -> ForkBody {
    ForkBody {
        source: fork.session.to_string(),
        base: fork.base.map(|id| id.to_string()),
        expected_read: fork.expected_read,
        cache: s.summary.cache.map(Into::into),
        causes: s.causes.clone(),
        on_miss: word_of(&fork.on_miss),
        differs: fork.differs.clone(),
        forced: fork.forced.clone(),
        parallel: fork.parallel,
    }
}

#[derive(Debug, Serialize)]
struct ProcessBody {
    state: String,
    generation: u32,
    pid: Option<u32>,
    turn: Option<u32>,
    activity: Option<String>,
    waiting: u32,
    parked: Option<String>,
}

#[derive(Debug, Serialize)]
struct SpecBody {
    program: String,
    version: String,
    model: String,
    permission_mode: &'static str,
    permission_policy: Option<String>,
    permission_timeout_ms: Option<u64>,
    auto_continue: bool,
    skip_permissions: bool,
    credential: &'static str,
    lab: bool,
    max_turns: Option<u32>,
    max_budget_usd: Option<f64>,
}

#[derive(Debug, Serialize)]
struct GenerationBody {
    generation: u32,
    conversation: String,
    resumed: bool,
    version: String,
    model: Option<String>,
    credential: Option<String>,
    started_at: String,
    ended_at: Option<String>,
    exit_code: Option<i32>,
    exit_signal: Option<i32>,
    garbled: u32,
    killed: u32,
    proven: bool,
    cache: Option<super::CacheBody>,
}

#[derive(Debug, Serialize)]
struct TurnBody {
    turn: u32,
    generation: u32,
    started_at: String,
    settled_at: Option<String>,
    outcome: Option<String>,
    failure: Option<String>,
    message: Option<String>,
    results: u32,
    rounds: u32,
    denials: u32,
    killed_tasks: u32,
    unclean: bool,
    garbled: bool,
}

#[derive(Debug, Serialize)]
struct DeliveryBody {
    id: String,
    state: Option<String>,
    mode: Option<String>,
    bytes: u64,
    key: Option<String>,
    accepted_at: String,
    written_at: Option<String>,
    generation: Option<u32>,
    turn: Option<u32>,
    continues: Option<String>,
}

#[derive(Debug, Serialize)]
struct PermissionBody {
    generation: u32,
    request: String,
    kind: Option<String>,
    tool: Option<String>,
    state: Option<String>,
    decision: Option<&'static str>,
    by: Option<String>,
    message: Option<String>,
    input: Option<Box<RawValue>>,
    always: bool,
    interrupt: bool,
    withdrawn: Option<String>,
    asked_at: Option<String>,
    auto_continue_exhausted: bool,
}

#[derive(Debug, Serialize)]
struct SpendBody {
    generation: u32,
    model: String,
    tokens: Tokens,
    usd: Option<f64>,
    method: Option<String>,
    baseline_usd: f64,
}

#[derive(Debug, Serialize)]
struct PathsBody {
    folder: String,
    session_json: String,
    transcript: String,
    controller_log: String,
    keeper_log: String,
}

impl ShowDocument {
    pub(crate) fn of(s: &Shown) -> Self {
        Self {
            session: SessionDocument::of(&s.listed),
            base: s.base.as_ref().map(super::BaseDocument::of),
            fork: s.spec.fork.as_ref().map(|fork| fork_body(fork, s)),
            process: ProcessBody {
                state: s.status.process.clone(),
                generation: s.status.generation,
                pid: s.status.pid,
                turn: s.status.turn,
                activity: s.status.activity.clone(),
                waiting: s.status.waiting,
                parked: s.status.parked.clone(),
            },
            spec: spec(&s.spec),
            generations: s.rows.generations.iter().map(generation).collect(),
            turns: s.rows.turns.iter().map(turn).collect(),
            deliveries: s.deliveries.iter().map(delivery).collect(),
            permissions: s.permissions.iter().map(permission).collect(),
            spend: s.rows.spend.iter().map(spend).collect(),
            tokens: s.summary.tokens.into(),
            usd: s.summary.usd.map(|usd| usd + 0.0),
            answer: s.summary.answer.clone(),
            paths: paths(&s.dir),
        }
    }
}

fn spec(s: &LaunchSpec) -> SpecBody {
    SpecBody {
        program: s.launcher.resolved.program.path.clone(),
        version: s.launcher.resolved.version.clone(),
        model: s.model.clone(),
        permission_mode: s.permission_mode.word(),
        permission_policy: word_of(&s.permission_policy),
        permission_timeout_ms: s.permission_timeout,
        auto_continue: s.auto_continue,
        skip_permissions: s.skip_permissions,
        credential: s.environment.credential.word(),
        lab: s.lab.is_some(),
        max_turns: s.max_turns,
        max_budget_usd: s.max_budget_usd,
    }
}

fn generation(g: &Generation) -> GenerationBody {
    GenerationBody {
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
        cache: g.cache.map(Into::into),
    }
}

fn turn(t: &Turn) -> TurnBody {
    TurnBody {
        turn: t.no,
        generation: t.generation,
        started_at: rfc3339(t.started_at),
        settled_at: t.settled_at.map(rfc3339),
        outcome: t.outcome.as_ref().and_then(word_of),
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

fn delivery(d: &DeliveryRow) -> DeliveryBody {
    DeliveryBody {
        id: d.id.to_string(),
        state: word_of(&d.state),
        mode: word_of(&d.mode),
        bytes: d.body_len,
        key: d.idempotency_key.clone(),
        accepted_at: rfc3339(d.created_at),
        written_at: d.written_at.map(rfc3339),
        generation: d.generation,
        turn: d.turn,
        continues: d.continues.map(|id| id.to_string()),
    }
}

fn permission(p: &PermissionRow) -> PermissionBody {
    let face = p.face.as_ref();
    PermissionBody {
        generation: p.journal.generation,
        request: p.journal.request_id.clone(),
        kind: word_of(&p.journal.kind),
        tool: p.journal.tool.clone(),
        state: word_of(&p.state()),
        decision: p.journal.decision.or(face.map(|f| f.reply.decision)).map(decision_word),
        by: p.journal.decided_by.clone().or_else(|| face.map(|f| f.by.clone())),
        message: p.journal.message.clone().or_else(|| face.and_then(|f| f.reply.message.clone())),
        input: p
            .journal
            .input
            .clone()
            .or_else(|| face.and_then(|f| f.reply.input.clone()))
            .and_then(|text| RawValue::from_string(text).ok()),
        always: p.journal.always || face.is_some_and(|f| f.reply.always),
        interrupt: p.journal.interrupt || face.is_some_and(|f| f.reply.interrupt),
        withdrawn: p.journal.withdrawn.clone(),
        asked_at: p.journal.asked_at.map(rfc3339),
        auto_continue_exhausted: p.journal.exhausted,
    }
}

fn spend(s: &Spend) -> SpendBody {
    SpendBody {
        generation: s.generation,
        model: s.model.clone(),
        tokens: s.tokens.into(),
        usd: s.usd,
        method: word_of(&s.method),
        baseline_usd: s.baseline_usd,
    }
}

fn paths(dir: &SessionDir) -> PathsBody {
    let text = |path: std::path::PathBuf| path.display().to_string();
    PathsBody {
        folder: text(dir.path.clone()),
        session_json: text(dir.session_json()),
        transcript: text(dir.transcript()),
        controller_log: text(dir.controller_log()),
        keeper_log: text(dir.keeper_log()),
    }
}
