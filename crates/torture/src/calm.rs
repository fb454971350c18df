//! After the storm: everything may go on, questions are decided, and what doesn't end by itself is told to.

use crate::dice::Dice;
use crate::stage::{Session, Stage};
use crate::told::Shared;
use crate::{harm, messages};
use ostler_controller::client::{Ostler, Waited};
use std::time::{Duration, Instant};

/// From here on a turn that does not end by itself is interrupted; then everything that waits is taken back as well; then
/// the child is stopped.
const INTERRUPT: Duration = Duration::from_millis(1_500);
const TAKE_BACK: Duration = Duration::from_millis(3_000);
const STOP: Duration = Duration::from_millis(6_000);
/// How long a session may take to come to rest, on a machine that has other things to do too.
const PATIENCE: Duration = Duration::from_secs(60);
/// For processes to leave after that.
const LEAVE: Duration = Duration::from_secs(20);
/// How often a session that waits for somebody to act is acted for.
const WOKEN: u32 = 8;

/// Waits until every session is at rest and its processes have left.
pub(crate) fn down(stage: &Stage, sessions: &[Session], shared: &Shared, seed: u64) {
    harm::go_on(shared, true);
    for session in sessions {
        session.opens("late");
    }
    std::thread::scope(|scope| {
        for (at, session) in sessions.iter().enumerate() {
            let mut dice = Dice::new(seed, 1_000 + at as u64);
            scope.spawn(move || one(&stage.face(), session, shared, &mut dice));
        }
    });
    let face = stage.face();
    let deadline = Instant::now() + LEAVE;
    while Instant::now() < deadline {
        // Every command sweeps: what nobody is left to see the end of is seen by whoever comes next.
        if let Err(error) = face.sweep() {
            shared.counts.fail(format!("a sweep failed: {error}"));
        }
        let left = sessions.iter().all(|s| s.keeper().is_none() && s.controller().is_none());
        if left && stage.processes().is_empty() && face.db().chores().is_ok_and(|all| all.is_empty()) {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn one(face: &Ostler, session: &Session, shared: &Shared, dice: &mut Dice) {
    let begun = Instant::now();
    let mut pushed = begun;
    let mut woken = 0;
    while begun.elapsed() < PATIENCE {
        messages::decide(face, session, shared, dice);
        match face.wait(session.id, Some(Instant::now() + Duration::from_millis(200))) {
            Ok(Waited::Settled(_)) => return,
            // Somebody acts: that is what it waits for.
            Ok(Waited::Parked(_)) if woken < WOKEN => {
                woken += 1;
                shared.counts.add("parked and woken");
                messages::act(face, session, shared);
            }
            Ok(Waited::Parked(reason)) => {
                shared.counts.fail(format!("session {} stays parked: {reason}", session.id));
                return;
            }
            Ok(Waited::Stopped(_)) => {
                let _ = face.resume(session.id);
                shared.counts.add("resumed at the end");
            }
            Ok(Waited::StillRunning) if woken < WOKEN && is_refused(face, session) => {
                woken += 1;
                shared.counts.add("signed in again");
                messages::act(face, session, shared);
            }
            Ok(Waited::StillRunning) => {}
            // It is deleted.
            Err(_) if face.db().session(session.id).is_ok_and(|row| row.is_none()) => return,
            Err(_) => {}
        }
        if begun.elapsed() >= INTERRUPT && pushed.elapsed() >= INTERRUPT / 2 {
            push(face, session, shared, begun.elapsed());
            pushed = Instant::now();
        }
    }
    let pending = face.db().pending_deliveries(session.id).unwrap_or_default();
    let status = face.status(session.id);
    shared.counts.fail(format!(
        "session {} ({}) does not come to rest: {} pending, {status:?}",
        session.id,
        session.nature,
        pending.len()
    ));
}

/// Who pays is refused until somebody signs in again and sends something.
fn is_refused(face: &Ostler, session: &Session) -> bool {
    let activity = face.status(session.id).ok().and_then(|status| status.activity);
    activity.is_some_and(|what| what.starts_with("credential refused"))
}

fn push(face: &Ostler, session: &Session, shared: &Shared, since: Duration) {
    if since < STOP {
        messages::break_off(face, session, shared, since >= TAKE_BACK);
        shared.counts.add("interrupted at the end");
    } else {
        shared.will_stop(session.id);
        let _ = face.stop(session.id);
        shared.counts.add("stopped at the end");
    }
}
