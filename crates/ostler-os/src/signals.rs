//! Signals as something to wait for.

#[cfg_attr(unix, path = "signals/unix.rs")]
#[cfg_attr(not(unix), path = "signals/unsupported.rs")]
mod platform;

use crate::poll::{Pollable, Source};
use std::io;

/// A signal that can be received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Ctrl-C.
    Interrupt,
    /// Please end.
    Terminate,
    /// The terminal is gone.
    Hangup,
    /// The terminal has another size.
    WindowChange,
    /// A child changed state.
    Child,
}

/// Receives signals instead of dying of them. One a process; dropping it puts back what was.
#[derive(Debug)]
pub struct Signals(platform::Receiver);

impl Signals {
    /// Starts to receive these.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] while another one lives.
    pub fn install(signals: &[Signal]) -> io::Result<Self> {
        platform::Receiver::install(signals).map(Self)
    }

    /// How often that signal came since the last time it was asked. (The system merges signals of a kind that come
    /// faster than they are delivered.)
    #[must_use]
    pub fn take(&self, signal: Signal) -> u32 {
        self.0.take(signal)
    }
}

impl Pollable for Signals {
    /// Readable while some signal was not taken.
    fn source(&self) -> Source<'_> {
        self.0.source()
    }
}

/// Makes writes to a broken pipe errors instead of death. Nothing changes when somebody has set a handler.
pub fn ignore_sigpipe() {
    platform::ignore_sigpipe();
}
