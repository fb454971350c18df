//! unix(7), through tokio.

use super::super::{Peer, platform};
use std::io;
use tokio::net::{UnixListener, UnixStream};

pub(super) type Connection = UnixStream;

#[derive(Debug)]
pub(super) struct Listening(UnixListener);

impl Listening {
    pub(super) fn new(socket: platform::Listening) -> io::Result<Self> {
        UnixListener::from_std(socket.into_std()).map(Self)
    }

    pub(super) async fn accept(&self) -> io::Result<(Connection, Peer)> {
        let (stream, _) = self.0.accept().await?;
        let peer = platform::peer_of(&stream)?;
        Ok((stream, peer))
    }
}
