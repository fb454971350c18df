//! The listener: loopback only, at most so many connections at a time.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A listener that accepts no more than a number of connections at a time; more wait in the kernel's queue.
pub(super) struct Listener {
    inner: TcpListener,
    permits: Arc<Semaphore>,
}

impl Listener {
    pub(super) fn new(inner: TcpListener, connections: usize) -> Self {
        Self { inner, permits: Arc::new(Semaphore::new(connections)) }
    }
}

impl axum::serve::Listener for Listener {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        loop {
            let permit =
                Arc::clone(&self.permits).acquire_owned().await.expect("the semaphore is never closed");
            match self.inner.accept().await {
                Ok((stream, addr)) => {
                    // Without it the delta after a pause waits for an acknowledgement.
                    drop(stream.set_nodelay(true));
                    return (Connection { stream, _permit: permit }, addr);
                }
                // Out of descriptors, or a client that left again: neither ends the server.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }
}

/// A connection; its place is free when it is dropped.
pub(super) struct Connection {
    stream: TcpStream,
    _permit: OwnedSemaphorePermit,
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
