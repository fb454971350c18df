//! A process that waits gives back the code that only its start needed.
//!
//! Keeper and controller of a session wait most of the time, and a machine may have hundreds of them. What they touch
//! again is mapped again, which costs some tens of page faults; so it is done when something was quiet for a while, and
//! not often.

use std::time::{Duration, Instant};

/// Quiet for this long is at rest. Longer than a controller's look at the store is away from what it says.
const QUIET: Duration = Duration::from_millis(700);
/// Not more often than this.
const PAUSE: Duration = Duration::from_secs(5);

/// When it was done last, and what has happened since.
#[derive(Debug)]
pub(crate) struct Slim {
    busy: Instant,
    /// Nothing was touched since it was done.
    done: bool,
    last: Option<Instant>,
}

impl Slim {
    pub(crate) fn new() -> Self {
        Self { busy: Instant::now(), done: false, last: None }
    }

    /// Something happened.
    pub(crate) fn touched(&mut self) {
        self.busy = Instant::now();
        self.done = false;
    }

    /// When [`Slim::down`] has something to do; None: not before something happens.
    pub(crate) fn due(&self) -> Option<Instant> {
        let quiet = self.busy + QUIET;
        (!self.done).then(|| self.last.map_or(quiet, |last| quiet.max(last + PAUSE)))
    }

    /// Gives back what it can, if that is due.
    pub(crate) fn down(&mut self) {
        if self.due().is_some_and(|due| Instant::now() >= due) {
            // What can't be given back is kept.
            let _ = ostler_os::memory::forget_code();
            ostler_os::memory::trim_heap();
            self.last = Some(Instant::now());
            self.done = true;
        }
    }
}
