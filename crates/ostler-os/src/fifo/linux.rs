//! fifo(7), pipe(7).

use super::OpenError;
use crate::PathError;
use crate::poll::Source;
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, mkfifoat, open};
use rustix::io::Errno;
use rustix::pipe::{fcntl_getpipe_size, fcntl_setpipe_size};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// The most that an unprivileged user may ask for (`/proc/sys/fs/pipe-max-size`, pipe(7)), unless it was changed.
const USUAL_MAXIMUM: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct End(OwnedFd);

pub(super) fn create(path: &Path) -> io::Result<()> {
    Ok(mkfifoat(CWD, path, Mode::RUSR | Mode::WUSR)?)
}

impl End {
    pub(super) fn open(path: &Path) -> Result<Self, OpenError> {
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let fd = match open(path, flags, Mode::empty()) {
            Ok(fd) => fd,
            // Also what a socket gives.
            Err(Errno::NXIO) if is_fifo(path) => return Err(OpenError::NoReader { path: path.to_owned() }),
            Err(Errno::NXIO | Errno::ISDIR) => return Err(OpenError::NotAFifo { path: path.to_owned() }),
            Err(error) => return Err(PathError::new("open for writing", path, error).into()),
        };
        let stat = fstat(&fd).map_err(|error| PathError::new("look up", path, error))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Fifo {
            return Err(OpenError::NotAFifo { path: path.to_owned() });
        }
        Ok(Self(fd))
    }

    pub(super) fn capacity(&self) -> io::Result<usize> {
        Ok(fcntl_getpipe_size(&self.0)?)
    }

    pub(super) fn pending(&self) -> io::Result<usize> {
        let bytes = rustix::io::ioctl_fionread(&self.0)?;
        Ok(usize::try_from(bytes).unwrap_or(usize::MAX))
    }

    pub(super) fn grow(&self, bytes: usize) -> io::Result<usize> {
        let now = self.capacity()?;
        if bytes <= now {
            return Ok(now);
        }
        // Too much is refused whole, so the next best is asked for.
        for wanted in [bytes, bytes.min(USUAL_MAXIMUM)] {
            if wanted > now && fcntl_setpipe_size(&self.0, wanted).is_ok() {
                break;
            }
        }
        self.capacity()
    }

    pub(super) fn write_some(&self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match rustix::io::write(&self.0, bytes) {
                Ok(written) => return Ok(written),
                Err(Errno::AGAIN) => return Ok(0),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    pub(super) fn source(&self) -> Source<'_> {
        self.0.as_fd().into()
    }
}

fn is_fifo(path: &Path) -> bool {
    rustix::fs::stat(path).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Fifo)
}
