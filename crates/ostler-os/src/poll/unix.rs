//! poll(2), and a pipe to ring.

use super::{Interest, Ready, Source};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

pub(super) type Handle<'a> = BorrowedFd<'a>;

impl<'a> From<BorrowedFd<'a>> for Source<'a> {
    fn from(fd: BorrowedFd<'a>) -> Self {
        Self(fd)
    }
}

impl AsFd for Source<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0
    }
}

#[derive(Debug, Default)]
pub(super) struct Set<'a>(Vec<PollFd<'a>>);

impl<'a> Set<'a> {
    pub(super) fn add(&mut self, handle: Handle<'a>, interest: Interest) -> usize {
        let flags = match interest {
            Interest::Read => PollFlags::IN,
            Interest::Write => PollFlags::OUT,
            Interest::Both => PollFlags::IN | PollFlags::OUT,
        };
        self.0.push(PollFd::from_borrowed_fd(handle, flags));
        self.0.len() - 1
    }

    pub(super) fn wait(&mut self, deadline: Option<Instant>) -> io::Result<usize> {
        loop {
            let timeout = deadline.map(until);
            match poll(&mut self.0, timeout.as_ref()) {
                Err(rustix::io::Errno::INTR) => {}
                other => return Ok(other?),
            }
        }
    }

    pub(super) fn ready(&self, index: usize) -> Ready {
        let Some(entry) = self.0.get(index) else { return Ready::default() };
        let got = entry.revents();
        // An end or an error makes both a read and a write return at once.
        let over = got.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL);
        Ready { read: over || got.intersects(PollFlags::IN), write: over || got.intersects(PollFlags::OUT) }
    }
}

/// What is left until `deadline`; nothing when it has passed.
fn until(deadline: Instant) -> Timespec {
    let left = deadline.saturating_duration_since(Instant::now());
    Timespec {
        tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(left.subsec_nanos()) as _,
    }
}

#[derive(Debug)]
pub(super) struct Bell {
    hears: PipeReader,
    rings: PipeWriter,
}

impl Bell {
    pub(super) fn new() -> io::Result<Self> {
        let (hears, rings) = io::pipe()?;
        rustix::io::ioctl_fionbio(&hears, true)?;
        rustix::io::ioctl_fionbio(&rings, true)?;
        Ok(Self { hears, rings })
    }

    pub(super) fn ring(&self) {
        // The only error there can be is that the pipe is full, and then the bell has been rung.
        let _ = (&self.rings).write(&[1]);
    }

    pub(super) fn clear(&self) -> bool {
        let mut rung = false;
        let mut buffer = [0; 256];
        while matches!((&self.hears).read(&mut buffer), Ok(1..)) {
            rung = true;
        }
        rung
    }

    pub(super) fn source(&self) -> Source<'_> {
        self.hears.as_fd().into()
    }

    /// The descriptor that a signal handler writes to.
    pub(super) fn rope(&self) -> BorrowedFd<'_> {
        self.rings.as_fd()
    }
}
