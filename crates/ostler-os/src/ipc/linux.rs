//! unix(7).
#![expect(unsafe_code, reason = "no safe call gives the credentials of a peer in another pid namespace")]

use super::Peer;
use crate::durable::parent;
use crate::poll::Source;
use rustix::fs::{CWD, Mode, OFlags, chmod, open};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// From this length on (in bytes) a socket is reached through its directory. The address holds 107 and the socket is
/// made under a name that is a little longer.
const LONG: usize = 100;

/// How many connections may wait to be accepted.
const BACKLOG: i32 = 128;

/// A listening socket that somebody else has bound.
pub type Inherited = UnixListener;

#[derive(Debug)]
pub(super) struct Listening(UnixListener);

#[derive(Debug)]
pub(super) struct Connection(UnixStream);

impl Listening {
    /// The socket is made ready under another name and then renamed, so that nobody ever finds one at `path` that is
    /// open to others or doesn't listen.
    pub(super) fn bind(path: &Path) -> io::Result<Self> {
        let mut name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
        name.push(".new");
        let new = path.with_file_name(name);
        match fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let socket = socket()?;
        {
            let short = Short::new(&new)?;
            bind(&socket, &short.address()?)?;
        }
        chmod(&new, Mode::RUSR | Mode::WUSR)?;
        listen(&socket, BACKLOG)?;
        rustix::fs::renameat(CWD, &new, CWD, path)?;
        Ok(Self(socket.into()))
    }

    /// Takes one over, and says where it listens; nowhere in the file system, maybe.
    pub(super) fn inherit(socket: Inherited) -> io::Result<(Self, Option<PathBuf>)> {
        socket.set_nonblocking(true)?;
        let path = socket.local_addr()?.as_pathname().map(Path::to_owned);
        Ok((Self(socket), path))
    }

    pub(super) fn accept(&self) -> io::Result<Option<Connection>> {
        loop {
            match self.0.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(true)?;
                    return Ok(Some(Connection(stream)));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                // The client has gone already (accept(2)).
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn source(&self) -> Source<'_> {
        self.0.as_fd().into()
    }

    #[cfg(feature = "tokio")]
    pub(super) fn into_std(self) -> UnixListener {
        self.0
    }
}

impl Connection {
    pub(super) fn connect(path: &Path) -> io::Result<Self> {
        let socket = socket()?;
        let short = Short::new(path)?;
        connect(&socket, &short.address()?)?;
        Ok(Self(socket.into()))
    }

    pub(super) fn peer(&self) -> io::Result<Peer> {
        peer_of(&self.0)
    }

    pub(super) fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        (&self.0).read(buffer)
    }

    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        (&self.0).write(bytes)
    }

    pub(super) fn source(&self) -> Source<'_> {
        self.0.as_fd().into()
    }
}

/// Who is at the other end of a socket.
pub(super) fn peer_of(socket: &impl AsFd) -> io::Result<Peer> {
    let mut credentials = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // rustix has this call with a pid that can't be 0, and 0 is what a peer in another pid namespace has.
    // SAFETY: both pointers are valid for writes, and `length` is the size of what the first one points to.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut credentials).cast(),
            &raw mut length,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    let pid = u32::try_from(credentials.pid).ok().filter(|pid| *pid != 0);
    Ok(Peer { pid, uid: credentials.uid })
}

pub(super) fn is_socket(metadata: &Metadata) -> bool {
    metadata.file_type().is_socket()
}

fn socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?)
}

/// A path that fits into a socket address; valid while this lives.
struct Short {
    path: PathBuf,
    _directory: Option<OwnedFd>,
}

impl Short {
    fn new(path: &Path) -> io::Result<Self> {
        if path.as_os_str().as_bytes().len() < LONG {
            return Ok(Self { path: path.to_owned(), _directory: None });
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = open(parent(path), flags, Mode::empty())?;
        let mut short = OsString::from(format!("/proc/self/fd/{}/", directory.as_raw_fd()));
        short.push(path.file_name().ok_or(io::ErrorKind::InvalidInput)?);
        Ok(Self { path: short.into(), _directory: Some(directory) })
    }

    fn address(&self) -> io::Result<SocketAddrUnix> {
        Ok(SocketAddrUnix::new(&self.path)?)
    }
}
