//! No code for this platform yet.

use super::{Size, Stream};
use crate::Unsupported;
use crate::poll::Source;
use std::io;

pub(super) fn size(_stream: Stream) -> Option<Size> {
    None
}

#[derive(Debug)]
pub(super) enum Raw {}

impl Raw {
    pub(super) fn enter() -> io::Result<Self> {
        Err(Unsupported { what: "reading single keys" }.into())
    }

    pub(super) fn read(&self, _buffer: &mut [u8]) -> io::Result<usize> {
        match *self {}
    }

    pub(super) fn source(&self) -> Source<'_> {
        match *self {}
    }
}
