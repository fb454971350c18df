//! Not needed for anything to work.

use std::io;

pub(super) fn forget_code() -> io::Result<u64> {
    Ok(0)
}

pub(super) fn trim_heap() {}
