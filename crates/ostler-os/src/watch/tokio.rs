//! The same for a tokio runtime: one set that many tasks add to, and one task that waits for all of them.

#[cfg_attr(unix, path = "tokio/unix.rs")]
#[cfg_attr(not(unix), path = "tokio/unsupported.rs")]
mod platform;

use super::{Backend, FileWatch, Woken};
use crate::PathError;
use platform::Ready;
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// A set of watched paths; see [`FileWatch`].
#[derive(Debug)]
pub struct SharedWatch {
    set: Mutex<FileWatch>,
    interval: Duration,
    /// None: there was no instance to be had.
    ready: Option<Ready>,
    /// A path was added that has to be looked at.
    news: Notify,
}

impl SharedWatch {
    /// An empty set. `interval` is how often polled paths are looked at.
    ///
    /// # Errors
    /// The runtime can't wait for events. A lack of instances is none: then all paths are polled.
    ///
    /// # Panics
    /// Outside a runtime.
    pub fn new(backend: Backend, interval: Duration) -> io::Result<Self> {
        let mut set = FileWatch::new(backend, interval);
        set.claim();
        // No second try later: nobody would wait for its events.
        set.wants_events = false;
        let ready = set.events.as_ref().map(|events| Ready::new(events.waiting()?)).transpose()?;
        Ok(Self { set: Mutex::new(set), interval, ready, news: Notify::new() })
    }

    /// Watches a file or directory that exists. Changes from now on are reported.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] when there is nothing at that path.
    pub fn add(&self, path: &Path) -> Result<(), PathError> {
        let mut set = self.set();
        let was_polling = set.is_polling();
        let added = set.add(path);
        if set.is_polling() && !was_polling {
            self.news.notify_one();
        }
        added
    }

    /// Stops watching a path. One that isn't watched is ignored.
    pub fn remove(&self, path: &Path) {
        self.set().remove(path);
    }

    /// True when some watched path is polled, so that a change is noticed up to an interval late.
    #[must_use]
    pub fn is_polling(&self) -> bool {
        self.set().is_polling()
    }

    /// Waits until something changed: [`Woken::Changed`] or [`Woken::Rescan`]. One task at a time.
    ///
    /// # Errors
    /// As the operating system says.
    pub async fn changed(&self) -> io::Result<Woken> {
        loop {
            let (woken, rest) = {
                let mut set = self.set();
                let woken = set.changes()?;
                let rest = if set.undrained { Rest::None } else { Rest::of(set.is_polling()) };
                (woken, rest)
            };
            match woken {
                Woken::Changed(paths) if paths.is_empty() => self.rest(rest).await?,
                woken => return Ok(woken),
            }
        }
    }

    async fn rest(&self, rest: Rest) -> io::Result<()> {
        match rest {
            Rest::None => Ok(()),
            Rest::Interval => match tokio::time::timeout(self.interval, self.woken()).await {
                Ok(woken) => woken,
                Err(_) => Ok(()),
            },
            Rest::Long => self.woken().await,
        }
    }

    async fn woken(&self) -> io::Result<()> {
        let events = async {
            match &self.ready {
                Some(ready) => ready.wait().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            woken = events => woken,
            () = self.news.notified() => Ok(()),
        }
    }

    fn set(&self) -> MutexGuard<'_, FileWatch> {
        self.set.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// For how long nothing needs to be looked at.
#[derive(Clone, Copy, Debug)]
enum Rest {
    None,
    Interval,
    /// Until there is an event.
    Long,
}

impl Rest {
    const fn of(is_polling: bool) -> Self {
        if is_polling { Self::Interval } else { Self::Long }
    }
}
