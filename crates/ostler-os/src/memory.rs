//! What a process that waits keeps in memory.

#[cfg_attr(target_os = "linux", path = "memory/linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "memory/unsupported.rs")]
mod platform;

use std::io;

/// Gives back the pages of this program's code and constants. Nothing is lost: they are the executable's, and what is
/// used again is mapped again, mostly without a read.
///
/// A start touches a little of everything, and the system maps what lies around each page (64 KiB on Linux). A process
/// that then waits needs a twentieth of it. Gives how many bytes of address space were told to go.
///
/// # Errors
/// As the operating system says. Nothing has changed then, or less than could have.
pub fn forget_code() -> io::Result<u64> {
    platform::forget_code()
}

/// Gives back what the allocator keeps of memory that is free, where it can be told to.
pub fn trim_heap() {
    platform::trim_heap();
}
