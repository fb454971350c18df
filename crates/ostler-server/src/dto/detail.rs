//! Everything about one session.

use super::{
    DeliveryBody, GenerationBody, PermissionBody, SessionBody, SpendBody, TokensBody, TurnBody, word_of,
};
use ostler_controller::client::{ClientError, Ostler, Status};
use ostler_core::spec::LaunchSpec;
use ostler_store::db::SessionRow;
use ostler_store::{SessionDir, SessionFile};
use serde::Serialize;
use std::path::PathBuf;
use utoipa::ToSchema;

/// How many of the newest of each kind are shown.
const SHOWN: usize = 200;

/// Everything that is known of a session; of lists the newest 200.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionDetail {
    /// What it means.
    session: SessionBody,
    /// What runs.
    process: ProcessBody,
    /// How its children are started.
    spec: SpecBody,
    /// Its newest child processes, in order.
    generations: Vec<GenerationBody>,
    /// Its newest turns, in order.
    turns: Vec<TurnBody>,
    /// Its newest messages, in order.
    deliveries: Vec<DeliveryBody>,
    /// What was asked last, in order.
    permissions: Vec<PermissionBody>,
    /// What its newest processes spent on each model.
    spend: Vec<SpendBody>,
    /// Some list was cut; `/deliveries`, `/timeline` and `/spend` have all.
    cut: bool,
    /// Turns so far.
    turn_count: u32,
    /// Tokens of the whole session.
    tokens: TokensBody,
    /// Dollars of the whole session; null: some of it is not known.
    usd: Option<f64>,
    /// The last answer.
    answer: Option<String>,
    /// Where its files are.
    paths: PathsBody,
}

/// What runs of a session.
#[derive(Debug, Serialize, ToSchema)]
struct ProcessBody {
    /// `cold`, `starting`, `resident`, `ending`.
    state: String,
    /// The current or last process; 0 before the first.
    generation: u32,
    /// Its process id, while it lives.
    pid: Option<u32>,
    /// The turn that runs.
    turn: Option<u32>,
    /// What it is doing: `thinking`, `tool Bash`, `permission`, …
    activity: Option<String>,
    /// Messages without an end.
    waiting: u32,
    /// Why nothing goes on until a person acts.
    parked: Option<String>,
}

/// How a session's children are started.
#[derive(Debug, Serialize, ToSchema)]
struct SpecBody {
    /// The executable.
    program: String,
    /// Its version when the session was created.
    version: String,
    /// The model that is asked for.
    model: String,
    /// What claude asks about.
    permission_mode: &'static str,
    /// Who answers when it asks.
    permission_policy: String,
    /// Who pays.
    credential: &'static str,
    /// It talks to a scripted model that costs nothing.
    lab: bool,
    /// Rounds of the model in one turn.
    max_turns: Option<u32>,
    /// Dollars that one process may spend.
    max_budget_usd: Option<f64>,
}

/// Where a session's files are.
#[derive(Debug, Serialize, ToSchema)]
struct PathsBody {
    /// Its folder.
    folder: String,
    /// Its launch spec.
    session_json: String,
    /// Claude's transcript.
    transcript: String,
    /// What its controller logged.
    controller_log: String,
    /// What its keeper logged.
    keeper_log: String,
}

impl SessionDetail {
    pub(crate) fn read(ostler: &Ostler, row: &SessionRow) -> Result<Self, ClientError> {
        let dir = ostler.home().session(row.id);
        let spec = spec_of(&dir)?;
        let rows = ostler.db().load_projection(row.id)?;
        let deliveries = ostler.db().newest_deliveries(row.id, SHOWN as u32 + 1)?;
        let permissions = ostler.db().permissions(row.id)?;
        let summary = ostler.summary(row.id)?;
        let lengths =
            [rows.generations.len(), rows.turns.len(), deliveries.len(), permissions.len(), rows.spend.len()];
        let delivery = |row| DeliveryBody::read(ostler, row);
        Ok(Self {
            session: SessionBody::read(ostler, row)?,
            process: ProcessBody::of(ostler.status(row.id)?),
            spec: SpecBody::of(&spec),
            generations: newest(&rows.generations).iter().map(Into::into).collect(),
            turns: newest(&rows.turns).iter().map(Into::into).collect(),
            deliveries: newest(&deliveries).iter().map(delivery).collect::<Result<_, _>>()?,
            permissions: newest(&permissions).iter().map(Into::into).collect(),
            spend: newest(&rows.spend).iter().map(Into::into).collect(),
            cut: lengths.into_iter().any(|len| len > SHOWN),
            turn_count: summary.turns,
            tokens: summary.tokens.into(),
            usd: summary.usd.map(|usd| usd + 0.0),
            answer: summary.answer,
            paths: PathsBody::of(&dir),
        })
    }
}

fn newest<T>(all: &[T]) -> &[T] {
    &all[all.len().saturating_sub(SHOWN)..]
}

fn spec_of(dir: &SessionDir) -> Result<LaunchSpec, ClientError> {
    let path = dir.session_json();
    let unreadable = |source: Box<dyn std::error::Error + Send + Sync>| ClientError::File {
        what: "read",
        path: path.clone(),
        source,
    };
    let file = SessionFile::read(dir).map_err(|e| unreadable(e.into()))?;
    LaunchSpec::from_json(file.spec.get()).map_err(|e| unreadable(e.into()))
}

impl ProcessBody {
    fn of(status: Status) -> Self {
        Self {
            state: status.process,
            generation: status.generation,
            pid: status.pid,
            turn: status.turn,
            activity: status.activity,
            waiting: status.waiting,
            parked: status.parked,
        }
    }
}

impl SpecBody {
    fn of(s: &LaunchSpec) -> Self {
        Self {
            program: s.launcher.resolved.program.path.clone(),
            version: s.launcher.resolved.version.clone(),
            model: s.model.clone(),
            permission_mode: s.permission_mode.word(),
            permission_policy: word_of(&s.permission_policy),
            credential: s.environment.credential.word(),
            lab: s.lab.is_some(),
            max_turns: s.max_turns,
            max_budget_usd: s.max_budget_usd,
        }
    }
}

impl PathsBody {
    fn of(dir: &SessionDir) -> Self {
        let text = |path: PathBuf| path.display().to_string();
        Self {
            folder: text(dir.path.clone()),
            session_json: text(dir.session_json()),
            transcript: text(dir.transcript()),
            controller_log: text(dir.controller_log()),
            keeper_log: text(dir.keeper_log()),
        }
    }
}
