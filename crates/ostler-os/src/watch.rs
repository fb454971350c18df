//! Waiting until a file may have changed.
//!
//! One interface over inotify and polling. inotify instances are few (128 a user by default, inotify(7)), so a
//! process takes at most one, and goes without when there is none: then the paths are looked at every interval.

mod snapshot;
#[cfg(feature = "tokio")]
pub mod tokio;

#[cfg_attr(target_os = "linux", path = "watch/linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "watch/unsupported.rs")]
mod platform;

use crate::PathError;
use crate::poll::{Interest, Poller, Source};
use snapshot::Snapshot;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Which way to watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// By events where there is an instance to be had, else by polling.
    Auto,
    /// By polling.
    Poll,
}

/// Why [`FileWatch::wait`] returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Woken {
    /// These watched paths may have changed.
    Changed(Vec<PathBuf>),
    /// Events were lost: any watched path may have changed.
    Rescan,
    /// The other source with this index is ready for reading.
    Other(usize),
    /// The deadline came.
    Deadline,
}

/// A set of watched paths. A file has changed when it grew, was written, truncated, replaced or removed; a directory
/// when an entry came, went or was renamed.
#[derive(Debug)]
pub struct FileWatch {
    interval: Duration,
    /// May still try to get an instance.
    wants_events: bool,
    events: Option<platform::Events>,
    paths: BTreeMap<PathBuf, How>,
    /// How many of them are looked at.
    polled: usize,
    /// More events are there than were read.
    undrained: bool,
    /// Which paths an event is about; several names may lead to one file.
    by_watch: HashMap<platform::Watch, Vec<PathBuf>>,
}

/// How a path is watched.
#[derive(Debug)]
enum How {
    ByEvents(platform::Watch),
    ByLooking(Snapshot),
}

impl FileWatch {
    /// An empty set. `interval` is how often polled paths are looked at.
    #[must_use]
    pub fn new(backend: Backend, interval: Duration) -> Self {
        Self {
            interval,
            wants_events: backend == Backend::Auto,
            events: None,
            paths: BTreeMap::new(),
            polled: 0,
            undrained: false,
            by_watch: HashMap::new(),
        }
    }

    /// Watches a file or directory that exists. Changes from now on are reported, also those before the next wait.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] when there is nothing at that path.
    pub fn add(&mut self, path: &Path) -> Result<(), PathError> {
        if self.paths.contains_key(path) {
            return Ok(());
        }
        self.claim();
        match Snapshot::take(path) {
            Ok(Snapshot::Missing) => Err(PathError::new("watch", path, io::ErrorKind::NotFound)),
            Ok(snapshot) => {
                self.start(path, snapshot);
                Ok(())
            }
            Err(source) => Err(PathError::new("watch", path, source)),
        }
    }

    /// Takes the instance of this process, if it is wanted and to be had.
    fn claim(&mut self) {
        if self.wants_events && self.events.is_none() {
            self.events = platform::Events::claim();
            self.wants_events = self.events.is_some();
        }
    }

    /// Watches these paths and no others; what isn't there or can't be watched is left out. True when one is new: what
    /// happened to it before is not reported, so whoever reads it looks once more before waiting.
    pub fn set(&mut self, paths: impl IntoIterator<Item = PathBuf>) -> bool {
        let wanted: BTreeSet<PathBuf> = paths.into_iter().collect();
        let gone: Vec<PathBuf> = self.paths.keys().filter(|path| !wanted.contains(*path)).cloned().collect();
        gone.iter().for_each(|path| self.remove(path));
        let mut new = false;
        for path in &wanted {
            new |= !self.paths.contains_key(path) && self.add(path).is_ok();
        }
        new
    }

    /// Stops watching a path. One that isn't watched is ignored.
    pub fn remove(&mut self, path: &Path) {
        match self.paths.remove(path) {
            Some(How::ByEvents(watch)) => self.forget(watch, path),
            Some(How::ByLooking(_)) => self.polled -= 1,
            None => {}
        }
    }

    fn put(&mut self, path: &Path, how: How) {
        self.polled += usize::from(matches!(how, How::ByLooking(_)));
        if let Some(How::ByLooking(_)) = self.paths.insert(path.to_owned(), how) {
            self.polled -= 1;
        }
    }

    /// True when some watched path is polled, so that a change is noticed up to an interval late.
    #[must_use]
    pub fn is_polling(&self) -> bool {
        self.polled > 0
    }

