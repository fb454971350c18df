//! Faults that need more than a line of a reply: gates that hold a reply until somebody opens them.
//!
//! The others (statuses, cut streams, malformed events) are statements of a script and are carried out where the
//! answer is written.

use std::collections::BTreeSet;

use tokio::sync::watch;

/// More names than this are not remembered; a script has no use for them.
const MAX_GATES: usize = 10_000;

/// Named gates; each is closed until it is opened once, then open for good.
#[derive(Debug)]
pub(crate) struct Gates {
    open: watch::Sender<BTreeSet<String>>,
}

impl Gates {
    pub(crate) fn new() -> Self {
        Self { open: watch::Sender::new(BTreeSet::new()) }
    }

    pub(crate) fn open(&self, name: &str) {
        self.open.send_modify(|open| {
            if open.len() < MAX_GATES {
                open.insert(name.to_owned());
            }
        });
    }

    /// Returns when the gate is open.
    pub(crate) async fn passed(&self, name: &str) {
        let mut open = self.open.subscribe();
        // Fails only when the sender is gone, and we hold it.
        drop(open.wait_for(|open| open.contains(name)).await);
    }
}
