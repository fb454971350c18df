//! Tells somebody outside that claude asks something.
//!
//! A thread of its own looks for questions that wait, puts each into a queue in the store, and then sends what is there: so each
//! is told at least once, also when the server is killed, and whoever gets one twice sees that by its id. Nothing waits for
//! the receiver. What was decided meanwhile is not told any more.

mod payload;
mod send;

use crate::app::App;
use ostler_controller::client::{ClientError, Ostler};
use ostler_core::ids::Millis;
use ostler_store::db::{PermissionRow, WebhookEnd, WebhookRow};
use send::Sender;
pub use send::{Secret, WebhookError};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// How many questions may be in the queue. Those behind are found again when there is a place.
const MOST: usize = 10_000;
/// Between two looks for questions.
const LOOK: Duration = Duration::from_millis(250);
/// How long one attempt may take.
const WITHIN: Duration = Duration::from_secs(10);
/// Before the second attempt, in milliseconds; twice as long before each further one …
const FIRST_PAUSE: i64 = 1_000;
/// … up to this.
const LONGEST_PAUSE: i64 = 300_000;
/// The oldest question that is told, in milliseconds.
const OLDEST: i64 = 24 * 3_600_000;

/// Whom to tell, and how.
#[derive(Debug)]
pub struct WebhookOptions {
    /// Where to: https, or http on loopback.
    pub url: String,
    /// What messages are signed with.
    pub secret: Secret,
    /// How often one is tried.
    pub attempts: u32,
}

/// What the thread needs.
pub(crate) struct Webhook {
    app: App,
    home: PathBuf,
    sender: Sender,
    attempts: u32,
    /// What our own address begins with, for whoever wants to decide.
    base: Option<String>,
}

impl Webhook {
    /// # Errors
    /// The URL can't be used.
    pub(crate) fn new(
        app: App,
        home: PathBuf,
        options: WebhookOptions,
        base: Option<String>,
    ) -> Result<Self, WebhookError> {
        let sender = Sender::new(options.url, options.secret, WITHIN)?;
        Ok(Self { app, home, sender, attempts: options.attempts.max(1), base })
    }

    /// Works until `end` says something, or nobody is left who could.
    pub(crate) fn run(&self, end: &Receiver<()>) {
        let mut pause = Duration::ZERO;
        while end.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
            pause = match Ostler::open(&self.home).map_err(Into::into).and_then(|home| self.work(&home, end))
            {
                Ok(()) => return,
                Err(error) => {
                    tracing::warn!(error = %crate::problem::chain(error.as_ref()), "the webhook's queue can't be used");
                    Duration::from_secs(5)
                }
            };
        }
    }

    fn work(&self, ostler: &Ostler, end: &Receiver<()>) -> Result<(), Box<dyn std::error::Error>> {
        let mut glance = ostler.db().glance();
        let mut next = None;
        while end.recv_timeout(if next == Some(Millis(0)) { Duration::ZERO } else { LOOK })
            == Err(RecvTimeoutError::Timeout)
        {
            let now = self.app.now();
            if glance.changed() {
                let (_, late) = ostler.db().webhook_fit(now, MOST)?;
                if late > 0 {
                    tracing::warn!(late, "the webhook's queue is full");
                }
            } else if next.is_none_or(|next| now < next) {
                continue;
            }
            next = match ostler.db().webhook_due(now)? {
                Ok(row) => {
                    self.tell(ostler, &row)?;
                    // There may be one more.
                    Some(Millis(0))
                }
                Err(next) => next,
            };
        }
        Ok(())
    }

    /// One attempt.
    fn tell(&self, ostler: &Ostler, row: &WebhookRow) -> Result<(), ClientError> {
        let now = self.app.now();
        let Some(asked) = still_open(ostler, row)? else {
            // Somebody was faster; the next look forgets it.
            ostler.db().webhook_fit(now, MOST)?;
            return Ok(());
        };
        let spent = row.attempts >= self.attempts || now.since(row.created_at) > OLDEST;
        let body = if spent { None } else { payload::body(ostler, &asked, row, self.base.as_deref(), now) };
        let Some(body) = body else {
            tracing::warn!(attempts = row.attempts, id = %row.id, "a webhook is given up");
            self.app.metrics().webhook("given_up");
            return Ok(ostler.db().webhook_tried(row.id, Some(WebhookEnd::GivenUp), None)?);
        };
        ostler.db().webhook_begins(row.id, now.plus(pause_after(row.attempts)))?;
        match self.sender.send(row.id, now, &body) {
            Ok(()) => {
                self.app.metrics().webhook("sent");
                Ok(ostler.db().webhook_tried(row.id, Some(WebhookEnd::Sent), None)?)
            }
            Err(why) => {
                tracing::warn!(attempt = row.attempts + 1, id = %row.id, why, "a webhook was not taken");
                self.app.metrics().webhook("failed");
                Ok(ostler.db().webhook_tried(row.id, None, Some(&why))?)
            }
        }
    }
}

/// The question, if anybody can still decide it.
fn still_open(ostler: &Ostler, row: &WebhookRow) -> Result<Option<PermissionRow>, ClientError> {
    let open = ostler.db().pending_permissions(Some(row.session))?;
    Ok(open
        .into_iter()
        .find(|one| one.journal.generation == row.generation && one.journal.request_id == row.request_id))
}

/// How long to wait behind an attempt, when there were so many before it; milliseconds.
fn pause_after(attempts: u32) -> i64 {
    FIRST_PAUSE.checked_shl(attempts.min(20)).unwrap_or(LONGEST_PAUSE).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_five_minutes() {
        let all: Vec<i64> = [0, 1, 2, 8, 9, 63, u32::MAX].into_iter().map(pause_after).collect();
        assert_eq!(all, [1_000, 2_000, 4_000, 256_000, 300_000, 300_000, 300_000]);
    }
}
