//! Local stream sockets whose peer is known.
//!
//! Paths may be longer than a socket address holds (108 bytes on Linux, unix(7)): such a socket is bound and reached
//! through its directory. Everything is non-blocking.

#[cfg_attr(target_os = "linux", path = "ipc/linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "ipc/unsupported.rs")]
mod platform;

#[cfg(feature = "tokio")]
pub mod tokio;

pub use platform::Inherited;

use crate::PathError;
use crate::lockfile::Lock;
use crate::poll::{Pollable, Source};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Who is at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its process id, as of connect or listen; `None` where the system doesn't tell (another pid namespace).
    pub pid: Option<u32>,
    /// Its effective user id.
    pub uid: u32,
}

/// A listening socket, mode 0600.
#[derive(Debug)]
pub struct Listener {
    socket: platform::Listening,
    path: PathBuf,
}

impl Listener {
    /// Listens at `path`, in place of whatever socket is there: a stale one, since we hold the lock of those who may
    /// listen here.
    ///
    /// # Errors
    /// When the socket cannot be made; [`io::ErrorKind::AlreadyExists`] when something that is not a socket is there.
    pub fn bind(path: &Path, _lock: &Lock) -> Result<Self, PathError> {
        match fs::symlink_metadata(path) {
            Ok(there) if !platform::is_socket(&there) => {
                return Err(PathError::new("listen at", path, io::ErrorKind::AlreadyExists));
            }
            _ => {}
        }
        let socket =
            platform::Listening::bind(path).map_err(|source| PathError::new("listen at", path, source))?;
        Ok(Self { socket, path: path.to_owned() })
    }

    /// Takes over a socket that a service manager has bound and keeps: [`Listener::unlink`] is not for whoever got it.
    ///
    /// # Errors
    /// As the operating system says.
    pub fn inherit(socket: Inherited) -> io::Result<Self> {
        let (socket, path) = platform::Listening::inherit(socket)?;
        Ok(Self { socket, path: path.unwrap_or_default() })
    }

    /// The next connection, `None` when there is none now.
    ///
    /// # Errors
    /// As the operating system says.
    pub fn accept(&self) -> io::Result<Option<Stream>> {
        Ok(self.socket.accept()?.map(Stream))
    }

    /// Where it listens; empty for an inherited socket that has no place in the file system.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the socket from the file system; connections that exist go on.
    ///
    /// # Errors
    /// When it cannot be removed. Being gone already is not an error.
    pub fn unlink(&self) -> Result<(), PathError> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other.map_err(|source| PathError::new("remove", &self.path, source)),
        }
    }
}

impl Pollable for Listener {
    fn source(&self) -> Source<'_> {
        self.socket.source()
    }
}

/// A connection. Reads and writes give [`io::ErrorKind::WouldBlock`] instead of waiting; a read of 0 bytes is the
/// end; a write to a peer that is gone is an error, never a signal.
#[derive(Debug)]
pub struct Stream(platform::Connection);

impl Stream {
    /// Connects to who listens at `path`.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] when there is no socket, [`io::ErrorKind::ConnectionRefused`] when nobody listens
    /// on it any more, [`io::ErrorKind::WouldBlock`] when its queue is full.
    pub fn connect(path: &Path) -> Result<Self, PathError> {
        platform::Connection::connect(path)
            .map(Self)
            .map_err(|source| PathError::new("connect to", path, source))
    }

    /// Who is at the other end.
    ///
    /// # Errors
    /// As the operating system says.
    pub fn peer(&self) -> io::Result<Peer> {
        self.0.peer()
    }
}

impl io::Read for Stream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.read(buf)
    }
}

impl io::Write for Stream {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.0.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Pollable for Stream {
    fn source(&self) -> Source<'_> {
        self.0.source()
    }
}
