//! Everything that depends on the operating system, behind small interfaces.
//!
//! This is the only crate of ostler with `unsafe` and with platform `cfg`s. One module is one subject; where the
//! platforms differ, its code lies beside it (`process/linux.rs`, …) behind one set of signatures, so that callers
//! never see a `cfg`. Linux is the platform that is proven. What another platform cannot do yet gives
//! [`Unsupported`], which says so.
//!
//! The keeper lives on this crate and has to stay tiny: nothing here starts a thread, and what lies on its path
//! (`spawn`, `reap`, `process`, `poll`, `ipc`, `alive`, `lockfile`) allocates little.
//!
//! Which modules need `unsafe` can be read below: each says so, with the reason.

#![deny(unsafe_code)]

pub mod alive;
pub mod durable;
mod failure;
pub mod fifo;
mod file_system;
pub mod ipc;
pub mod limits;
pub mod lockfile;
pub mod me;
pub mod memory;
pub mod poll;
pub mod process;
pub mod reap;
pub mod reserve;
pub mod scope;
pub mod signals;
pub mod spawn;
pub mod term;
pub mod text;
pub mod tree;
pub mod watch;

pub use failure::{PathError, Unsupported};
