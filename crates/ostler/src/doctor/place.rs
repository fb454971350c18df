//! Where ostler keeps its records: the file system, the owner, the room.

use super::{Context, Finding};
use ostler_os::durable;
use std::path::Path;

/// Below this, long sessions may fill it.
const LOW: u64 = 2_000_000_000;

/// Below this, sessions park with `disk full` soon.
const VERY_LOW: u64 = 100_000_000;

pub(super) fn findings(context: &Context<'_>) -> Vec<Finding> {
    // What isn't there yet will be made on the file system of the nearest folder above it.
    let Some(there) = context.home.ancestors().find(|p| p.exists()) else { return Vec::new() };
    let mut all = vec![file_system(context.home, there)];
    all.extend(room(there));
    if there == context.home {
        all.extend(owner(there));
    }
    all
}

fn file_system(home: &Path, there: &Path) -> Finding {
    const ID: &str = "home.file_system";
    match durable::is_network_fs(there) {
        Ok(true) => Finding::fail(
            ID,
            format!("home {} is on a network file system", home.display()),
            "file locks and the database are not reliable there",
            "set OSTLER_HOME to a folder on a local disk",
        ),
        Ok(false) => Finding::ok(ID, format!("home {} is on a local file system", home.display())),
        Err(e) => Finding::fail(
            ID,
            format!("home {} can't be looked at: {}", home.display(), super::report(&e)),
            "every session's records are there",
            "correct its permissions, or set OSTLER_HOME to another folder",
        ),
    }
}

fn room(there: &Path) -> Option<Finding> {
    durable::free_space(there).ok().map(|free| judge_room(there, free))
}

fn judge_room(there: &Path, free: u64) -> Finding {
    const ID: &str = "home.disk";
    let what = format!("{} MB free at {}", free / 1_000_000, there.display());
    let why =
        "journals grow with what the children print; on a full disk sessions are interrupted and parked";
    let advice = "make room, or set OSTLER_HOME to a folder on another disk";
    match free {
        ..VERY_LOW => Finding::fail(ID, what, why, advice),
        VERY_LOW..LOW => Finding::warn(ID, what, why, advice),
        _ => Finding::ok(ID, what),
    }
}

fn owner(home: &Path) -> Option<Finding> {
    const ID: &str = "home.owner";
    match durable::owner_is_me(home) {
        Ok(true) => None,
        Ok(false) => Some(Finding::fail(
            ID,
            format!("home {} belongs to another user", home.display()),
            "records of sessions are private, and only their owner may run them",
            "run ostler as that user, or set OSTLER_HOME to a folder of your own",
        )),
        // Said already by the file system's finding.
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{LOW, VERY_LOW, judge_room};
    use crate::doctor::Status;
    use std::path::Path;

    #[test]
    fn room_gets_short_before_it_is_gone() {
        let status = |free| judge_room(Path::new("/x"), free).status;
        assert_eq!([status(0), status(VERY_LOW - 1)], [Status::Fail; 2]);
        assert_eq!([status(VERY_LOW), status(LOW - 1)], [Status::Warn; 2]);
        assert_eq!(status(LOW), Status::Ok);
    }
}
