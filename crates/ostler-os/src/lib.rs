//! Everything that depends on the operating system, behind small interfaces.
