//! What every request needs.

use crate::desk::Desk;
use crate::events::Hub;
use crate::launch::Launch;
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::problem::Problem;
use ostler_core::ids::Millis;
use std::fmt;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// One running server, as its routes see it. Cheap to clone.
#[derive(Clone)]
pub(crate) struct App {
    shared: Arc<Shared>,
}

struct Shared {
    desk: Desk,
    launch: Box<dyn Launch>,
    now: fn() -> Millis,
    leaving: watch::Receiver<bool>,
    limits: Limits,
    large_bodies: Arc<Semaphore>,
    metrics: Metrics,
    hub: Arc<Hub>,
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App").field("desk", &self.shared.desk).finish_non_exhaustive()
    }
}

impl App {
    pub(crate) fn new(
        desk: Desk,
        launch: Box<dyn Launch>,
        now: fn() -> Millis,
        leaving: watch::Receiver<bool>,
        limits: Limits,
        hub: Arc<Hub>,
    ) -> Self {
        let large_bodies = Arc::new(Semaphore::new(limits.large_bodies));
        Self {
            shared: Arc::new(Shared {
                desk,
                launch,
                now,
                leaving,
                limits,
                large_bodies,
                hub,
                metrics: Metrics::new(),
            }),
        }
    }

    /// Where what blocks is run.
    pub(crate) fn desk(&self) -> &Desk {
        &self.shared.desk
    }

    /// Who makes launch specs.
    pub(crate) fn launch(&self) -> &dyn Launch {
        self.shared.launch.as_ref()
    }

    /// The wall clock.
    pub(crate) fn now(&self) -> Millis {
        (self.shared.now)()
    }

    /// What one client may cost.
    pub(crate) fn limits(&self) -> &Limits {
        &self.shared.limits
    }

    /// What is counted.
    pub(crate) fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }

    /// It takes no more connections.
    pub(crate) fn is_leaving(&self) -> bool {
        *self.shared.leaving.borrow()
    }

    /// Waits for a place for one more large body.
    pub(crate) async fn large_body(&self) -> Result<OwnedSemaphorePermit, Problem> {
        Arc::clone(&self.shared.large_bodies).acquire_owned().await.map_err(|_| Problem::busy())
    }

    /// Who is told when which files change.
    pub(crate) fn hub(&self) -> &Arc<Hub> {
        &self.shared.hub
    }

    /// Resolves when the server is about to leave: streams end then, at a place from which they can be gone on with.
    pub(crate) async fn leaving(&self) {
        let mut leaving = self.shared.leaving.clone();
        // An error: the server is gone already.
        let _ = leaving.wait_for(|leaving| *leaving).await;
    }
}
