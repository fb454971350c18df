//! What became of a task: from its message, its turn and the line that answers it.
//!
//! A task is over when its turn has settled, not at the first `result`. An answer is `done`, with 1 where the model or the API
//! failed; without any answer the task is `failed`, and says why.

use super::request::chain;
use claude_wire::{Frame, Message, ResultLine};
use ostler_controller::client::{ClientError, Ostler, Waited};
use ostler_core::ctl::Exit;
use ostler_core::ids::Millis;
use ostler_core::rows::{DeliveryState, Turn};
use ostler_store::db::{DeliveryRow, TaskEnd, TaskRow, TaskState};
use ostler_store::journal::read_range;
use serde::Serialize;
use std::time::Instant;

/// What a task has cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Usage {
    /// Dollars of the task's own; null where they are not known.
    total_cost_usd: Option<f64>,
    input_tokens: u64,
    output_tokens: u64,
    cache_creation_input_tokens: u64,
    cache_read_input_tokens: u64,
}

/// A task as it is now. One that runs is looked at, so that its end is told whoever serves its directory.
///
/// # Errors
/// The store or the journal can't be read.
pub(super) fn look(ostler: &Ostler, id: &str, now: Millis) -> Result<Option<TaskRow>, ClientError> {
    let Some(row) = ostler.db().task(id)? else { return Ok(None) };
    if row.state != TaskState::Running {
        return Ok(Some(row));
    }
    let waited = ostler.wait_for(row.session, row.delivery, Some(Instant::now()))?;
    let Some(end) = of(ostler, &row, &waited, now)? else { return Ok(Some(row)) };
    ostler.db().end_task(id, &end)?;
    Ok(ostler.db().task(id)?)
}

/// How a task has ended, by what a wait for its message came to; None: it has not.
///
/// # Errors
/// The store or the journal can't be read.
pub(super) fn of(
    ostler: &Ostler,
    row: &TaskRow,
    waited: &Waited,
    at: Millis,
) -> Result<Option<TaskEnd>, ClientError> {
    let failed = |reason: String| TaskEnd { done: false, exit_code: 1, reason: Some(reason), at };
    let end = match waited {
        Waited::StillRunning => return Ok(None),
        _ if row.cancelled => failed("cancelled".to_owned()),
        Waited::Parked(reason) => failed(reason.clone()),
        Waited::Stopped(_) => failed("the session was stopped".to_owned()),
        Waited::Settled(turn) => {
            let message = last_message(ostler, row)?;
            match answer(ostler, message.as_ref())? {
                Some(line) => TaskEnd { done: true, exit_code: exit_code(&line), reason: None, at },
                None => failed(why(ostler, row, message.as_ref(), turn.as_ref())?),
            }
        }
    };
    Ok(Some(end))
}

/// The task's message, or the last one with which ostler went on with it.
fn last_message(ostler: &Ostler, row: &TaskRow) -> Result<Option<DeliveryRow>, ClientError> {
    let all = ostler.db().deliveries(row.session)?;
    let mut found = all.iter().find(|d| d.id == row.delivery);
    // Each one is younger than what it goes on with, so this ends.
    for message in &all {
        if found.is_some_and(|f| message.continues == Some(f.id)) {
            found = Some(message);
        }
    }
    Ok(found.cloned())
}

/// The line that answers a message which the model was done with.
fn answer(ostler: &Ostler, message: Option<&DeliveryRow>) -> Result<Option<ResultLine>, ClientError> {
    let Some(message) = message else { return Ok(None) };
    let over = matches!(message.state, DeliveryState::Completed | DeliveryState::Failed);
    let (Some((start, end)), Some(no), true) = (message.answer, message.generation, over) else {
        return Ok(None);
    };
    let session = message.session;
    let files = ostler.home().session(session).generation(no);
    let bytes = read_range(&files, start, end)
        .map_err(|source| ClientError::Journal { session, source: Box::new(source) })?;
    Ok(match Frame::from_vec(bytes).into_message() {
        Message::Result(line) => Some(line),
        _ => None,
    })
}

fn exit_code(line: &ResultLine) -> i64 {
    i64::from(line.is_error || line.subtype.starts_with("error_"))
}

