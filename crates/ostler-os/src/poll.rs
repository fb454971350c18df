//! Waiting for several things at once, with a deadline.

#[cfg_attr(unix, path = "poll/unix.rs")]
#[cfg_attr(not(unix), path = "poll/unsupported.rs")]
mod platform;

use std::io;
use std::time::Instant;

/// Something that can be waited for, borrowed from its owner.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a>(platform::Handle<'a>);

/// What can be waited for.
pub trait Pollable {
    /// The handle to wait on.
    fn source(&self) -> Source<'_>;
}

/// What to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Until a read wouldn't block (data, end, or error).
    Read,
    /// Until a write wouldn't block (room or error).
    Write,
    /// Either.
    Both,
}

/// What is possible now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ready {
    /// A read wouldn't block.
    pub read: bool,
    /// A write wouldn't block.
    pub write: bool,
}

impl Ready {
    /// Something is possible.
    #[must_use]
    pub fn any(self) -> bool {
        self.read || self.write
    }
}

/// A set of sources, filled for one wait.
#[derive(Debug, Default)]
pub struct Poller<'a>(platform::Set<'a>);

impl<'a> Poller<'a> {
    /// An empty set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a source; gives its index for [`Poller::ready`].
    pub fn add(&mut self, source: Source<'a>, interest: Interest) -> usize {
        self.0.add(source.0, interest)
    }

    /// Waits until a source is ready or the deadline (`None`: for ever); how many are ready. Signals don't end it.
    ///
    /// # Errors
    /// As the operating system says.
    pub fn wait(&mut self, deadline: Option<Instant>) -> io::Result<usize> {
        self.0.wait(deadline)
    }

    /// What the source with that index is ready for, as of the last wait.
    #[must_use]
    pub fn ready(&self, index: usize) -> Ready {
        self.0.ready(index)
    }
}

/// Ends somebody's wait from another thread: its source is ready for reading after [`Waker::wake`].
#[derive(Debug)]
pub struct Waker(platform::Bell);

impl Waker {
    /// A waker that nobody has woken.
    ///
    /// # Errors
    /// When there are no descriptors left.
    pub fn new() -> io::Result<Self> {
        platform::Bell::new().map(Self)
    }

    /// Makes it ready. Once is as good as many times.
    pub fn wake(&self) {
        self.0.ring();
    }

    /// The descriptor that a signal handler writes to.
    #[cfg(unix)]
    pub(crate) fn rope(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.rope()
    }

    /// Makes it not ready again; true when it was.
    #[expect(clippy::must_use_candidate, reason = "clearing is the point")]
    pub fn clear(&self) -> bool {
        self.0.clear()
    }
}

impl Pollable for Waker {
    fn source(&self) -> Source<'_> {
        self.0.source()
    }
}
