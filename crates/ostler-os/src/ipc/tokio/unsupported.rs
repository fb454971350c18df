//! No code for this platform yet.

use super::super::{Peer, platform};
use std::io;

/// Never made: there is nothing that could accept one.
pub(super) type Connection = tokio::net::TcpStream;

#[derive(Debug)]
pub(super) enum Listening {}

impl Listening {
    pub(super) fn new(socket: platform::Listening) -> io::Result<Self> {
        match socket {}
    }

    pub(super) async fn accept(&self) -> io::Result<(Connection, Peer)> {
        match *self {}
    }
}
