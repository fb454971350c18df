//! When those who wait for something look again: at once after a change of our own, and soon after one of somebody else.

use std::time::Duration;
use tokio::sync::watch;

/// Between two looks at a journal that grows.
pub(super) const LOOK: Duration = Duration::from_millis(20);
/// Between two looks at rows that another process may have changed.
pub(super) const ROWS: Duration = Duration::from_millis(100);

/// Beats when a row of a task was changed by this process.
#[derive(Debug)]
pub(super) struct Pulse {
    beats: watch::Sender<u64>,
}

impl Default for Pulse {
    fn default() -> Self {
        Self { beats: watch::Sender::new(0) }
    }
}

impl Pulse {
    pub(super) fn beat(&self) {
        self.beats.send_modify(|beats| *beats = beats.wrapping_add(1));
    }

    /// Who wants to know of every beat from now on.
    pub(super) fn listen(&self) -> watch::Receiver<u64> {
        self.beats.subscribe()
    }
}

/// Waits for the next beat, at most so long. True: there was one.
pub(super) async fn next(beats: &mut watch::Receiver<u64>, most: Duration) -> bool {
    tokio::time::timeout(most, beats.changed()).await.is_ok()
}
