//! What a request wants said, and saying it: accepted durably first, then a controller is told.

use crate::app::App;
use crate::extract::Wait;
use crate::problem::Problem;
use ostler_controller::client::{ClientError, NewMessage, Ostler};
use ostler_core::content::{Blocks, Content, literally, swapping_command};
use ostler_core::ids::{DeliveryId, SessionId};
use ostler_core::machine;
use ostler_core::rows::DeliveryState;
use ostler_store::db::DeliveryRow;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::error::Error;
use std::time::Duration;
use tokio::time::Instant;
use utoipa::ToSchema;

/// Between two looks at how far a message has come, at first and at most.
const LOOKS: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(200));

/// How a message may reach the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    /// As ostler thinks best.
    #[default]
    Auto,
    /// Never into a running turn.
    Queue,
    /// The running turn is interrupted for it.
    Now,
}

impl From<Mode> for machine::Mode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Auto => Self::Auto,
            Mode::Queue => Self::Queue,
            Mode::Now => Self::Now,
        }
    }
}

/// The fields of a body that say what is to be said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) prompt: Option<String>,
    pub(crate) content: Option<Box<RawValue>>,
    pub(crate) raw: bool,
    pub(crate) literal: bool,
}

impl Said {
    /// The same, checked as the command line checks it.
    pub(crate) fn content(self) -> Result<Content, Problem> {
        match (self.prompt, self.content) {
            (Some(text), None) => {
                let text = if self.literal { literally(text) } else { text };
                check(&text, self.raw)?;
                Ok(Content::Text(text))
            }
            (None, Some(json)) => {
                let blocks = Blocks::parse(json.get()).map_err(|error| bad_content(&error))?;
                // The CLI takes a command of a text block as well.
                blocks.texts().iter().try_for_each(|text| check(text, self.raw))?;
                Ok(Content::Blocks(blocks))
            }
            _ => Err(Problem::bad_request("one of `prompt` and `content` is needed")),
        }
    }
}

fn check(text: &str, raw: bool) -> Result<(), Problem> {
    if text.trim().is_empty() {
        return Err(ClientError::EmptyPrompt.into());
    }
    match swapping_command(text).filter(|_| !raw) {
        None => Ok(()),
        Some(word) => {
            let detail = format!("{word} would leave or swap the conversation");
            Err(Problem::bad_request(detail)
                .hint("`\"raw\": true` sends it all the same; `\"literal\": true` sends it as text that is no command"))
        }
    }
}

fn bad_content(error: &(dyn Error + 'static)) -> Problem {
    Problem::bad_request(crate::problem::chain(error))
}

/// A message that was accepted.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub(crate) id: DeliveryId,
    /// Why nobody could be told; it stays accepted and is tried again.
    pub(crate) warning: Option<String>,
}

/// Accepts a message and makes sure that somebody works on it.
pub(crate) fn deliver(
    ostler: &Ostler,
    session: SessionId,
    message: &NewMessage,
) -> Result<Accepted, ClientError> {
    let id = ostler.accept(session, message)?;
    match ostler.poke(session) {
        Ok(()) => Ok(Accepted { id, warning: None }),
        Err(error @ ClientError::Controller { .. }) => Ok(Accepted { id, warning: Some(error.to_string()) }),
        Err(error) => Err(error),
    }
}

/// A child has it.
pub(crate) fn is_under_way(row: &DeliveryRow) -> bool {
    // What was never written has no generation; what a child that can't be started was meant for has failed.
    row.generation.is_some() && !matches!(row.state, DeliveryState::Accepted)
}

/// Waits, within the wish, until a child has the message or nothing more happens to it.
pub(crate) async fn until_under_way(app: &App, id: DeliveryId, wait: Wait) -> Result<DeliveryRow, Problem> {
    let deadline = Instant::now() + wait.0.unwrap_or_default();
    let mut pause = LOOKS.0;
    loop {
        let row = app.desk().quick(move |ostler| row(ostler, id)).await?;
        if is_under_way(&row) || row.state.is_final() || Instant::now() >= deadline {
            return Ok(row);
        }
        tokio::select! {
            () = tokio::time::sleep_until(deadline.min(Instant::now() + pause)) => {}
            () = app.leaving() => return Ok(row),
        }
        pause = (pause * 2).min(LOOKS.1);
    }
}

fn row(ostler: &Ostler, id: DeliveryId) -> Result<DeliveryRow, ClientError> {
    ostler.db().delivery(id)?.ok_or(ClientError::Db(ostler_store::DbError::NoDelivery { id }))
}
