//! Workers, who do one thing after another: how often which.

use crate::dice::Dice;
use crate::stage::{Session, Stage};
use crate::told::Shared;
use crate::{ends, harm, messages};
use ostler_controller::client::Ostler;
use std::time::{Duration, Instant};

/// Does one thing after another until the time is over.
pub(crate) fn work(stage: &Stage, sessions: &[Session], shared: &Shared, mut dice: Dice, until: Instant) {
    let face = stage.face();
    while Instant::now() < until {
        one(&face, sessions, shared, &mut dice);
        let pause = *dice.of(&[0, 0, 2, 5, 10, 20, 50, 120]);
        std::thread::sleep(Duration::from_millis(pause));
    }
}

/// A gentle session is broken off by nobody, nor does it declare anything, which would end its old child: so what is
/// taken back there was never begun.
fn one(face: &Ostler, sessions: &[Session], shared: &Shared, dice: &mut Dice) {
    let mut session = dice.of(sessions);
    if shared.end_of(session.id).is_some() && !dice.once_in(10) {
        // What is over answers to everything in the same way.
        session = dice.of(sessions);
    }
    match dice.below(1_000) {
        0..340 => messages::send(face, session, shared, dice),
        340..360 => messages::send_again(face, session, shared, dice),
        360..470 => messages::decide(face, session, shared, dice),
        470..500 if !session.gentle => messages::break_off(face, session, shared, false),
        500..520 if !session.gentle => messages::break_off(face, session, shared, true),
        470..590 if session.gentle => messages::take_back(face, session, shared, dice),
        520..560 => messages::take_back(face, session, shared, dice),
        560..590 if !session.gentle => ends::declare(face, session, shared, dice),
        590..602 if !session.gentle => {
            shared.will_stop(session.id);
            let stopped = face.stop(session.id);
            shared.note_error(Some(session.id), stopped.as_ref().err());
            shared.counts.add("stops");
        }
        590..615 => {
            let swept = face.sweep();
            shared.note_error(None, swept.as_ref().err());
            shared.counts.add("sweeps");
        }
        615..660 => {
            let resumed = face.resume(session.id);
            shared.note_error(Some(session.id), resumed.as_ref().err());
            shared.counts.add("resumes");
        }
        660..664 => ends::close(face, sessions.len(), session, shared, dice),
        664..672 => ends::gc(face, sessions, shared, dice),
        672..680 => harm::sweep_transcript(face, session, shared),
        680..686 => harm::write_transcript(face, session, shared),
        roll => hurt(session, shared, dice, roll),
    }
}

fn hurt(session: &Session, shared: &Shared, dice: &mut Dice, roll: usize) {
    let time = Duration::from_millis(*dice.of(&[5, 20, 100, 400, 1_500]));
    match roll {
        ..770 => harm::kill(shared, "controllers killed", &[session.controller()]),
        770..815 => harm::kill(shared, "keepers killed", &[session.keeper()]),
        815..860 => {
            let both = [session.keeper(), session.controller()];
            harm::kill(shared, "keeper and controller killed", &both);
        }
        860..915 => harm::kill(shared, "children killed", &[session.child()]),
        915..930 => {
            let all = [session.keeper(), session.controller(), session.child()];
            harm::kill(shared, "all three killed", &all);
        }
        930..955 => harm::pause(shared, "controllers paused", session.controller(), time),
        955..975 => harm::pause(shared, "keepers paused", session.keeper(), time),
        _ => harm::pause(shared, "children paused", session.child(), time),
    }
}