/// Why there is no answer.
fn why(
    ostler: &Ostler,
    row: &TaskRow,
    message: Option<&DeliveryRow>,
    turn: Option<&Turn>,
) -> Result<String, ClientError> {
    let Some(message) = message else { return Ok("its message was never accepted".to_owned()) };
    Ok(match message.state {
        DeliveryState::Completed => "claude has taken it for done and given no answer".to_owned(),
        DeliveryState::Cancelled => "cancelled".to_owned(),
        DeliveryState::Discarded => "claude threw it away at its end".to_owned(),
        DeliveryState::Failed | DeliveryState::Cut => {
            let generations = ostler.db().load_projection(row.session)?.generations;
            let mut own = generations.iter().rev().filter(|g| g.no > row.behind);
            match own.find_map(|g| g.exit.and_then(exit_words)) {
                Some(words) => words,
                None => {
                    let said = turn.and_then(|turn| turn.message.clone().or_else(|| turn.failure.clone()));
                    said.unwrap_or_else(|| exited("unknown"))
                }
            }
        }
        _ => "the session takes nothing any more".to_owned(),
    })
}

/// An end that no child comes to after an answer, in the contract's words.
fn exit_words(exit: Exit) -> Option<String> {
    match exit {
        Exit::Code(0) | Exit::NotStarted => None,
        Exit::Code(code) => Some(exited(code)),
        Exit::Signal(number) => Some(exited(128 + number)),
        Exit::Unknown => Some(exited("unknown")),
    }
}

fn exited(code: impl std::fmt::Display) -> String {
    format!("Claude process exited (code={code})")
}

/// What a task that is over says, and what it cost.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// The answer; None: there is none in so many words.
    pub(super) answer: Option<String>,
    /// What it cost.
    pub(super) usage: Option<Usage>,
}

/// The report of a task that is done; of any other it is empty.
///
/// # Errors
/// The store or the journal can't be read.
pub(super) fn report(ostler: &Ostler, row: &TaskRow) -> Result<Report, ClientError> {
    if row.state != TaskState::Done {
        return Ok(Report::default());
    }
    let message = last_message(ostler, row)?;
    let Some(line) = answer(ostler, message.as_ref())? else { return Ok(Report::default()) };
    let usd = ostler.summary_of(row.session, row.delivery)?.turn_usd;
    let usage = line.usage.as_ref().map(|tokens| Usage {
        total_cost_usd: usd,
        input_tokens: tokens.input,
        output_tokens: tokens.output,
        cache_creation_input_tokens: tokens.cache_write(),
        cache_read_input_tokens: tokens.cache_read,
    });
    let errors = (!line.errors.is_empty()).then(|| line.errors.join("\n"));
    Ok(Report { answer: line.result.or(errors), usage })
}

/// Takes a task's message back, or breaks off the turn that works on it. Doing it twice is no harm.
pub(super) fn take_back(ostler: &Ostler, row: &TaskRow) {
    let done = match ostler.cancel(row.session, row.delivery) {
        Err(ClientError::TooLate { .. }) => match still_runs(ostler, row) {
            true => ostler.break_off(row.session, false).map(drop),
            false => Ok(()),
        },
        other => other,
    };
    if let Err(error) = done {
        // Whoever watches the task tries again.
        tracing::warn!(task = row.id, error = chain(&error), "a task could not be broken off");
    }
}

/// The session's turn is this task's: its message has no end.
fn still_runs(ostler: &Ostler, row: &TaskRow) -> bool {
    last_message(ostler, row).is_ok_and(|message| message.is_some_and(|m| !m.state.is_final()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_process_in_the_contracts_words() {
        assert_eq!(exit_words(Exit::Code(1)).as_deref(), Some("Claude process exited (code=1)"));
        assert_eq!(exit_words(Exit::Signal(15)).as_deref(), Some("Claude process exited (code=143)"));
        assert_eq!(exit_words(Exit::Unknown).as_deref(), Some("Claude process exited (code=unknown)"));
        assert_eq!((exit_words(Exit::Code(0)), exit_words(Exit::NotStarted)), (None, None));
    }

    #[test]
    fn an_error_of_any_kind_is_one() {
        let line = |subtype: &str, is_error| ResultLine {
            subtype: subtype.to_owned(),
            is_error,
            ..ResultLine::default()
        };
        assert_eq!(exit_code(&line("success", false)), 0);
        assert_eq!(exit_code(&line("success", true)), 1);
        assert_eq!(exit_code(&line("error_max_turns", false)), 1);
    }
}
