//! After the storm: everything may go on, questions are decided, and what can't end by itself is told to.

use crate::deeds::Shared;
use crate::dice::Dice;
use crate::stage::{Session, Stage};
use ostler_controller::client::{Ostler, Waited};
use ostler_core::machine::Mode;
use std::time::{Duration, Instant};

/// How long a session may take to come to rest.
const PATIENCE: Duration = Duration::from_secs(120);
/// Until a turn that does not end by itself is interrupted, and until its child is stopped.
const INTERRUPT: Duration = Duration::from_secs(3);
const STOP: Duration = Duration::from_secs(7);

/// Waits until every session is at rest and its processes have left.
pub(crate) fn down(stage: &Stage, sessions: &[Session], shared: &Shared, seed: u64) {
    shared.go_on(true);
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
    let deadline = Instant::now() + Duration::from_secs(30);
    while Instant::now() < deadline {
        // Every command sweeps: what nobody is left to see the end of is seen by whoever comes next.
        if let Err(error) = face.sweep() {
            shared.counts.fail(format!("a sweep failed: {error}"));
        }
        if sessions.iter().all(|s| s.keeper().is_none() && s.controller().is_none())
            && stage.processes().is_empty()
        {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn one(face: &Ostler, session: &Session, shared: &Shared, dice: &mut Dice) {
    let begun = Instant::now();
    let (mut interrupted, mut stopped) = (begun, begun);
    let mut woken = 0;
    while begun.elapsed() < PATIENCE {
        shared.decide(face, session, dice);
        match face.wait(session.id, Some(Instant::now() + Duration::from_millis(300))) {
            Ok(Waited::Settled(_)) => return,
            // Somebody acts: that is what it waits for.
            Ok(Waited::Parked(_)) if woken < 8 => {
                woken += 1;
                shared.counts.add("parked and woken");
                shared.send(face, session, "plain", 0, Mode::Auto);
            }
            Ok(Waited::Parked(reason)) => {
                shared.counts.fail(format!("session {} stays parked: {reason}", session.id));
                return;
            }
            Ok(Waited::Stopped(_)) => {
                let _ = face.resume(session.id);
                shared.counts.add("resumed at the end");
            }
            Ok(Waited::StillRunning) | Err(_) => {}
        }
        if begun.elapsed() >= STOP && stopped.elapsed() >= STOP / 2 {
            let _ = face.stop(session.id);
            shared.counts.add("stopped at the end");
            stopped = Instant::now();
        } else if begun.elapsed() >= INTERRUPT && interrupted.elapsed() >= INTERRUPT / 2 {
            let _ = face.interrupt(session.id, false);
            shared.counts.add("interrupted at the end");
            interrupted = Instant::now();
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
