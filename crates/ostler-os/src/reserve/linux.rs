//! fallocate(2).

use super::Allocation;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use std::fs::File;
use std::io;

pub(super) fn allocate(file: &File, bytes: u64) -> io::Result<Allocation> {
    let end = file.metadata()?.len();
    loop {
        // What is allocated already costs nothing again.
        match fallocate(file, FallocateFlags::KEEP_SIZE, end, bytes) {
            Ok(()) => return Ok(Allocation::Done),
            Err(Errno::NOSPC | Errno::DQUOT) => return Ok(Allocation::Full),
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(Allocation::Impossible),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
