//! The same sockets for a tokio runtime.

#[cfg_attr(unix, path = "tokio/unix.rs")]
#[cfg_attr(not(unix), path = "tokio/unsupported.rs")]
mod platform;

use super::{Listener, Peer};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A listening socket whose connections are waited for by a runtime.
#[derive(Debug)]
pub struct AsyncListener(platform::Listening);

impl AsyncListener {
    /// Takes over a socket; the file stays where it is.
    ///
    /// # Errors
    /// Outside a runtime, or as the operating system says.
    pub fn new(listener: Listener) -> io::Result<Self> {
        platform::Listening::new(listener.socket).map(Self)
    }

    /// The next connection and who is at its other end. Cancelling the future loses none.
    ///
    /// # Errors
    /// As the operating system says.
    pub async fn accept(&self) -> io::Result<(AsyncStream, Peer)> {
        let (stream, peer) = self.0.accept().await?;
        Ok((AsyncStream(stream), peer))
    }
}

/// A connection.
#[derive(Debug)]
pub struct AsyncStream(platform::Connection);

impl AsyncRead for AsyncStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for AsyncStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
