//! Space set aside ahead of a file's end, so that a full disk is noticed before it eats data.

#[cfg_attr(target_os = "linux", path = "reserve/linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "reserve/unsupported.rs")]
mod platform;

use crate::durable::free_space_of;
use std::fs::File;
use std::io;

/// How sure the space is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    /// The blocks are the file's own already.
    Allocated,
    /// The file system cannot allocate ahead; it had that much free a moment ago.
    Free,
}

/// Why there is no reserve.
#[derive(Debug, thiserror::Error)]
pub enum ReserveError {
    /// The disk, or this user's quota, is full.
    #[error(transparent)]
    DiskFull(#[from] DiskFull),
    /// The file cannot be asked.
    #[error("cannot reserve space")]
    Io(#[from] io::Error),
}

/// The disk, or this user's quota, is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no space left: {wanted} bytes wanted, {free} free")]
pub struct DiskFull {
    /// How much was asked for, in bytes.
    pub wanted: u64,
    /// How much is free, in bytes.
    pub free: u64,
}

/// Makes sure that `file` can grow by `bytes` from where it ends now. Its size doesn't change; others may append
/// meanwhile.
///
/// # Errors
/// [`ReserveError::DiskFull`] when it cannot grow so far.
pub fn top_up(file: &File, bytes: u64) -> Result<Backing, ReserveError> {
    let allocation = platform::allocate(file, bytes)?;
    if allocation == Allocation::Done {
        return Ok(Backing::Allocated);
    }
    let free = free_space_of(file)?;
    if allocation == Allocation::Impossible && free >= bytes {
        return Ok(Backing::Free);
    }
    Err(DiskFull { wanted: bytes, free }.into())
}

/// Gives back what is reserved behind the file's end. Only when nobody else appends any more: what they wrote in the
/// middle of it would be cut off.
///
/// # Errors
/// As the operating system says.
pub fn release_tail(file: &File) -> io::Result<()> {
    // Cutting a file to the size that it has frees what lies behind.
    file.set_len(file.metadata()?.len())
}

/// What came of allocating ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Allocation {
    Done,
    /// There is not so much left, on the disk or of a quota.
    Full,
    /// The file system cannot do it.
    Impossible,
}
