//! Signals as something to wait for.

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
pub struct Signals {
    lent: (),
}

impl Signals {
    /// Starts to receive these.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] while another one lives.
    pub fn install(signals: &[Signal]) -> io::Result<Self> {
        todo!()
    }

    /// How often that signal came since the last time it was asked. (The system merges signals of a kind that come
    /// faster than they are delivered.)
    pub fn take(&self, signal: Signal) -> u32 {
        todo!()
    }
}

impl Pollable for Signals {
    /// Readable while some signal was not taken.
    fn source(&self) -> Source<'_> {
        todo!()
    }
}

/// Makes writes to a broken pipe errors instead of death. Nothing changes when somebody has set a handler.
pub fn ignore_sigpipe() {
    todo!()
}
