//! Whole sessions: keeper, controller and a fake child, driven through the library interface.

mod alone_deciders;
mod alone_disk;
mod alone_followers;
mod alone_memory;
mod answers;
mod broker;
mod bytes;
mod cancels;
mod content;
mod continuations;
mod crashes;
mod deaths;
mod declared;
mod forks;
mod halts;
mod holders;
mod identity;
mod modes;
mod permissions;
mod scopes;
pub(crate) mod stable;
mod stops;
mod surroundings;
mod trees;
mod turns;
mod upgrade;
mod watchdog;
