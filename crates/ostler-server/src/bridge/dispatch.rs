//! The queue: what waits begins in the order in which it was asked for, and never more than so many at once.
//!
//! A place is taken from the moment when a server begins to make a task's session until its claude is gone, not only until
//! it has answered. A task that an earlier server had begun is taken over.

use super::attend::{attend, leaves};
use super::{Bridge, MAX_CONCURRENT};
use crate::problem::Problem;
use ostler_controller::client::{ClientError, Ostler};
use std::collections::{HashMap, HashSet};
use std::time::Duration;
use tokio::task::{Id, JoinSet};

/// Between two looks without being woken.
const LOOK: Duration = Duration::from_secs(1);
/// How far back an ended task's claude may still be leaving.
const LEAVING: i64 = 20_000;

/// Works off the queue of a bridge until the server leaves.
pub(crate) async fn dispatch(bridge: Bridge) {
    let (taken, of, running) = (HashSet::new(), HashMap::new(), JoinSet::new());
    let mut places = Places { bridge: bridge.clone(), taken, of, running };
    places.take_over_the_leaving().await;
    loop {
        if let Err(problem) = places.fill().await {
            tracing::warn!(detail = problem.detail(), "the queue could not be looked at");
        }
        tokio::select! {
            () = bridge.shared.wake.notified() => {}
            () = tokio::time::sleep(LOOK) => {}
            Some(done) = places.running.join_next_with_id() => {
                places.is_free(done.map_or_else(|error| error.id(), |(id, ())| id));
            }
            () = bridge.app().leaving() => break,
        }
    }
}

struct Places {
    bridge: Bridge,
    /// Tasks that have one.
    taken: HashSet<String>,
    /// Which one each of those below is about.
    of: HashMap<Id, String>,
    running: JoinSet<()>,
}

impl Places {
    async fn take_over_the_leaving(&mut self) {
        let since = self.bridge.app().now().plus(-LEAVING);
        let place = self.bridge.options().cwd.clone();
        let ended =
            move |ostler: &Ostler| ostler.db().tasks_ended_since(&place, since).map_err(ClientError::from);
        for row in self.bridge.app().desk().quick(ended).await.unwrap_or_default() {
            let bridge = self.bridge.clone();
            self.take(row.id.clone(), async move { leaves(&bridge, &row).await });
        }
    }

    /// Takes over what has begun, and begins what waits while there is a place.
    async fn fill(&mut self) -> Result<(), Problem> {
        let place = self.bridge.options().cwd.clone();
        let most = self.bridge.options().max_concurrent.clamp(1, MAX_CONCURRENT);
        let look = move |ostler: &Ostler| {
            let under_way = ostler.db().tasks_under_way(&place)?;
            let queued = ostler.db().tasks_queued(&place, most)?;
            Ok::<_, ClientError>((under_way, queued))
        };
        let (under_way, queued) = self.bridge.app().desk().quick(look).await?;
        for row in under_way {
            self.attend(row.id);
        }
        let free = (most as usize).saturating_sub(self.taken.len());
        for row in queued.into_iter().take(free) {
            let (id, at) = (row.id.clone(), self.bridge.app().now());
            let claim = move |ostler: &Ostler| ostler.db().claim_task(&id, at).map_err(ClientError::from);
            if self.bridge.app().desk().quick(claim).await? {
                self.attend(row.id);
            }
        }
        Ok(())
    }

    fn attend(&mut self, id: String) {
        let (bridge, name) = (self.bridge.clone(), id.clone());
        self.take(id, async move { attend(&bridge, &name).await });
    }

    /// Gives a place to a task that has none, for as long as `what` takes.
    fn take(&mut self, id: String, what: impl Future<Output = ()> + Send + 'static) {
        if self.taken.insert(id.clone()) {
            let handle = self.running.spawn(what);
            self.of.insert(handle.id(), id);
        }
    }

    fn is_free(&mut self, place: Id) {
        if let Some(task) = self.of.remove(&place) {
            self.taken.remove(&task);
        }
    }
}
