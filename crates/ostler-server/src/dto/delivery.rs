//! Messages.

use super::{SessionBody, TokensBody, rfc3339, word_of};
use ostler_controller::client::{ClientError, Ostler, Summary, Waited};
use ostler_store::db::DeliveryRow;
use serde::Serialize;
use utoipa::ToSchema;

/// A message, as far as it has come.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DeliveryBody {
    /// The session.
    session: String,
    /// Its id.
    id: String,
    /// `accepted`, `written`, `queued`, `started`, `completed`, `cancelled`, `failed`, `discarded`, `cut`.
    state: String,
    /// How it may reach the model: `auto`, `queue`, `now`.
    mode: String,
    /// How it did: `steer`, `feed`, `wake`; null while it did not.
    route: Option<&'static str>,
    /// Its length.
    bytes: u64,
    /// The sender's name for it.
    key: Option<String>,
    /// When it was accepted.
    accepted_at: String,
    /// When it was first written to claude.
    written_at: Option<String>,
    /// The process that it was last written to.
    generation: Option<u32>,
    /// The turn that it belongs to.
    turn: Option<u32>,
    /// ostler made it itself, to go on with what this one had begun.
    continues: Option<String>,
}

impl DeliveryBody {
    pub(crate) fn read(ostler: &Ostler, row: &DeliveryRow) -> Result<Self, ClientError> {
        Ok(Self {
            session: row.session.to_string(),
            id: row.id.to_string(),
            state: row.state.word().to_owned(),
            mode: word_of(&row.mode),
            route: ostler.db().route_of(row)?.map(|route| route.word()),
            bytes: row.body_len,
            key: row.idempotency_key.clone(),
            accepted_at: rfc3339(row.created_at),
            written_at: row.written_at.map(rfc3339),
            generation: row.generation,
            turn: row.turn,
            continues: row.continues.map(|id| id.to_string()),
        })
    }
}

/// A message was accepted.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AcceptedBody {
    /// The message.
    pub(crate) delivery: DeliveryBody,
    /// What is wrong all the same, such as that no controller could be reached; it stays accepted and is tried again.
    pub(crate) warning: Option<String>,
}

/// A session was created, and its first message accepted.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StartedBody {
    /// The session.
    pub(crate) session: SessionBody,
    /// Its first message.
    pub(crate) delivery: DeliveryBody,
    /// What is wrong all the same, such as that no controller could be reached; it stays accepted and is tried again.
    pub(crate) warning: Option<String>,
}

/// A message and, once it is over, what came of it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DeliveryDetail {
    /// The message.
    delivery: DeliveryBody,
    /// Where it stands: `settled` (it has its end, and its turn too), `running`, `stopped` (with its session, which has to
    /// be resumed first), `parked` (a person has to act).
    state: &'static str,
    /// Why it is parked.
    reason: Option<String>,
    /// What became of it: `completed`, `interrupted`, `failed`, `unfinished`; null while it is not settled.
    outcome: Option<String>,
    /// Kind of the failure: `api_error`, `max_turns`, …
    failure: Option<String>,
    /// What the failing line said.
    message: Option<String>,
    /// The answer to it.
    answer: Option<String>,
    /// Tokens of the whole session.
    tokens: TokensBody,
    /// Dollars of the whole session; null: some of it is not known.
    usd: Option<f64>,
    /// Dollars of the process that ran its turn.
    turn_usd: Option<f64>,
}

impl DeliveryDetail {
    pub(crate) fn read(ostler: &Ostler, row: &DeliveryRow, waited: &Waited) -> Result<Self, ClientError> {
        let (state, reason) = match waited {
            Waited::Settled(_) => ("settled", None),
            Waited::StillRunning => ("running", None),
            Waited::Stopped(_) => ("stopped", None),
            Waited::Parked(reason) => ("parked", Some(reason.clone())),
        };
        let settled = matches!(waited, Waited::Settled(_));
        let summary = match settled {
            true => ostler.summary_of(row.session, row.id)?,
            false => ostler.summary(row.session)?,
        };
        let Summary { outcome, turn, answer, tokens, usd, turn_usd, .. } = summary;
        let turn = turn.filter(|_| settled);
        Ok(Self {
            delivery: DeliveryBody::read(ostler, row)?,
            state,
            reason,
            outcome: outcome.filter(|_| settled).map(|outcome| word_of(&outcome)),
            failure: turn.as_ref().and_then(|turn| turn.failure.clone()),
            message: turn.and_then(|turn| turn.message),
            answer: answer.filter(|_| settled),
            tokens: tokens.into(),
            usd: usd.map(|usd| usd + 0.0),
            turn_usd: turn_usd.filter(|_| settled).map(|usd| usd + 0.0),
        })
    }

    /// Nothing goes on until a person acts.
    pub(crate) fn is_halted(&self) -> bool {
        self.state == "stopped" || self.state == "parked"
    }

    /// It has its end.
    pub(crate) fn is_settled(&self) -> bool {
        self.state == "settled"
    }
}
