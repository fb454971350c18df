//! What is done to processes and to files that are not ostler's own: kills, pauses, transcripts that others touch.

use crate::stage::Session;
use crate::told::{Shared, lock};
use ostler_controller::client::Ostler;
use ostler_os::process::PidFd;
use std::fs;
use std::io::Write;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// How many processes stand still at a time, at most.
const PAUSED: usize = 4;

/// Lets processes go on whose time has come; all of them, if that is wanted.
pub(crate) fn go_on(shared: &Shared, all: bool) {
    lock(&shared.paused).retain(|(until, handle)| {
        let due = all || *until <= Instant::now();
        if due {
            // It may be dead by now.
            let _ = handle.go_on();
        }
        !due
    });
}

pub(crate) fn kill(shared: &Shared, what: &'static str, victims: &[Option<PidFd>]) {
    // All are opened before the first is killed, so that none notices another's death before its own.
    let victims: Vec<&PidFd> = victims.iter().flatten().collect();
    if victims.is_empty() {
        return;
    }
    for victim in victims {
        let _ = victim.kill();
    }
    shared.counts.add(what);
}

pub(crate) fn pause(shared: &Shared, what: &'static str, victim: Option<PidFd>, time: Duration) {
    let mut paused = lock(&shared.paused);
    if let Some(victim) = victim.filter(|_| paused.len() < PAUSED)
        && victim.pause().unwrap_or(false)
    {
        paused.push((Instant::now() + time, victim));
        shared.counts.add(what);
    }
}

/// Another program's clean-up deletes the conversation.
pub(crate) fn sweep_transcript(face: &Ostler, session: &Session, shared: &Shared) {
    if session.transcript(face).is_some_and(|path| fs::remove_file(path).is_ok()) {
        shared.counts.add("transcripts deleted by others");
    }
}

/// Somebody else goes on with the conversation.
pub(crate) fn write_transcript(face: &Ostler, session: &Session, shared: &Shared) {
    let Some(path) = session.transcript(face) else { return };
    let row = format!(
        "{{\"type\":\"user\",\"uuid\":\"{}\",\"message\":{{\"role\":\"user\",\"content\":\"hello\"}}}}\n",
        Uuid::new_v4()
    );
    let file = fs::File::options().append(true).open(path);
    if file.and_then(|mut file| file.write_all(row.as_bytes())).is_ok() {
        shared.counts.add("transcripts written to by others");
    }
}
