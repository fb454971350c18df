//! What ostler was asked for and what it said: the other half of what the judge compares.

use crate::count::Counts;
use crate::dice::Dice;
use crate::stage::Session;
use ostler_controller::client::ClientError;
use ostler_core::content::Content;
use ostler_core::ids::{DeliveryId, SessionId, TurnNo};
use ostler_os::process::PidFd;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Messages of a session that are taken back or sent again are among the last so many.
const RECENT: usize = 10;

/// A message that was offered to ostler.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) session: SessionId,
    pub(crate) id: DeliveryId,
    pub(crate) key: &'static str,
    pub(crate) content: Content,
    /// The sender's own name for it.
    pub(crate) name: Option<String>,
    /// It was told to be accepted.
    pub(crate) accepted: bool,
}

/// A declaration that was told to be taken.
#[derive(Clone, Debug)]
pub(crate) struct Declared {
    pub(crate) session: SessionId,
    pub(crate) turn: TurnNo,
    /// Different for each.
    pub(crate) note: String,
}

/// What is known of a session's end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct End {
    /// A close was told to be done.
    pub(crate) told: bool,
    /// Everything of it may be deleted.
    pub(crate) purge: bool,
}

/// What several workers share.
#[derive(Default)]
pub(crate) struct Shared {
    sent: Mutex<Vec<Sent>>,
    /// Messages that ostler said it took back.
    back: Mutex<Vec<(SessionId, DeliveryId)>>,
    declared: Mutex<Vec<Declared>>,
    ends: Mutex<BTreeMap<SessionId, End>>,
    stopped: Mutex<BTreeSet<SessionId>>,
    pub(crate) paused: Mutex<Vec<(Instant, PidFd)>>,
    pub(crate) counts: Counts,
}

impl Shared {
    pub(crate) fn was_sent(&self, sent: Sent) {
        lock(&self.sent).push(sent);
    }

    pub(crate) fn sent_to(&self, session: SessionId) -> Vec<Sent> {
        lock(&self.sent).iter().filter(|sent| sent.session == session).cloned().collect()
    }

    /// One of the last messages of a session that `fits`.
    pub(crate) fn recent(
        &self,
        session: &Session,
        dice: &mut Dice,
        fits: impl Fn(&Sent) -> bool,
    ) -> Option<Sent> {
        let all = lock(&self.sent);
        let last: Vec<&Sent> =
            all.iter().rev().filter(|s| s.session == session.id && fits(s)).take(RECENT).collect();
        (!last.is_empty()).then(|| (*dice.of(&last)).clone())
    }

    pub(crate) fn was_taken_back(&self, session: SessionId, ids: impl IntoIterator<Item = DeliveryId>) {
        let mut back = lock(&self.back);
        for id in ids {
            back.push((session, id));
            self.counts.add("taken back");
        }
    }

    pub(crate) fn taken_back_of(&self, session: SessionId) -> Vec<DeliveryId> {
        lock(&self.back).iter().filter(|(of, _)| *of == session).map(|(_, id)| *id).collect()
    }

    pub(crate) fn was_declared(&self, declared: Declared) {
        lock(&self.declared).push(declared);
    }

    pub(crate) fn declared_of(&self, session: SessionId) -> Vec<Declared> {
        lock(&self.declared).iter().filter(|d| d.session == session).cloned().collect()
    }

    /// Somebody is about to end it for good.
    pub(crate) fn will_end(&self, session: SessionId, purge: bool) {
        lock(&self.ends).entry(session).or_default().purge |= purge;
    }

    pub(crate) fn was_ended(&self, session: SessionId) {
        lock(&self.ends).entry(session).or_default().told = true;
    }

    /// None: nobody wanted it ended.
    pub(crate) fn end_of(&self, session: SessionId) -> Option<End> {
        lock(&self.ends).get(&session).copied()
    }

    /// Somebody is about to stop it.
    pub(crate) fn will_stop(&self, session: SessionId) {
        lock(&self.stopped).insert(session);
    }

    /// Nobody has ever stopped or ended it.
    pub(crate) fn was_left_alone(&self, session: SessionId) -> bool {
        self.end_of(session).is_none() && !lock(&self.stopped).contains(&session)
    }

    pub(crate) fn ends(&self) -> usize {
        lock(&self.ends).len()
    }

    /// Faces may be told that nobody could be reached, or that it is too late; anything else is no answer to give.
    /// Of a session that is being deleted nothing need be found.
    pub(crate) fn note_error(&self, session: Option<SessionId>, error: Option<&ClientError>) {
        let fine = match error {
            None | Some(ClientError::Controller { .. }) => true,
            Some(ClientError::Lost { .. } | ClientError::Withdrawn | ClientError::NoQuestion) => true,
            Some(ClientError::TooLate { .. } | ClientError::Undeclared { .. }) => true,
            Some(ClientError::NotTaking { .. }) => true,
            Some(_) => session.and_then(|id| self.end_of(id)).is_some_and(|end| end.purge),
        };
        if let Some(error) = error.filter(|_| !fine) {
            let source = std::error::Error::source(error);
            self.counts.fail(format!("a face of {session:?} was told: {error}: {source:?}"));
        }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
