//! What happened in a session, in the order of time.

use super::{rfc3339, word_of};
use ostler_core::ctl::Exit;
use ostler_core::ids::Millis;
use ostler_core::rows::{Generation, Turn};
use ostler_store::Flags;
use ostler_store::db::{DeliveryRow, PermissionRow, SessionRow};
use serde::Serialize;
use utoipa::ToSchema;

/// One thing that happened.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HappenedBody {
    /// When.
    at: String,
    /// `created`, `accepted`, `written`, `process_started`, `process_ended`, `turn_began`, `turn_settled`, `decided`,
    /// `stopped`, `resumed`, `closed`.
    what: &'static str,
    /// The process that it is about.
    generation: Option<u32>,
    /// The turn that it is about.
    turn: Option<u32>,
    /// The message that it is about.
    delivery: Option<String>,
    /// The question that it is about.
    request: Option<String>,
    /// How: a turn's outcome, a process's end (`exit 0`, `signal 9`, `unknown`), a decision.
    how: Option<String>,
    /// More to that: kind of a failure, who decided.
    detail: Option<String>,
}

/// One thing that happened, and its place among all of its session.
#[derive(Debug)]
pub(crate) struct Happened {
    /// When, then what kind, then its number: no two of a session have the same.
    pub(crate) place: (i64, u8, u64),
    body: HappenedBody,
}

impl Happened {
    fn new(at: Millis, rank: u8, no: u64, what: &'static str) -> Self {
        let body = HappenedBody {
            at: rfc3339(at),
            what,
            generation: None,
            turn: None,
            delivery: None,
            request: None,
            how: None,
            detail: None,
        };
        Self { place: (at.0, rank, no), body }
    }

    /// What is told of it.
    pub(crate) fn into_body(self) -> HappenedBody {
        self.body
    }

    pub(crate) fn of_session(row: &SessionRow, flags: Option<&Flags>) -> Vec<Self> {
        let mut all = vec![Self::new(row.created_at, 0, 0, "created")];
        // The file has the last change of the flags alone.
        all.extend(flags.map(|flags| match (flags.closed, flags.stopped) {
            (true, _) => Self::new(flags.at, 9, 0, "closed"),
            (false, true) => Self::new(flags.at, 9, 0, "stopped"),
            (false, false) => Self::new(flags.at, 9, 0, "resumed"),
        }));
        all
    }

    pub(crate) fn of_delivery(row: &DeliveryRow) -> Vec<Self> {
        let about = |mut happened: Self| {
            happened.body.delivery = Some(row.id.to_string());
            happened
        };
        let mut all = vec![about(Self::new(row.created_at, 1, row.seq, "accepted"))];
        all.extend(row.written_at.map(|at| {
            let mut written = about(Self::new(at, 4, row.seq, "written"));
            (written.body.generation, written.body.turn) = (row.generation, row.turn);
            written
        }));
        all
    }

    pub(crate) fn of_generation(row: &Generation) -> Vec<Self> {
        let about = |mut happened: Self| {
            happened.body.generation = Some(row.no);
            happened
        };
        let mut all = vec![about(Self::new(row.started_at, 2, row.no.into(), "process_started"))];
        all.extend(row.ended_at.map(|at| {
            let mut ended = about(Self::new(at, 8, row.no.into(), "process_ended"));
            ended.body.how = Some(match row.exit {
                Some(Exit::Code(code)) => format!("exit {code}"),
                Some(Exit::Signal(signal)) => format!("signal {signal}"),
                _ => "unknown".to_owned(),
            });
            ended
        }));
        all
    }

    pub(crate) fn of_turn(row: &Turn) -> Vec<Self> {
        let about = |mut happened: Self| {
            (happened.body.generation, happened.body.turn) = (Some(row.generation), Some(row.no));
            happened
        };
        let mut all = vec![about(Self::new(row.started_at, 3, row.no.into(), "turn_began"))];
        all.extend(row.settled_at.map(|at| {
            let mut settled = about(Self::new(at, 7, row.no.into(), "turn_settled"));
            settled.body.how = row.outcome.as_ref().map(word_of);
            settled.body.detail.clone_from(&row.failure);
            settled
        }));
        all
    }

    /// What a person decided; of what ostler decides by itself the store has no time.
    pub(crate) fn of_permission(row: &PermissionRow, no: usize) -> Option<Self> {
        let face = row.face.as_ref()?;
        let mut decided = Self::new(face.at, 6, no as u64, "decided");
        decided.body.generation = Some(face.generation);
        decided.body.request = Some(face.request_id.clone());
        decided.body.how = Some(super::decision_word(face.reply.decision).to_owned());
        decided.body.detail = Some(face.by.clone());
        Some(decided)
    }
}
