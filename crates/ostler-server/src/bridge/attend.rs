//! One task, from its place in the queue until its claude is gone.

use super::request::{Asked, Meant, Unmeant, chain};
use super::{Bridge, ending};
use crate::problem::Problem;
use ostler_controller::client::{ClientError, NewMessage, NewSession, Ostler, Waited};
use ostler_core::ids::Millis;
use ostler_core::machine::{Mode, Phase};
use ostler_os::lockfile;
use ostler_store::db::{self, Fate, Inserted, NewDelivery, TaskEnd, TaskRow, TaskState};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long one wait for a task's end takes, before its row is looked at again.
const ROUND: Duration = Duration::from_secs(2);
/// Rounds until what was to be broken off is broken off once more.
const AGAIN: u32 = 3;
/// Before the store is asked again that could not be asked.
const PAUSE: Duration = Duration::from_secs(1);
/// Between two looks whether a claude is gone.
const LOOK: Duration = Duration::from_millis(20);
/// For how long a claude must be gone where a keeper stays.
const COLD: Duration = Duration::from_secs(1);
/// How long a claude may take to leave after its turn, its tree's death included.
const LEAVE: Duration = Duration::from_secs(15);

/// Begins a task that a server has claimed, or goes on with one; comes back when its place is free.
pub(super) async fn attend(bridge: &Bridge, id: &str) {
    if let Some(row) = watch(bridge, id).await {
        leaves(bridge, &row).await;
    }
}

/// Makes the session and accepts the message, or ends the task with the reason why not.
async fn begin(bridge: &Bridge, row: TaskRow) -> Result<(), Problem> {
    let (making, id, at) = (bridge.clone(), row.id.clone(), bridge.app().now());
    let begin = move |ostler: &Ostler| {
        let Err(refused) = started(ostler, &making, &row, at) else { return Ok(()) };
        let end =
            TaskEnd { done: false, exit_code: 1, reason: Some(chain(&refused)), at: making.app().now() };
        ostler.db().end_task(&id, &end).map(drop).map_err(ClientError::from)
    };
    let begun = bridge.app().desk().patient(begin).await;
    bridge.touched();
    begun
}

/// Each step may be done again by whoever comes after a crash.
fn started(ostler: &Ostler, bridge: &Bridge, row: &TaskRow, at: Millis) -> Result<(), Unmeant> {
    let Some(request) = ostler.db().task_request(&row.id).map_err(ClientError::from)? else { return Ok(()) };
    let asked: Asked = serde_json::from_slice(&request).map_err(|e| Unmeant::Prompt(e.to_string()))?;
    let content = asked.content()?;
    let (session, mode, own) = match asked.meant(ostler, bridge)? {
        Meant::GoOn(session) => (session, Mode::Queue, false),
        Meant::New(mut spec) => {
            // Clients of the bridge have nobody who could answer a question of the model.
            spec.auto_continue = true;
            if ostler.db().session(row.session).map_err(ClientError::from)?.is_none() {
                let label = Some(row.id.clone());
                ostler.create(&NewSession { id: row.session, label, spec: *spec, at })?;
            }
            (row.session, Mode::Auto, true)
        }
    };
    let delivery = NewDelivery {
        id: row.delivery,
        session,
        body: content.to_stored(),
        mode: if own { db::Mode::Auto } else { db::Mode::Queue },
        idempotency_key: None,
        created_at: at,
        continues: None,
    };
    let behind = ostler.process(session).generation;
    let refused = |why| Err(Unmeant::Session(session.to_string(), why));
    match ostler.db().run_task(&row.id, &delivery, behind).map_err(ClientError::from)? {
        Some(Inserted::New { .. } | Inserted::Same { .. }) => {
            let message = NewMessage { id: row.delivery, content, mode, idempotency_key: None, at };
            // Accepted already; this tells a controller. Whoever watches tries again.
            if let Err(error) = ostler.deliver(session, &message) {
                tracing::warn!(task = row.id, error = chain(&error), "a task waits for a controller");
            }
            Ok(())
        }
        Some(Inserted::Stopped) => refused("is stopped"),
        Some(Inserted::Closed) => refused("is closed"),
        Some(Inserted::Sealed) => refused("is a sealed base, which takes nothing any more"),
        Some(Inserted::ConflictingBody { .. }) => refused("has another message of that id"),
        None => {
            if own {
                // Cancelled meanwhile: a session that nobody said anything to is none. What is left of it, `gc` finds.
                let _ = ostler.close(session, Fate::Discard, true);
            }
            Ok(())
        }
    }
}

/// Does what a task needs until it is over; gives its row.
async fn watch(bridge: &Bridge, id: &str) -> Option<TaskRow> {
    // Where an earlier server was asked to break it off, that is done at once; later whoever was asked is at it.
    let mut rounds = AGAIN;
    loop {
        let done = match bridge.look(id).await {
            Ok(Some(row)) if row.ended_at.is_none() => match row.state {
                TaskState::Running => {
                    if row.cancelled && rounds >= AGAIN {
                        rounds = 0;
                        bridge.take_back(id).await;
                    }
                    rounds = if row.cancelled { rounds + 1 } else { 1 };
                    bridge.wait(row).await
                }
                _ => begin(bridge, row).await,
            },
            Ok(over) => {
                bridge.touched();
                return over;
            }
            Err(problem) => Err(problem),
        };
        if let Err(problem) = done {
            tracing::warn!(task = id, detail = problem.detail(), "a task could not be looked after");
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Waits until the claude of a task that is over is gone, so that no more of them live than tasks may run. One that was just
/// being started when its task was cancelled may come yet, for as long as a keeper is there.
pub(super) async fn leaves(bridge: &Bridge, row: &TaskRow) {
    let until = Instant::now() + LEAVE;
    let session = row.session;
    let mut gone: Option<Instant> = None;
    while Instant::now() < until {
        let look = move |ostler: &Ostler| {
            let cold = ostler.process(session).phase == Phase::Cold;
            Ok::<_, ClientError>((cold, is_held(&ostler.home().session(session).keeper_lock())))
        };
        let (cold, kept) = bridge.app().desk().quick(look).await.unwrap_or((true, false));
        gone = cold.then(|| gone.unwrap_or_else(Instant::now));
        // A session that others use has a keeper all the time.
        if gone.is_some_and(|since| !kept || since.elapsed() >= COLD) {
            return;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Somebody holds a lock. One that can't be looked at is held by nobody who matters here.
fn is_held(path: &Path) -> bool {
    path.exists() && lockfile::try_lock_shared(path).is_ok_and(|free| free.is_none())
}

impl Bridge {
    /// Waits for a task's end for a while, and writes it down.
    async fn wait(&self, row: TaskRow) -> Result<(), Problem> {
        let clock = self.clone();
        let wait = move |ostler: &Ostler| {
            let waited = ostler.wait_for(row.session, row.delivery, Some(Instant::now() + ROUND))?;
            if matches!(waited, Waited::Parked(_) | Waited::Stopped(_)) {
                // Its client is told that it failed; then nobody may begin with it after all.
                ending::take_back(ostler, &row);
            }
            // Somebody may have cancelled it meanwhile.
            let row = ostler.db().task(&row.id)?.unwrap_or(row);
            if let Some(end) = ending::of(ostler, &row, &waited, clock.app().now())? {
                ostler.db().end_task(&row.id, &end)?;
            }
            Ok::<_, ClientError>(())
        };
        self.app().desk().patient(wait).await
    }
}
