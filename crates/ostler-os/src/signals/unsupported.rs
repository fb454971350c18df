//! No code for this platform yet.

use super::Signal;
use crate::Unsupported;
use crate::poll::Source;
use std::io;

#[derive(Debug)]
pub(super) enum Receiver {}

impl Receiver {
    pub(super) fn install(_signals: &[Signal]) -> io::Result<Self> {
        Err(Unsupported { what: "receiving signals" }.into())
    }

    pub(super) fn take(&self, _signal: Signal) -> u32 {
        match *self {}
    }

    pub(super) fn source(&self) -> Source<'_> {
        match *self {}
    }
}

/// There is no such signal here.
pub(super) fn ignore_sigpipe() {}
