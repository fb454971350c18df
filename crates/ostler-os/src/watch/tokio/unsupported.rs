//! No code for this platform yet.

use std::io;

#[derive(Debug)]
pub(super) enum Ready {}

impl Ready {
    pub(super) fn new(_: std::fs::File) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) async fn wait(&self) -> io::Result<()> {
        match *self {}
    }
}
