//! What agents and people say of a whole session: declarations, closes, and what is deleted afterwards.

use crate::dice::Dice;
use crate::stage::Session;
use crate::told::{Declared, Shared};
use ostler_controller::client::{Declarer, Ostler, RubbishKind};
use ostler_core::record::Declaration;
use ostler_store::db::Fate;
use std::fs;
use std::time::Duration;
use uuid::Uuid;

/// So many sessions of a round stay open.
const OPEN: usize = 4;

/// Says where the session stands, as one of its child's processes would; now and then as somebody who may not.
pub(crate) fn declare(face: &Ostler, session: &Session, shared: &Shared, dice: &mut Dice) {
    let Ok(token) = fs::read_to_string(session.dir.token()) else { return };
    let Some(generation) = session.dir.generations().ok().and_then(|all| all.last().copied()) else { return };
    let mut by = Declarer { session: session.id, generation, token };
    let may = match dice.below(8) {
        0 => {
            by.token = "0".repeat(by.token.len());
            false
        }
        1 => {
            by.generation = generation.saturating_sub(1);
            false
        }
        _ => true,
    };
    let note = Uuid::new_v4().to_string();
    let result = face.declare(&by, *dice.of(&Declaration::ALL), Some(note.clone()));
    shared.counts.add(if result.is_ok() { "declarations" } else { "declarations refused" });
    shared.note_error(Some(session.id), result.as_ref().err());
    if let Ok(turn) = result {
        if !may {
            shared.counts.fail(format!("session {}: declared by somebody who may not", session.id));
        }
        shared.was_declared(Declared { session: session.id, turn, note });
    }
}

/// Ends a session for good, unless too few would be left.
pub(crate) fn close(face: &Ostler, sessions: usize, session: &Session, shared: &Shared, dice: &mut Dice) {
    if shared.end_of(session.id).is_none() && shared.ends() + OPEN >= sessions {
        return;
    }
    let purge = dice.once_in(3);
    shared.will_end(session.id, purge);
    let result = face.close(session.id, Fate::Remove, purge);
    shared.counts.add(if purge { "closes that delete" } else { "closes" });
    shared.note_error(Some(session.id), result.as_ref().err());
    if let Ok(closed) = result {
        shared.was_ended(session.id);
        if purge && !closed.purged && closed.tree.is_none() {
            shared.counts.add("closes that could not delete");
        }
    }
}

/// Deletes what nobody needs any more; now and then every session that is closed.
pub(crate) fn gc(face: &Ostler, sessions: &[Session], shared: &Shared, dice: &mut Dice) {
    let all = dice.once_in(4);
    if all {
        // Whichever is closed may be deleted from here on.
        for session in sessions.iter().filter(|session| shared.end_of(session.id).is_some()) {
            shared.will_end(session.id, true);
        }
    }
    let age = if all { Duration::ZERO } else { Duration::from_secs(3600) };
    let result = face.gc(age, false);
    shared.counts.add("clean-ups");
    shared.note_error(None, result.as_ref().err());
    for rubbish in result.unwrap_or_default() {
        let wanted = rubbish.session.and_then(|id| shared.end_of(id)).is_some_and(|end| end.purge);
        let fine = match rubbish.kind {
            RubbishKind::Session => all && wanted,
            // Another one deletes it right now.
            RubbishKind::Purged => true,
            _ => false,
        };
        if !fine {
            shared.counts.fail(format!("a clean-up deleted {rubbish:?}"));
        }
        shared.counts.add("cleaned up");
    }
}
