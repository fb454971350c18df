//! No code for this platform yet.

use super::Peer;
use crate::Unsupported;
use crate::poll::Source;
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

const SOCKET: Unsupported = Unsupported { what: "a local socket" };

/// A listening socket that somebody else has bound.
#[derive(Debug)]
pub enum Inherited {}

#[derive(Debug)]
pub(super) enum Listening {}

#[derive(Debug)]
pub(super) enum Connection {}

impl Listening {
    pub(super) fn bind(_path: &Path) -> io::Result<Self> {
        Err(SOCKET.into())
    }

    pub(super) fn inherit(socket: Inherited) -> io::Result<(Self, Option<PathBuf>)> {
        match socket {}
    }

    pub(super) fn accept(&self) -> io::Result<Option<Connection>> {
        match *self {}
    }

    pub(super) fn source(&self) -> Source<'_> {
        match *self {}
    }
}

impl Connection {
    pub(super) fn connect(_path: &Path) -> io::Result<Self> {
        Err(SOCKET.into())
    }

    pub(super) fn peer(&self) -> io::Result<Peer> {
        match *self {}
    }

    pub(super) fn read(&self, _buffer: &mut [u8]) -> io::Result<usize> {
        match *self {}
    }

    pub(super) fn write(&self, _bytes: &[u8]) -> io::Result<usize> {
        match *self {}
    }

    pub(super) fn source(&self) -> Source<'_> {
        match *self {}
    }
}

pub(super) fn is_socket(_metadata: &Metadata) -> bool {
    false
}