    /// Waits until something changed, one of `others` is ready for reading, or the deadline (`None`: for ever).
    ///
    /// # Errors
    /// As the operating system says.
    pub fn wait(&mut self, deadline: Option<Instant>, others: &[Source<'_>]) -> io::Result<Woken> {
        let mut slice = Some(Instant::now());
        loop {
            // Others come first, so that a file that always changes can't drown a request to stop.
            if let Some(index) = self.sleep(slice, others)? {
                return Ok(Woken::Other(index));
            }
            match self.changes()? {
                Woken::Changed(paths) if paths.is_empty() => {}
                woken => return Ok(woken),
            }
            let now = Instant::now();
            if deadline.is_some_and(|deadline| deadline <= now) {
                return Ok(Woken::Deadline);
            }
            let look = self.is_polling().then(|| now + self.interval);
            slice = [deadline, look].into_iter().flatten().min();
        }
    }

    /// Until there are events, one of the others is ready (its index is given), or the deadline.
    fn sleep(&self, deadline: Option<Instant>, others: &[Source<'_>]) -> io::Result<Option<usize>> {
        let mut poller = Poller::new();
        for other in others {
            poller.add(*other, Interest::Read);
        }
        if let Some(events) = &self.events {
            poller.add(events.source(), Interest::Read);
        }
        poller.wait(deadline)?;
        Ok((0..others.len()).find(|index| poller.ready(*index).read))
    }

    /// What has changed by now.
    fn changes(&mut self) -> io::Result<Woken> {
        let mut changed = BTreeSet::new();
        if self.is_polling() {
            self.look(&mut changed)?;
        }
        let mut overflow = false;
        if let Some(events) = &self.events {
            let batch = events.drain()?;
            overflow = batch.overflow;
            self.undrained = batch.more;
            for (watch, elsewhere) in batch.watches {
                let paths = self.by_watch.get(&watch).cloned().unwrap_or_default();
                for path in &paths {
                    if elsewhere {
                        self.start_again(watch, path);
                    }
                }
                changed.extend(paths);
            }
        }
        if overflow {
            // The lost events may have said that files were moved.
            self.start_all_again();
            return Ok(Woken::Rescan);
        }
        Ok(Woken::Changed(changed.into_iter().collect()))
    }

    /// Looks at those that are polled.
    fn look(&mut self, changed: &mut BTreeSet<PathBuf>) -> io::Result<()> {
        let mut appeared = Vec::new();
        for (path, how) in &mut self.paths {
            if let How::ByLooking(before) = how {
                let now = Snapshot::take(path)?;
                if now != *before {
                    if *before == Snapshot::Missing {
                        appeared.push((path.clone(), now.clone()));
                    }
                    *before = now;
                    changed.insert(path.clone());
                }
            }
        }
        for (path, snapshot) in appeared {
            self.start(&path, snapshot);
        }
        Ok(())
    }

    fn start(&mut self, path: &Path, snapshot: Snapshot) {
        let watch = self.events.as_ref().and_then(|events| events.add(path, snapshot.is_directory()));
        let how = match watch {
            Some(watch) => {
                self.by_watch.entry(watch).or_default().push(path.to_owned());
                How::ByEvents(watch)
            }
            None => How::ByLooking(snapshot),
        };
        self.put(path, how);
    }

    /// The path may lead to another file now, or to none: then it is looked at until there is one.
    fn start_again(&mut self, watch: platform::Watch, path: &Path) {
        self.forget(watch, path);
        let snapshot = Snapshot::take(path).unwrap_or(Snapshot::Missing);
        if snapshot == Snapshot::Missing {
            self.put(path, How::ByLooking(snapshot));
        } else {
            self.start(path, snapshot);
        }
    }

    fn start_all_again(&mut self) {
        let watched: Vec<_> = self
            .by_watch
            .iter()
            .flat_map(|(watch, paths)| paths.iter().map(|path| (*watch, path.clone())))
            .collect();
        for (watch, path) in watched {
            self.start_again(watch, &path);
        }
    }

    fn forget(&mut self, watch: platform::Watch, path: &Path) {
        let Some(paths) = self.by_watch.get_mut(&watch) else { return };
        paths.retain(|other| other != path);
        if paths.is_empty() {
            self.by_watch.remove(&watch);
            if let Some(events) = &self.events {
                events.remove(watch);
            }
        }
    }
}

/// What was read from the instance.
#[derive(Debug, Default)]
struct Batch {
    /// Which watches had events, and whether one of them says that the file may be elsewhere now.
    watches: HashMap<platform::Watch, bool>,
    /// Events were lost.
    overflow: bool,
    /// It was enough for one reading, and there may be more.
    more: bool,
}
