//! What the operating system really does, asked through the public interface. Linux.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails where it fails; its helpers too")]

#[path = "it/alive.rs"]
mod alive;
#[path = "it/detached.rs"]
mod detached;
#[path = "it/durable.rs"]
mod durable;
#[path = "it/fifo.rs"]
mod fifo;
#[path = "it/fork.rs"]
mod fork;
#[path = "it/ipc.rs"]
mod ipc;
#[path = "it/lockfile.rs"]
mod lockfile;
#[path = "it/machine.rs"]
mod machine;
#[path = "it/part.rs"]
mod part;
#[path = "it/process.rs"]
mod process;
#[path = "it/reap.rs"]
mod reap;
#[path = "it/reserve.rs"]
mod reserve;
#[path = "it/scope.rs"]
mod scope;
#[path = "it/signals.rs"]
mod signals;
#[path = "it/spawn.rs"]
mod spawn;
#[path = "it/spawn_errors.rs"]
mod spawn_errors;
#[path = "it/stage.rs"]
mod stage;
#[path = "it/term.rs"]
mod term;
#[path = "it/tree.rs"]
mod tree;
#[path = "it/watch.rs"]
mod watch;
