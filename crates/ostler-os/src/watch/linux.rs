//! inotify(7).

use super::Batch;
use crate::poll::Source;
use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init, remove_watch};
use rustix::io::Errno;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// This process has its instance.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The most events that one reading takes, so that a file that is always written can't hold us up.
const ONE_READING: usize = 16_384;

pub(super) type Watch = i32;

/// The instance of this process.
#[derive(Debug)]
pub(super) struct Events(OwnedFd);

impl Events {
    /// `None`: this process has one already, or this user has too many (or the kernel has none to give).
    pub(super) fn claim() -> Option<Self> {
        if TAKEN.swap(true, Ordering::AcqRel) {
            return None;
        }
        match init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK) {
            Ok(fd) => Some(Self(fd)),
            Err(_) => {
                TAKEN.store(false, Ordering::Release);
                None
            }
        }
    }

    /// `None`: this user has too many watches, or the file is gone.
    pub(super) fn add(&self, path: &Path, is_directory: bool) -> Option<Watch> {
        // ATTRIB is how the removal of a file that somebody has open is told.
        let itself = WatchFlags::ATTRIB | WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF;
        let flags = if is_directory {
            WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::MOVED_FROM | WatchFlags::MOVED_TO | itself
        } else {
            WatchFlags::MODIFY | itself
        };
        add_watch(&self.0, path, flags).ok()
    }

    pub(super) fn remove(&self, watch: Watch) {
        // It is gone by itself when its file is.
        let _ = remove_watch(&self.0, watch);
    }

    pub(super) fn drain(&self) -> io::Result<Batch> {
        const ELSEWHERE: ReadFlags = ReadFlags::ATTRIB
            .union(ReadFlags::DELETE_SELF)
            .union(ReadFlags::MOVE_SELF)
            .union(ReadFlags::IGNORED);
        let mut batch = Batch::default();
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(&self.0, &mut buffer);
        let mut count = 0;
        batch.more = true;
        while count < ONE_READING || !reader.is_buffer_empty() {
            count += 1;
            match reader.next() {
                Ok(event) if event.events().contains(ReadFlags::QUEUE_OVERFLOW) => batch.overflow = true,
                Ok(event) => {
                    // A directory's attributes change with what is in it; its entries' don't concern us.
                    let elsewhere = event.events().intersects(ELSEWHERE) && event.file_name().is_none();
                    *batch.watches.entry(event.wd()).or_default() |= elsewhere;
                }
                Err(Errno::AGAIN) => {
                    batch.more = false;
                    break;
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(batch)
    }

    /// The same instance under another descriptor, for a runtime to wait on.
    #[cfg(feature = "tokio")]
    pub(super) fn waiting(&self) -> io::Result<OwnedFd> {
        self.0.try_clone()
    }

    pub(super) fn source(&self) -> Source<'_> {
        self.0.as_fd().into()
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        TAKEN.store(false, Ordering::Release);
    }
}
