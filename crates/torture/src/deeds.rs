//! What is done to the sessions: messages, interrupts, decisions, stops; and processes that are killed or paused.

use crate::count::Counts;
use crate::dice::Dice;
use crate::scripts;
use crate::stage::{Session, Stage, wall};
use ostler_controller::client::{ClientError, NewMessage, Ostler, Verdict};
use ostler_core::ctl::Decision;
use ostler_core::ids::{DeliveryId, SessionId};
use ostler_core::machine::Mode;
use ostler_os::process::PidFd;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Who decides questions here.
pub(crate) const NAME: &str = "torture";
/// How many processes stand still at a time, at most.
const PAUSED: usize = 4;

/// A message that was offered to ostler.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) session: SessionId,
    pub(crate) id: DeliveryId,
    pub(crate) key: &'static str,
    /// It was told to be accepted.
    pub(crate) accepted: bool,
}

/// What several workers share.
#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) sent: Mutex<Vec<Sent>>,
    paused: Mutex<Vec<(Instant, PidFd)>>,
    pub(crate) counts: Counts,
}

impl Shared {
    /// Lets processes go on whose time has come; all of them, if that is wanted.
    pub(crate) fn go_on(&self, all: bool) {
        let mut paused = self.paused.lock().unwrap_or_else(PoisonError::into_inner);
        paused.retain(|(until, handle)| {
            let due = all || *until <= Instant::now();
            if due {
                // It may be dead by now.
                let _ = handle.go_on();
            }
            !due
        });
    }

    pub(crate) fn send(&self, face: &Ostler, session: &Session, key: &'static str, pad: usize, mode: Mode) {
        let id = DeliveryId(Uuid::new_v4());
        let text = format!("[{key}] {}", "x".repeat(pad));
        let message = NewMessage { id, content: text.into(), mode, idempotency_key: None, at: wall() };
        let result = face.deliver(session.id, &message);
        self.counts.add(if result.is_ok() { "sent" } else { "sent, not answered" });
        self.note_error(result.as_ref().err());
        let sent = Sent { session: session.id, id, key, accepted: result.is_ok() };
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).push(sent);
    }

    /// Faces may be told that nobody could be reached; anything else is no answer to give.
    fn note_error(&self, error: Option<&ClientError>) {
        match error {
            None | Some(ClientError::Controller { .. } | ClientError::NotTaking { .. }) => {}
            Some(ClientError::Lost { .. } | ClientError::Withdrawn | ClientError::NoQuestion) => {}
            Some(other) => {
                self.counts.fail(format!("a face was told: {other}: {:?}", std::error::Error::source(other)));
            }
        }
    }

    /// Decides open questions, allowing or denying.
    pub(crate) fn decide(&self, face: &Ostler, session: &Session, dice: &mut Dice) {
        for row in face.db().pending_permissions(Some(session.id)).unwrap_or_default() {
            let allow = dice.once_in(2);
            let verdict = Verdict {
                generation: row.journal.generation,
                request_id: row.journal.request_id,
                decision: if allow { Decision::Allow } else { Decision::Deny },
                by: NAME.to_owned(),
                message: (!allow && dice.once_in(2)).then(|| "no".to_owned()),
                updated_input: None,
                at: wall(),
            };
            let decided = face.decide(session.id, &verdict);
            self.counts.add(if allow { "allowed" } else { "denied" });
            self.note_error(decided.as_ref().err());
        }
    }

    fn kill(&self, what: &'static str, victims: &[Option<PidFd>]) {
        // All are opened before the first is killed, so that none notices another's death before its own.
        let victims: Vec<&PidFd> = victims.iter().flatten().collect();
        if victims.is_empty() {
            return;
        }
        for victim in victims {
            let _ = victim.kill();
        }
        self.counts.add(what);
    }

    fn pause(&self, what: &'static str, victim: Option<PidFd>, time: Duration) {
        let mut paused = self.paused.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(victim) = victim.filter(|_| paused.len() < PAUSED)
            && victim.pause().unwrap_or(false)
        {
            paused.push((Instant::now() + time, victim));
            self.counts.add(what);
        }
    }
}

/// One worker: does one thing after another until the time is over.
pub(crate) fn work(stage: &Stage, sessions: &[Session], shared: &Shared, mut dice: Dice, until: Instant) {
    let face = stage.face();
    while Instant::now() < until {
        let session = dice.of(sessions);
        one(&face, session, shared, &mut dice);
        let pause = *dice.of(&[0, 0, 2, 5, 10, 20, 50, 120]);
        std::thread::sleep(Duration::from_millis(pause));
    }
}

fn one(face: &Ostler, session: &Session, shared: &Shared, dice: &mut Dice) {
    match dice.below(100) {
        0..40 => {
            let key = scripts::key(dice);
            // Some are longer than the pipe.
            let pad = if dice.once_in(40) { 100_000 } else { dice.below(200) };
            let mode = if dice.once_in(4) { Mode::Queue } else { Mode::Auto };
            shared.send(face, session, key, pad, mode);
        }
        40..52 => shared.decide(face, session, dice),
        52..57 => {
            let _ = face.interrupt(session.id, dice.once_in(2));
            shared.counts.add("interrupts");
        }
        57..59 => {
            let _ = face.stop(session.id);
            shared.counts.add("stops");
        }
        59..61 => {
            let _ = face.sweep();
            shared.counts.add("sweeps");
        }
        61..64 => {
            let _ = face.resume(session.id);
            shared.counts.add("resumes");
        }
        64..74 => shared.kill("controllers killed", &[session.controller()]),
        74..79 => shared.kill("keepers killed", &[session.keeper()]),
        79..84 => shared.kill("keeper and controller killed", &[session.keeper(), session.controller()]),
        84..90 => shared.kill("children killed", &[session.child()]),
        90..92 => {
            let all = [session.keeper(), session.controller(), session.child()];
            shared.kill("all three killed", &all);
        }
        n => {
            let time = Duration::from_millis(*dice.of(&[5, 20, 100, 400, 1_500]));
            match n {
                92..95 => shared.pause("controllers paused", session.controller(), time),
                95..97 => shared.pause("keepers paused", session.keeper(), time),
                _ => shared.pause("children paused", session.child(), time),
            }
        }
    }
}
