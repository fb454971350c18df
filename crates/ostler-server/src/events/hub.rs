//! Who is told when which files change: one watch for the whole server, a room for each thing that is followed, and a bell
//! in each room.
//!
//! A room's files are watched while somebody is in it. Nothing is read here, and nothing is kept for anybody: a reader who
//! does not read costs its place in a file.

use super::bell::{Bell, Ear, Rung};
use ostler_os::watch::tokio::SharedWatch;
use ostler_os::watch::{Backend, Woken};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often files are looked at where no events of changes are to be had.
const POLL: Duration = Duration::from_millis(20);

/// All rooms.
#[derive(Debug)]
pub(crate) struct Hub {
    watch: SharedWatch,
    rooms: Mutex<Rooms>,
    leaving: AtomicBool,
}

#[derive(Debug, Default)]
struct Rooms {
    by_name: HashMap<PathBuf, Room>,
    /// Whose a watched path is, and whether it is a folder.
    by_path: HashMap<PathBuf, (Arc<Bell>, bool)>,
}

/// What is followed by one or more.
#[derive(Debug)]
struct Room {
    bell: Arc<Bell>,
    visitors: usize,
    /// The newest generation that somebody came to.
    newest: u32,
    paths: HashSet<PathBuf>,
}

impl Hub {
    /// A hub with the one inotify instance of this process, or none.
    ///
    /// # Errors
    /// The runtime can't wait for files.
    pub(crate) fn new(backend: Backend) -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            watch: SharedWatch::new(backend, POLL)?,
            rooms: Mutex::default(),
            leaving: AtomicBool::new(false),
        }))
    }

    /// Rings the bells. For one task, as long as the server is there.
    pub(crate) async fn run(self: Arc<Self>) {
        loop {
            match self.watch.changed().await {
                Ok(Woken::Changed(paths)) => self.rooms().ring(&paths),
                Ok(_) => self.ring_all(),
                Err(error) => {
                    // Without news everybody looks as often as if files were polled.
                    tracing::warn!(%error, "changes of files can't be waited for");
                    tokio::time::sleep(POLL).await;
                    self.ring_all();
                }
            }
        }
    }

    /// The server leaves: everybody is told, and finds [`Self::is_leaving`].
    pub(crate) fn leave(&self) {
        self.leaving.store(true, Ordering::Release);
        self.ring_all();
    }

    /// Streams end now, at a place from which they can be gone on with.
    pub(crate) fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::Acquire)
    }

    /// Comes into the room called `name`: a session's folder, or another path that tells the rooms apart.
    pub(crate) fn enter(self: &Arc<Self>, name: &Path) -> Visit {
        let mut rooms = self.rooms();
        let room = rooms.by_name.entry(name.to_owned()).or_insert_with(|| Room {
            bell: Arc::default(),
            visitors: 0,
            newest: 0,
            paths: HashSet::new(),
        });
        room.visitors += 1;
        Visit { ear: room.bell.ear(), hub: Arc::clone(self), name: name.to_owned(), set: None }
    }

    #[cfg(test)]
    pub(crate) fn visitors(&self) -> usize {
        self.rooms().by_name.values().map(|room| room.visitors).sum()
    }

    #[cfg(test)]
    pub(crate) fn is_watching(&self) -> bool {
        !self.rooms().by_path.is_empty()
    }

    fn ring_all(&self) {
        self.rooms().by_name.values().for_each(|room| room.bell.ring(true));
    }

    fn rooms(&self) -> MutexGuard<'_, Rooms> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches these paths for a room. True when one of them was not watched before: then it is to be looked at once more,
    /// by everybody in the room.
    fn attend(&self, name: &Path, generation: u32, paths: Vec<PathBuf>) -> bool {
        let mut rooms = self.rooms();
        let Rooms { by_name, by_path } = &mut *rooms;
        let Some(room) = by_name.get_mut(name) else { return false };
        if generation < room.newest {
            // Somebody was further already, and what he came to was told when it appeared.
            return false;
        }
        if generation > room.newest {
            room.newest = generation;
            let kept: HashSet<&PathBuf> = paths.iter().collect();
            let gone: Vec<PathBuf> = room.paths.iter().filter(|path| !kept.contains(path)).cloned().collect();
            for path in gone {
                self.forget(&path, room, by_path);
            }
        }
        let mut new = false;
        for path in paths {
            if room.paths.contains(&path) || self.watch.add(&path).is_err() {
                continue;
            }
            new = true;
            let is_folder = path.is_dir();
            by_path.insert(path.clone(), (Arc::clone(&room.bell), is_folder));
            room.paths.insert(path);
        }
        let bell = Arc::clone(&room.bell);
        drop(rooms);
        if new {
            bell.ring(true);
        }
        new
    }

    fn forget(&self, path: &Path, room: &mut Room, by_path: &mut HashMap<PathBuf, (Arc<Bell>, bool)>) {
        room.paths.remove(path);
        by_path.remove(path);
        self.watch.remove(path);
    }

    fn leave_room(&self, name: &Path) {
        let mut rooms = self.rooms();
        let Rooms { by_name, by_path } = &mut *rooms;
        let Entry::Occupied(mut room) = by_name.entry(name.to_owned()) else { return };
        room.get_mut().visitors -= 1;
        if room.get().visitors == 0 {
            let mut room = room.remove();
            for path in std::mem::take(&mut room.paths) {
                self.forget(&path, &mut room, by_path);
            }
        }
    }
}

impl Rooms {
    fn ring(&self, paths: &[PathBuf]) {
        for path in paths {
            if let Some((bell, is_folder)) = self.by_path.get(path) {
                bell.ring(*is_folder);
            }
        }
    }
}

/// Being in a room; ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Visit {
    hub: Arc<Hub>,
    name: PathBuf,
    ear: Ear,
    /// For which generation, and since when, all paths that there are have been watched.
    set: Option<(u32, u64)>,
}

impl Visit {
    /// To wait with.
    pub(crate) fn ear(&self) -> &Ear {
        &self.ear
    }

    /// The hub.
    pub(crate) fn hub(&self) -> &Hub {
        &self.hub
    }

    /// Makes sure that whatever `paths` lists is watched, before waiting. `rung`: of before the look that found nothing
    /// more; `generation`: how far that look came. True: look once more, some of it was not watched yet.
    pub(crate) fn attend(
        &mut self,
        rung: Rung,
        generation: u32,
        paths: impl FnOnce() -> Vec<PathBuf>,
    ) -> bool {
        if self.set == Some((generation, rung.moved)) {
            return false;
        }
        let new = self.hub.attend(&self.name, generation, paths());
        self.set = (!new).then_some((generation, rung.moved));
        new
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.hub.leave_room(&self.name);
    }
}
