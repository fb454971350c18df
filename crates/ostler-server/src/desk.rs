//! Running what blocks: on threads of the runtime's own pool, each with an open home.
//!
//! Two lanes. The quick one is for looks and rows, a few at a time: more would only wait for the same disk. The patient
//! one is for what waits for a child (an interrupt, a stop, a close), so that a hundred of those hold nobody else up.

use crate::problem::Problem;
use ostler_controller::client::{ClientError, Ostler};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;

/// How many quick ones run at once.
const QUICK: usize = 8;
/// How many patient ones run at once.
const PATIENT: usize = 64;
/// How many requests may wait for a lane before the next is refused.
const WAITING: usize = 4096;

/// The homes that are open, and who may use one.
#[derive(Debug)]
pub(crate) struct Desk {
    home: PathBuf,
    free: Arc<Mutex<Vec<Ostler>>>,
    quick: Arc<Semaphore>,
    patient: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

impl Desk {
    /// A desk over one home, which was opened once to see that it can be used.
    pub(crate) fn new(first: Ostler) -> Self {
        Self {
            home: first.home().root().to_owned(),
            free: Arc::new(Mutex::new(vec![first])),
            quick: Arc::new(Semaphore::new(QUICK)),
            patient: Arc::new(Semaphore::new(PATIENT)),
            waiting: Arc::new(Semaphore::new(WAITING)),
        }
    }

    /// The home's folder.
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// Runs something that touches the store and waits for nobody. It is finished even if the request is dropped.
    pub(crate) async fn quick<T, E>(
        &self,
        work: impl FnOnce(&Ostler) -> Result<T, E> + Send + 'static,
    ) -> Result<T, Problem>
    where
        T: Send + 'static,
        E: Into<Problem> + Send + 'static,
    {
        self.run(&self.quick, work).await
    }

    /// Runs something that may wait for a child, for seconds. It is finished even if the request is dropped.
    pub(crate) async fn patient<T, E>(
        &self,
        work: impl FnOnce(&Ostler) -> Result<T, E> + Send + 'static,
    ) -> Result<T, Problem>
    where
        T: Send + 'static,
        E: Into<Problem> + Send + 'static,
    {
        self.run(&self.patient, work).await
    }

    async fn run<T, E>(
        &self,
        lane: &Arc<Semaphore>,
        work: impl FnOnce(&Ostler) -> Result<T, E> + Send + 'static,
    ) -> Result<T, Problem>
    where
        T: Send + 'static,
        E: Into<Problem> + Send + 'static,
    {
        let _place = self.waiting.try_acquire().map_err(|_| Problem::busy())?;
        let permit = Arc::clone(lane).acquire_owned().await.map_err(|_| Problem::busy())?;
        let (free, home) = (Arc::clone(&self.free), self.home.clone());
        let done = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let ostler = match take(&free) {
                Some(ostler) => ostler,
                None => Ostler::open(&home).map_err(|e: ClientError| Problem::from(e))?,
            };
            let done = work(&ostler).map_err(Into::into);
            give_back(&free, ostler);
            done
        });
        // A panic in one request is that request's.
        done.await.unwrap_or_else(|_| Err(Problem::panicked()))
    }
}

fn take(free: &Mutex<Vec<Ostler>>) -> Option<Ostler> {
    free.lock().unwrap_or_else(PoisonError::into_inner).pop()
}

/// Keeps as many as are used all the time; a hundred interrupts at once leave no hundred connections behind.
fn give_back(free: &Mutex<Vec<Ostler>>, ostler: Ostler) {
    let mut free = free.lock().unwrap_or_else(PoisonError::into_inner);
    if free.len() < QUICK {
        free.push(ostler);
    }
}
