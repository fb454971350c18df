//! Sockets: TCP on loopback, a local one in the home, and those that a service manager hands down.

use ostler_os::PathError;
use ostler_os::ipc::tokio::AsyncListener;
use ostler_os::ipc::{Inherited, Listener};
use ostler_os::lockfile::{self, Lock};
use std::io;
use std::net::{SocketAddr, TcpListener as StdTcpListener};
use std::path::{Path, PathBuf};
use tokio::net::TcpListener;

/// Where the local socket of a home is.
pub(crate) fn socket_path(home: &Path) -> PathBuf {
    home.join("serve.sock")
}

/// What makes it safe to listen on more than loopback: somebody else in front, who does TLS and knows these names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wider {
    /// Names under which the proxy's clients call it, as in `Host`.
    pub hosts: Vec<String>,
}

/// One socket that is listened on.
#[derive(Debug)]
pub(crate) enum Socket {
    /// TCP, with the address that it really has.
    Tcp(TcpListener, SocketAddr),
    /// The home's own; whoever holds the lock may listen there.
    Local(AsyncListener, #[expect(dead_code, reason = "held for as long as the socket is")] Option<Lock>),
}

/// Why a socket can't be listened on.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// It would be open to others, and nobody said that this is meant.
    #[error(
        "{address} can be reached from other machines, and ostler does no TLS: put a proxy in front of it and say --behind-proxy NAME, with the name that its clients use"
    )]
    Wide {
        /// Where.
        address: SocketAddr,
    },
    /// Somebody else listens there, or it is not allowed.
    #[error("cannot listen on {address}")]
    Tcp {
        /// Where.
        address: SocketAddr,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// Another server runs on this home.
    #[error("another `ostler serve` runs on this home: {} is held", path.display())]
    Taken {
        /// Its lock.
        path: PathBuf,
    },
    /// The local socket can't be made.
    #[error(transparent)]
    Local(#[from] PathError),
    /// A socket that was handed down is none that we can use.
    #[error("the service manager's sockets can't be used")]
    HandedDown(#[source] io::Error),
}

/// Binds TCP; wider than loopback only behind a proxy.
pub(crate) fn tcp(address: SocketAddr, wider: Option<&Wider>) -> Result<Socket, ListenError> {
    not_wider(address, wider)?;
    let fail = |source| ListenError::Tcp { address, source };
    let socket = StdTcpListener::bind(address).map_err(fail)?;
    adopt(socket).map_err(fail)
}

fn not_wider(address: SocketAddr, wider: Option<&Wider>) -> Result<(), ListenError> {
    if address.ip().is_loopback() || wider.is_some() { Ok(()) } else { Err(ListenError::Wide { address }) }
}

/// Takes over a TCP socket that was handed down: the same rules hold for it.
pub(crate) fn inherited_tcp(socket: StdTcpListener, wider: Option<&Wider>) -> Result<Socket, ListenError> {
    let address = socket.local_addr().map_err(ListenError::HandedDown)?;
    not_wider(address, wider)?;
    adopt(socket).map_err(ListenError::HandedDown)
}

fn adopt(socket: StdTcpListener) -> io::Result<Socket> {
    socket.set_nonblocking(true)?;
    let socket = TcpListener::from_std(socket)?;
    let address = socket.local_addr()?;
    Ok(Socket::Tcp(socket, address))
}

/// Binds the home's own socket: one server a home.
pub(crate) fn local(home: &Path) -> Result<Socket, ListenError> {
    let lock = lock(home)?;
    let path = socket_path(home);
    let listener = Listener::bind(&path, &lock)?;
    let listener =
        AsyncListener::new(listener).map_err(|source| PathError { operation: "listen at", path, source })?;
    Ok(Socket::Local(listener, Some(lock)))
}

/// Takes over a local socket that was handed down, in place of the home's own; and where it is.
pub(crate) fn inherited_local(
    socket: Inherited,
    lock: Option<Lock>,
) -> Result<(Socket, PathBuf), ListenError> {
    let listener = Listener::inherit(socket).map_err(ListenError::HandedDown)?;
    let path = listener.path().to_owned();
    let listener = AsyncListener::new(listener).map_err(ListenError::HandedDown)?;
    Ok((Socket::Local(listener, lock), path))
}

/// Held by the one server that listens on the home's local socket.
pub(crate) fn lock(home: &Path) -> Result<Lock, ListenError> {
    let path = home.join("serve.lock");
    lockfile::try_lock(&path)?.ok_or(ListenError::Taken { path })
}
