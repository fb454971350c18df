//! Waiting for a session, and what to print when it is over.

use super::talk::{PROMPT_ANSWER, ask};
use super::{ClientError, Ostler, Summary, Waited};
use crate::protocol::{Answer, Ask};
use claude_wire::{Frame, Message};
use ostler_core::ids::SessionId;
use ostler_core::machine::Phase;
use ostler_core::record::State;
use ostler_core::rows::{Projection, Tokens, Turn};
use std::io::ErrorKind;
use std::time::{Duration, Instant};

/// Between two looks at the store.
const LOOK: Duration = Duration::from_millis(20);
/// Between two looks whether somebody works on it.
const ATTEND: Duration = Duration::from_secs(1);

impl Ostler {
    /// Waits until nothing is owed: every delivery is final and no turn runs.
    ///
    /// # Errors
    /// The store can't be read; [`ClientError::Controller`] when work waits and no controller can be started.
    pub fn wait(&self, session: SessionId, deadline: Option<Instant>) -> Result<Waited, ClientError> {
        self.wait_until(session, deadline, || self.settled(session))
    }

    /// Looks until `look` finds an end, and makes sure that somebody works on the session meanwhile.
    pub(super) fn wait_until(
        &self,
        session: SessionId,
        deadline: Option<Instant>,
        look: impl Fn() -> Result<Option<Waited>, ClientError>,
    ) -> Result<Waited, ClientError> {
        let mut looked: Option<Instant> = None;
        loop {
            if let Some(waited) = look()? {
                return Ok(waited);
            }
            if deadline.is_some_and(|at| Instant::now() >= at) {
                return Ok(Waited::StillRunning);
            }
            if looked.is_none_or(|at| at.elapsed() >= ATTEND) {
                looked = Some(Instant::now());
                if let Some(reason) = self.look_after(session, deadline)? {
                    return Ok(Waited::Parked(reason));
                }
            }
            std::thread::sleep(LOOK);
        }
    }

    /// One look: what a wait would come to now; None while something is owed.
    ///
    /// # Errors
    /// The store can't be read.
    pub fn settled(&self, session: SessionId) -> Result<Option<Waited>, ClientError> {
        // The record first: a delivery that is accepted between the two looks is then not overlooked.
        let (record, _) = self.db().record(session)?;
        let pending = self.db().pending_deliveries(session)?;
        if record.online() && (record.state == State::Active || !pending.is_empty()) {
            return Ok(None);
        }
        let rows = self.db().load_projection(session)?;
        if record.online() {
            return Ok(Some(Waited::Settled(last_settled(&rows))));
        }
        let running = rows.turns.last().is_some_and(|turn| turn.settled_at.is_none());
        if running || self.process(session).phase != Phase::Cold {
            // It is being ended.
            return Ok(None);
        }
        if record.stopped && !record.closed && !pending.is_empty() {
            return Ok(Some(Waited::Stopped(u32::try_from(pending.len()).unwrap_or(u32::MAX))));
        }
        Ok(Some(Waited::Settled(last_settled(&rows))))
    }

    /// Makes sure that somebody works on it; the reason why nothing can go on, if there is one.
    fn look_after(
        &self,
        session: SessionId,
        deadline: Option<Instant>,
    ) -> Result<Option<String>, ClientError> {
        let left = deadline.map_or(PROMPT_ANSWER, |at| at.saturating_duration_since(Instant::now()));
        let socket = self.home().session(session).control_sock();
        match ask(&socket, &Ask::Status, left.min(PROMPT_ANSWER)) {
            Ok(Answer::Status { status }) => {
                return Ok(status.parked.filter(|_| status.turn.is_none() || status.stuck));
            }
            // Not proven silent: there was no time to wait for its answer.
            Err(error) if error.kind() == ErrorKind::TimedOut && left < PROMPT_ANSWER => return Ok(None),
            _ => {}
        }
        if !self.is_attended(session)?
            && let Some(reason) = self.parked(session)?
        {
            return Ok(Some(reason));
        }
        if let Some(reason) = self.no_room(session) {
            return Ok(Some(reason));
        }
        // A controller that is there and doesn't answer is as good as none.
        self.ensure(session)?;
        Ok(None)
    }

    /// What to print when a turn is over.
    ///
    /// # Errors
    /// The store can't be read.
    pub fn summary(&self, session: SessionId) -> Result<Summary, ClientError> {
        let rows = self.db().load_projection(session)?;
        let turn = last_settled(&rows);
        let answer = match &turn {
            Some(turn) => self.answer_of(session, turn)?,
            None => None,
        };
        let of_turn =
            rows.spend.iter().filter(|s| turn.as_ref().is_some_and(|t| t.generation == s.generation));
        Ok(Summary {
            outcome: turn.as_ref().and_then(|t| t.outcome),
            answer,
            turns: u32::try_from(rows.turns.len()).unwrap_or(u32::MAX),
            tokens: rows.spend.iter().fold(Tokens::default(), |sum, s| sum.plus(s.tokens)),
            usd: rows.spend.iter().map(|s| s.usd).sum(),
            turn_usd: of_turn.map(|s| s.usd).sum(),
            cache: rows.generations.iter().find_map(|g| g.cache),
            turn,
        })
    }

    /// The text of a turn's last main-lane answer.
    fn answer_of(&self, session: SessionId, turn: &Turn) -> Result<Option<String>, ClientError> {
        let Some((start, end)) = turn.answer else { return Ok(None) };
        let files = self.home().session(session).generation(turn.generation);
        let bytes = ostler_store::journal::read_range(&files, start, end)
            .map_err(|source| ClientError::Journal { session, source: Box::new(source) })?;
        Ok(match Frame::from_vec(bytes).into_message() {
            Message::Result(line) => line.result,
            _ => None,
        })
    }
}

fn last_settled(rows: &Projection) -> Option<Turn> {
    rows.turns.iter().rev().find(|t| t.settled_at.is_some()).cloned()
}
