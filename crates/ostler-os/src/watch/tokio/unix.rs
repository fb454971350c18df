//! A descriptor that a runtime waits on.

#![expect(unsafe_code, reason = "tokio wants a promise that the descriptor stays the same and open")]

use std::io;
use std::os::fd::OwnedFd;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

#[derive(Debug)]
pub(super) struct Ready(AsyncFd<OwnedFd>);

impl Ready {
    pub(super) fn new(fd: OwnedFd) -> io::Result<Self> {
        // SAFETY: an `OwnedFd` has one descriptor, which it closes when it is dropped; the `AsyncFd` that holds it takes
        // it out of the runtime's hands before that.
        let registered = unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) };
        Ok(Self(registered?))
    }

    /// Until there is something to read. Whoever waits again has read all of it by then: what comes later is told.
    pub(super) async fn wait(&self) -> io::Result<()> {
        self.0.readable().await?.clear_ready();
        Ok(())
    }
}
