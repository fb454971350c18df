//! No code for this platform yet.

use super::OpenError;
use crate::poll::Source;
use crate::{PathError, Unsupported};
use std::io;
use std::path::Path;

const FIFO: Unsupported = Unsupported { what: "a FIFO" };

#[derive(Debug)]
pub(super) enum End {}

pub(super) fn create(_path: &Path) -> io::Result<()> {
    Err(FIFO.into())
}

impl End {
    pub(super) fn open(path: &Path) -> Result<Self, OpenError> {
        Err(PathError::new("open for writing", path, FIFO).into())
    }

    pub(super) fn capacity(&self) -> io::Result<usize> {
        match *self {}
    }

    pub(super) fn pending(&self) -> io::Result<usize> {
        match *self {}
    }

    pub(super) fn grow(&self, _bytes: usize) -> io::Result<usize> {
        match *self {}
    }

    pub(super) fn write_some(&self, _bytes: &[u8]) -> io::Result<usize> {
        match *self {}
    }

    pub(super) fn source(&self) -> Source<'_> {
        match *self {}
    }
}
